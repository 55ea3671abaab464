import type { Scope } from './template-engine.ts'

/** A text that was rendered once, in pieces: text, or the number of the string that goes there. */
export type Pieces = readonly (string | number)[]

/** Stands in a scope for string number `at`: between two characters of Unicode's private use area, which no template has. */
const placeFor = (at: number): string => `\uE000${at}\uE001`

/** Far more than there are sets of variables in words, and numbers of rows in the mails of one kind. */
const MAX_RENDERED = 200

/** What was rendered with places, and the strings that go there. */
export type Prerender<T> = (scope: Scope) => { readonly rendered: T; readonly strings: readonly string[] }

/**
 * Renders once for each shape of a scope, with places where the scope's own strings go. Filling them takes a fraction of the time that
 * Liquid takes. It is for templates that print these strings, and ask no more of them than whether they are there.
 * @param decidesOn the member whose very value a template asks for: it stays as it is
 */
export function createPrerenderer<T>(render: (places: Scope) => T, decidesOn?: string): Prerender<T> {
  const byShape = new Map<string, T>()
  /** Adds the strings of a scope to a list, in order. @returns all else that stands in it: JSON.stringify takes twice as long for that */
  function readShape(scope: object, strings: string[]): string {
    let shape = Array.isArray(scope) ? '[' : '{'
    for (const key of Object.keys(scope)) {
      const value = (scope as Scope)[key]
      shape += key
      if (typeof value === 'object' && value !== null) shape += readShape(value, strings)
      else if (typeof value === 'string' && key !== decidesOn) {
        strings.push(value)
        shape += '='
      } else shape += `:${String(value)},`
    }
    return `${shape}}`
  }
  function renderPlaces(scope: Scope): T {
    let count = 0
    const places = JSON.stringify(scope, (key, value: unknown) =>
      typeof value === 'string' && key !== decidesOn ? placeFor(count++) : value,
    )
    return render(JSON.parse(places) as Scope)
  }
  return scope => {
    const strings: string[] = []
    const shape = readShape(scope, strings)
    const known = byShape.get(shape)
    const rendered = known ?? renderPlaces(scope)
    if (known === undefined && byShape.size < MAX_RENDERED) byShape.set(shape, rendered)
    return { rendered, strings }
  }
}

export function piecesOf(rendered: string): Pieces {
  return rendered.split(/\uE000(\d+)\uE001/).map((piece, i) => (i % 2 === 1 ? Number(piece) : piece))
}

/** Puts the strings of a message into their places. */
export function fillPieces(
  pieces: Pieces,
  strings: readonly string[],
  escape?: (string: string) => string,
): string {
  let filled = ''
  for (const piece of pieces) {
    const string = typeof piece === 'string' ? piece : (strings[piece] ?? '')
    filled += typeof piece === 'string' || escape === undefined ? string : escape(string)
  }
  return filled
}
