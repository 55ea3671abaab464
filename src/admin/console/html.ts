import { type Language, Sentence } from '../../language/sentence.ts'
import { escapeHtml } from '../../runtime/html.ts'

/** A piece of HTML that may be put into another one as it is, in whatever language its reader has. */
export class Html {
  readonly #write: (language: Language) => string

  constructor(write: (language: Language) => string) {
    this.#write = write
  }

  in(language: Language): string {
    return this.#write(language)
  }
}

export type Piece = Html | Sentence | string | number | null | undefined | false | readonly Piece[]

function toHtml(piece: Piece, language: Language): string {
  if (piece === null || piece === undefined || piece === false) return ''
  if (typeof piece === 'string') return escapeHtml(piece)
  if (typeof piece === 'number') return String(piece)
  if (piece instanceof Html) return piece.in(language)
  if (piece instanceof Sentence) return escapeHtml(piece.in(language))
  return piece.map(each => toHtml(each, language)).join('')
}

/** Writes HTML: everything put in is escaped, unless it was written by this function itself. */
export function html(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  return new Html(language => {
    let text = strings[0] ?? ''
    pieces.forEach((piece, at) => {
      text += toHtml(piece, language) + (strings[at + 1] ?? '')
    })
    return text
  })
}
