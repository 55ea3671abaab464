import { type ReaderLanguage, Sentence } from '../../language/sentence.ts'
import { escapeHtml } from '../../runtime/html.ts'

/** A piece of HTML that may be put into another one as it is, in whatever language its reader has. */
export class Html {
  readonly #write: (language: ReaderLanguage) => string

  constructor(write: (language: ReaderLanguage) => string) {
    this.#write = write
  }

  in(language: ReaderLanguage): string {
    return this.#write(language)
  }
}

export type HtmlPiece = Html | Sentence | string | number | null | undefined | false | readonly HtmlPiece[]

function toHtml(piece: HtmlPiece, language: ReaderLanguage): string {
  if (piece === null || piece === undefined || piece === false) return ''
  if (typeof piece === 'string') return escapeHtml(piece)
  if (typeof piece === 'number') return String(piece)
  if (piece instanceof Html) return piece.in(language)
  if (piece instanceof Sentence) return escapeHtml(piece.in(language))
  return piece.map(each => toHtml(each, language)).join('')
}

/** Writes HTML: everything put in is escaped, unless it was written by this function itself. */
export function html(strings: TemplateStringsArray, ...pieces: readonly HtmlPiece[]): Html {
  return new Html(language => {
    let text = strings[0] ?? ''
    pieces.forEach((piece, at) => {
      text += toHtml(piece, language) + (strings[at + 1] ?? '')
    })
    return text
  })
}
