/**
 * Text from outside as every store and log can hold it: half a surrogate pair (an emoji that was cut) and NUL become
 * U+FFFD. Postgres refuses either in a text, and with it the whole transaction.
 */
export function wellFormed(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}
