const BLANKS = ' \t'

/**
 * A text without the spaces and tabs around it, and nothing else: a line end stays, for the parsers to refuse.
 * No regular expression: `[ \t]+$` takes the square of the time on a long run of blanks with something after it.
 */
export function trimBlanks(text: string): string {
  let from = 0
  let to = text.length
  while (from < to && BLANKS.includes(text.charAt(from))) from += 1
  while (to > from && BLANKS.includes(text.charAt(to - 1))) to -= 1
  return text.slice(from, to)
}
