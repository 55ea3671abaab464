/**
 * Decides which characters may stand where. A mail header, a link and a single line of words each have their own way of
 * being broken by a character that nobody sees.
 */

/** C0, DEL, C1 (Unicode category Cc) and the two separators that some readers take for a line end. */
const CONTROL = /[\p{Cc}\u2028\u2029]/u
/** The same, less the line ends and tabs that running text is made of. */
const CONTROL_IN_TEXT = /(?![\t\n\r])\p{Cc}/u
/** Embeddings, overrides and isolates: they reorder what follows, so `gpj.exe` reads as `exe.jpg`. */
const BIDI_CONTROL = /[\u202a-\u202e\u2066-\u2069]/u
/** The two that turn the letters themselves around. */
const OVERRIDE = /[\u202d\u202e]/u
/** Characters that begin and end a passage in another direction, and the line ends that end every one of them (UAX 9). */
const DIRECTION_OR_LINE_END = /[\u202a-\u202c\u2066-\u2069\n\r\u2028\u2029]/gu
const POP_EMBEDDING = '\u202c'
const POP_ISOLATE = '\u2069'
/** Letters, digits, signs: what is left when nothing but white space and invisible characters is taken away. */
const VISIBLE = /[^\s\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u
/** Anything that separates, steers or hides, raw in a link: space, control, format character, backslash. */
const NOT_IN_LINKS = /[\s\p{Cc}\p{Cf}\p{Z}\\]/u

/** No script stacks more than eight marks on a letter; without end they are drawn over the lines above and below. */
const MARKS_TOO_MANY = /(\p{M}{8})\p{M}+/u
const ALL_MARKS_TOO_MANY = new RegExp(MARKS_TOO_MANY, 'gu')
/** Blanks of every width, and letters that look like one: enough of them push what follows to a line of its own. */
const BLANKS = /[\p{Zs}\t\u115f\u1160\u2800\u3164\uffa0]{2,}/gu
/** Characters that nobody can read off and type. */
const NOT_IN_CODES = /[\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}]/u

/**
 * Says whether a value is absent. The contract contradicts itself about that: null, "" and blank all are, and blank is a text of which
 * nobody would see anything: white space, joiners, marks of direction, fillers, a Braille blank.
 */
export function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && !VISIBLE.test(value))
}

/** Says why `text` cannot stand on one line (subject, code, name), or null when it can. */
export function findLineFault(text: string): string | null {
  if (CONTROL.test(text)) return 'has a control character or line separator'
  if (BIDI_CONTROL.test(text)) return 'has a character that overrides the reading direction'
  if (!text.isWellFormed()) return 'is not well-formed Unicode'
  return null
}

/** Says why `text`, which can stand on one line, is no code that somebody could type, or null when it is one. */
export function findCodeFault(text: string): string | null {
  return NOT_IN_CODES.test(text) ? 'has a character that cannot be typed' : null
}

/** A name that stays in its place in a line: without stacks of marks, and with one blank for many. */
export function confineName(text: string): string {
  return text.replace(ALL_MARKS_TOO_MANY, '$1').replace(BLANKS, ' ')
}

/**
 * Says why `text` cannot be running text of several lines, or null when it can: line ends and tabs are welcome.
 *
 * Marks of direction (U+200E, U+200F, U+061C) and joiners are part of how Arabic, Hebrew and Persian are written, and
 * programs that put a number or a name into such a text wrap it in an embedding or an isolate, so these are welcome, too,
 * as long as they end in their line: then they order what they enclose and nothing of what stands around it. An override
 * makes other words of the same letters, and no text has a need of it.
 */
export function findTextFault(text: string): string | null {
  if (CONTROL_IN_TEXT.test(text)) return 'has a control character'
  if (OVERRIDE.test(text)) return 'has a character that overrides the reading direction'
  if (MARKS_TOO_MANY.test(text)) return 'stacks marks on a letter'
  if (!endsItsDirections(text)) return 'has a change of the reading direction that does not end in its line'
  if (!text.isWellFormed()) return 'is not well-formed Unicode'
  return null
}

/** Says whether every embedding and isolate is ended in its line, in its turn, and none is ended that was not begun. */
function endsItsDirections(text: string): boolean {
  if (!BIDI_CONTROL.test(text)) return true
  const open: string[] = []
  for (const [mark] of text.matchAll(DIRECTION_OR_LINE_END)) {
    if (mark === POP_EMBEDDING || mark === POP_ISOLATE) {
      if (open.pop() !== mark) return false
    } else if (mark === '\u202a' || mark === '\u202b') open.push(POP_EMBEDDING)
    else if (mark >= '\u2066') open.push(POP_ISOLATE)
    else if (open.length > 0) return false
  }
  return open.length === 0
}

/** Says why `text` cannot be a link, by its characters alone, or null when it can. */
export function findLinkFault(text: string): string | null {
  if (NOT_IN_LINKS.test(text)) return 'has white space, a backslash or an invisible character'
  if (!text.isWellFormed()) return 'is not well-formed Unicode'
  return null
}

/**
 * A text without the spaces and tabs around it, and nothing else: a line end stays, for the parsers to refuse.
 * Without its look behind each blank would be a place to begin from, which takes the square of the time on a long run of them.
 */
export function trimBlanks(text: string): string {
  return text.replace(/^[ \t]+|(?<![ \t])[ \t]+$/g, '')
}
