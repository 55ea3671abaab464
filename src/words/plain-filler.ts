import type * as Liquidjs from 'liquidjs'

/** The template engine's. */
type Scope = Readonly<Record<string, unknown>>

/** Text, the name of a variable that is printed, or a choice by whether a variable is there. */
type Piece = string | { readonly print: string } | Choice

interface Choice {
  readonly when: string
  readonly there: readonly Piece[]
  readonly absent: readonly Piece[]
}

/**
 * Turns a template that only prints variables, and asks whether they are there, into pieces to put together. Nearly all words
 * are such templates, and Liquid's general way through them costs an SMS a tenth of its processor time.
 * @returns null for any other template; else a function that gives null for a scope that Liquid itself has to judge: one in which
 *   such a variable is neither text nor null
 */
export function createPlainFiller(
  liquidjs: typeof Liquidjs,
  templates: readonly Liquidjs.Template[],
): ((scope: Scope) => string | null) | null {
  const pieces = piecesOf(liquidjs, templates)
  return pieces && (scope => fill(pieces, scope))
}

function fill(pieces: readonly Piece[], scope: Scope): string | null {
  let filled = ''
  for (const piece of pieces) {
    if (typeof piece === 'string') {
      filled += piece
      continue
    }
    const isPrinted = 'print' in piece
    const value = scope[isPrinted ? piece.print : piece.when]
    if (typeof value !== 'string' && value !== null) return null
    // An empty text is there, in Liquid.
    const more = isPrinted ? (value ?? '') : fill(value === null ? piece.absent : piece.there, scope)
    if (more === null) return null
    filled += more
  }
  return filled
}

function piecesOf(
  liquidjs: typeof Liquidjs,
  templates: readonly Liquidjs.Template[],
): readonly Piece[] | null {
  const pieces: Piece[] = []
  for (const template of templates) {
    const piece = pieceOf(liquidjs, template)
    if (piece === null) return null
    pieces.push(piece)
  }
  return pieces
}

function pieceOf(liquidjs: typeof Liquidjs, template: Liquidjs.Template): Piece | null {
  const { IfTag, Output, TypeGuards } = liquidjs
  if (TypeGuards.isHTMLToken(template.token)) return template.token.getContent()
  if (template instanceof Output) {
    const name = variableOf(liquidjs, template.value)
    return name === null ? null : { print: name }
  }
  if (!(template instanceof IfTag)) return null
  const [branch, ...more] = template.branches
  const when = branch === undefined || more.length > 0 ? null : variableOf(liquidjs, branch.value)
  const there = piecesOf(liquidjs, branch?.templates ?? [])
  const absent = piecesOf(liquidjs, template.elseTemplates ?? [])
  return when === null || there === null || absent === null ? null : { when, there, absent }
}

/** The variable that is the whole of an expression; null: it is more. */
function variableOf({ TypeGuards }: typeof Liquidjs, { filters, initial }: Liquidjs.Value): string | null {
  const [token, ...more] = initial.postfix
  if (filters.length > 0 || more.length > 0 || !TypeGuards.isPropertyAccessToken(token)) return null
  const [name, ...fields] = token.props
  const isName = token.variable === undefined && fields.length === 0 && TypeGuards.isWordToken(name)
  return isName ? name.content : null
}
