/**
 * A thing that a layout does and a precompiled one cannot: its output then depends on more of a message than which of its strings
 * there are and how many, and it is rendered in full for every mail.
 */
export interface Dependence {
  /** Lines count from 1. */
  readonly line: number
  /** Such as `{{ code | upcase }}`. */
  readonly because: string
}

/** Strings of a message that a precompiled layout has places for. They may be printed as they are, and asked for. */
const STRING = /^(?:subject|code|link\.(?:url|host)|words\.(?:heading|preheader|button|link|footer))$/
/** Variables that are the same for all messages of one shape, language and kind, and so may be compared, too. */
const FACT =
  /^(?:(?:brand|locale|forloop)\.\w+|words\.(?:shows_code|code_length|(?:before|after|details)\.size))$/
const LITERAL = /^(?:'[^']*'|"[^"]*"|\d+|true|false|nil)$/
/** Platform's own text: a mail that has it is always rendered in full. */
const TEXT = /^words\.text(?: *\| *autolink)?$/
const LIST = /^words\.(?:before|after|details)$/
const COMPARISON = /^(\S+) *(?:==|!=|<=?|>=?) *(\S+|'[^']*'|"[^"]*")$/
const PLAIN_TAGS = new Set('else endif endunless endfor endcase block endblock layout #'.split(' '))
const COMMENT = /\{%-? *comment *-?%\}[^]*?\{%-? *endcomment *-?%\}/g
const MARKUP = /\{\{-?([^]*?)-?\}\}|\{%-? *([a-z]+|#)([^]*?)-?%\}/g

/**
 * Finds the first thing in a layout that keeps it from being precompiled. Only what is known to be harmless passes: strings
 * printed as they are, conditions on whether they are there, loops over the paragraphs and rows.
 */
export function findDependence(source: string): Dependence | undefined {
  const loops = new Map<string, string>()
  const text = source.replace(COMMENT, comment => comment.replace(/[^\n]/g, ' '))
  for (const found of text.matchAll(MARKUP)) {
    const [markup, output, tag = '', rest = ''] = found
    const harmless =
      output === undefined ? isHarmlessTag(tag, rest.trim(), loops) : isPrinted(output.trim(), loops)
    if (!harmless) return { line: text.slice(0, found.index).split('\n').length, because: markup }
  }
  return undefined
}

function isPrinted(expression: string, loops: ReadonlyMap<string, string>): boolean {
  return [STRING, FACT, LITERAL, TEXT].some(form => form.test(expression)) || isOfLoop(expression, loops)
}

/** Says whether an expression is a paragraph, or the label or value of a row. */
function isOfLoop(expression: string, loops: ReadonlyMap<string, string>): boolean {
  const [name = '', field, more] = expression.split('.')
  const list = loops.get(name)
  if (list === undefined || more !== undefined) return false
  return list === 'rows' ? field === 'label' || field === 'value' : field === undefined
}

/** @param loops gets the variables of `for`, and what they run over */
function isHarmlessTag(tag: string, rest: string, loops: Map<string, string>): boolean {
  if (PLAIN_TAGS.has(tag)) return true
  if (tag === 'case') return FACT.test(rest)
  if (tag === 'when') return rest.split(/ *, *| or /).every(each => LITERAL.test(each))
  if (tag === 'if' || tag === 'elsif' || tag === 'unless')
    return rest.split(/ (?:and|or) /).every(each => isHarmlessCondition(each.trim(), loops))
  const [, variable = '', , list = ''] = /^(\w+)( +in +)(\S+)$/.exec(rest) ?? []
  if (tag !== 'for' || !LIST.test(list)) return false
  const over = list === 'words.details' ? 'rows' : 'paragraphs'
  // A name that means a row in one place and a paragraph in another is not followed.
  if ((loops.get(variable) ?? over) !== over) return false
  loops.set(variable, over)
  return true
}

function isHarmlessCondition(condition: string, loops: ReadonlyMap<string, string>): boolean {
  const [, left, right] = COMPARISON.exec(condition) ?? []
  if (left !== undefined && right !== undefined)
    return FACT.test(left) && (LITERAL.test(right) || FACT.test(right))
  return isPrinted(condition, loops) || LIST.test(condition)
}
