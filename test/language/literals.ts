/** A string or template of a source: its text, with `{}` where a value is put in, and the code just before it. */
export interface Literal {
  readonly text: string
  readonly before: string
}

/** Every string and template of TypeScript, outside of comments. Templates inside of templates stand for themselves, too. */
export function literalsOf(code: string): readonly Literal[] {
  const found: Literal[] = []
  const skip = (at: number): number => readCode(code, at, '', found)
  skip(0)
  return found
}

/** Reads code up to a closing character. @returns the place behind it. */
function readCode(code: string, from: number, until: string, found: Literal[]): number {
  let depth = 0
  let at = from
  while (at < code.length) {
    const char = code[at]
    if (until !== '' && char === until && depth === 0) return at + 1
    if (code.startsWith('//', at)) at = (code.indexOf('\n', at) + 1 || code.length + 1) - 1
    else if (code.startsWith('/*', at)) at = code.indexOf('*/', at) + 1
    else if (isRegexp(code, at)) at = endOfRegexp(code, at)
    else if (char === "'" || char === '"' || char === '`') {
      at = readLiteral(code, at, found)
      continue
    } else if (char === '{') depth += 1
    else if (char === '}') depth -= 1
    at += 1
  }
  return at
}

function readLiteral(code: string, from: number, found: Literal[]): number {
  const quote = code[from] ?? ''
  let text = ''
  let at = from + 1
  while (at < code.length && code[at] !== quote) {
    if (code[at] === '\\') {
      text += code[at + 1] === 'n' ? '\n' : code[at + 1]
      at += 2
    } else if (quote === '`' && code.startsWith('${', at)) {
      text += '{}'
      at = readCode(code, at + 2, '}', found)
    } else {
      text += code[at]
      at += 1
    }
  }
  found.push({ text, before: code.slice(Math.max(0, from - 80), from) })
  return at + 1
}

function isRegexp(code: string, at: number): boolean {
  return code[at] === '/' && /[=(,:?&|!{}[;]\s*$|return\s*$/.test(code.slice(Math.max(0, at - 10), at))
}

function endOfRegexp(code: string, from: number): number {
  let inClass = false
  for (let at = from + 1; at < code.length; at += 1) {
    const char = code[at]
    if (char === '\\') at += 1
    else if (char === '[') inClass = true
    else if (char === ']') inClass = false
    else if (char === '/' && !inClass) return at
    else if (char === '\n') return from
  }
  return from
}
