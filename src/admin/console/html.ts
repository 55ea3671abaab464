/** A piece of HTML that may be put into another one as it is. */
export interface Html {
  readonly html: string
}

type Piece = Html | string | number | null | undefined | false | readonly Piece[]

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text as HTML text or as the value of a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => ESCAPES[character] ?? '')
}

function written(piece: Piece): string {
  if (piece === null || piece === undefined || piece === false) return ''
  if (typeof piece === 'string') return escapeHtml(piece)
  if (typeof piece === 'number') return String(piece)
  return 'html' in piece ? piece.html : piece.map(written).join('')
}

/** Writes HTML: everything put in is escaped, unless it was written by this function itself. */
export function html(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  let text = strings[0] ?? ''
  pieces.forEach((piece, at) => {
    text += written(piece) + (strings[at + 1] ?? '')
  })
  return { html: text }
}
