/**
 * Which characters may stand where. A mail header, a link and a single line of words each have their own way of
 * being broken by a character that nobody sees.
 */

/** C0, DEL, C1 (Unicode category Cc) and the two separators that some readers take for a line end. */
const CONTROL = /[\p{Cc}\u2028\u2029]/u
/** The same, less the line ends and tabs that running text is made of. */
const CONTROL_IN_TEXT = /(?![\t\n\r])\p{Cc}/u
/** Embeddings, overrides and isolates: they reorder what follows, so `gpj.exe` reads as `exe.jpg`. */
const BIDI_CONTROL = /[\u202a-\u202e\u2066-\u2069]/u
/** Anything that separates, steers or hides, raw in a link: space, control, format character, backslash. */
const NOT_IN_LINKS = /[\s\p{Cc}\p{Cf}\p{Z}\\]/u

/** Why `text` cannot stand on one line (subject, code, name), or null when it can. */
export function faultInLine(text: string): string | null {
  if (CONTROL.test(text)) return 'has a control character or line separator'
  if (BIDI_CONTROL.test(text)) return 'has a character that overrides the reading direction'
  if (!text.isWellFormed()) return 'is not well-formed Unicode'
  return null
}

/** Why `text` cannot be running text of several lines, or null when it can: line ends and tabs are welcome. */
export function faultInText(text: string): string | null {
  if (CONTROL_IN_TEXT.test(text)) return 'has a control character'
  if (!text.isWellFormed()) return 'is not well-formed Unicode'
  return null
}

/** Why `text` cannot be a link, by its characters alone, or null when it can. */
export function faultInLink(text: string): string | null {
  if (NOT_IN_LINKS.test(text)) return 'has white space, a backslash or an invisible character'
  if (!text.isWellFormed()) return 'is not well-formed Unicode'
  return null
}
