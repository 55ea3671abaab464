import { escapeHtml } from '../../runtime/html.ts'

/** A piece of HTML that may be put into another one as it is. */
export interface Html {
  readonly html: string
}

type Piece = Html | string | number | null | undefined | false | readonly Piece[]

function toHtml(piece: Piece): string {
  if (piece === null || piece === undefined || piece === false) return ''
  if (typeof piece === 'string') return escapeHtml(piece)
  if (typeof piece === 'number') return String(piece)
  return 'html' in piece ? piece.html : piece.map(toHtml).join('')
}

/** Writes HTML: everything put in is escaped, unless it was written by this function itself. */
export function html(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  let text = strings[0] ?? ''
  pieces.forEach((piece, at) => {
    text += toHtml(piece) + (strings[at + 1] ?? '')
  })
  return { html: text }
}
