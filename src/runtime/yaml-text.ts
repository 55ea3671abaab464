import { createRequire } from 'node:module'
import type { ErrorObject, ValidateFunction } from 'ajv'
import type * as Yaml from 'yaml'
import { quote, type Sentence, say, tell, term, type Words, withRemedy } from '../language/sentence.ts'
import { findMisencoded } from './fault.ts'

// Loaded when there is such a file: the settings are read by every command.
const require = createRequire(import.meta.url)

/** The faults of a file, in words that quote nothing of it but names. */
export interface YamlFault {
  /** From 1; 0 when it is about no line. */
  readonly line: number
  readonly reason: Words
}

/**
 * Reads YAML 1.2, which JSON is too.
 * @param isRight tells by a JSON schema whether it is what it should be.
 * @param complete adds what a file may leave out, before it is judged.
 * @returns `lineAt` gives the line of a key, or of the nearest thing around it.
 */
export function parseYaml<T>(
  text: string,
  isRight: ValidateFunction<T>,
  complete: (read: unknown) => unknown = read => read,
):
  | { readonly value: T; readonly lineAt: (path: readonly string[]) => number }
  | { readonly fault: YamlFault } {
  const misencoded = findMisencoded(text)
  if (misencoded !== null) {
    const { line, problem, remedy } = misencoded
    return { fault: { line, reason: withRemedy(problem, remedy) } }
  }
  const { document, lines, lineAt } = parse(text)
  const [error] = document.errors
  if (error !== undefined)
    return {
      fault: {
        line: lines.linePos(error.pos[0]).line,
        reason: say('is neither JSON nor YAML: {code}', { code: quote(error.code, error.code) }),
      },
    }
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount: 100 })
  } catch {
    return { fault: { line: 1, reason: 'refers to itself too often' } }
  }
  value = complete(value)
  if (isRight(value)) return { value, lineAt }
  const [first] = isRight.errors ?? []
  const path = (first?.instancePath ?? '').split('/').slice(1).map(unescapePointer)
  const unknown: string | undefined = first?.params?.['additionalProperty'] ?? first?.propertyName
  const problem = tellSchemaFault(first, unknown)
  const reason = say('{path} {problem}', { path: path.join('/') || say('the file'), problem })
  return { fault: { line: lineAt([...path, ...(unknown === undefined ? [] : [unknown])]), reason } }
}

/** A fault of a schema in ajv's words, and in Chinese by its keyword. @param name that it is about, such as an unknown one. */
export function tellSchemaFault(fault: ErrorObject | undefined, name = ''): Sentence {
  const { message = 'is wrong', keyword = '', params = {} } = fault ?? {}
  if (keyword === 'enum') return say('must be one of {words}', { words: params['allowedValues'].join(', ') })
  const types = [params['type'] ?? []].flat().join(' or ')
  const text = types === '' ? message : `must be ${types}`
  const places = { ...params, name: name && `“${name}”`, type: term(types) }
  return quote(name === '' ? text : `${text}: ${name}`, keyword, places)
}

/** A fault behind the number of its line. */
export function tellYamlFault({ line, reason }: YamlFault): Sentence {
  return line === 0 ? tell(reason) : say('line {line}: {reason}', { line, reason: tell(reason) })
}

function parse(text: string) {
  const { isMap, isSeq, LineCounter, parseDocument } = require('yaml') as typeof Yaml
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  const lineAt = (path: readonly string[]): number => {
    let node: unknown = document.contents
    let offset = 0
    for (const step of path) {
      const pair = isMap(node) ? node.items.find(({ key }) => String(key) === step) : undefined
      node = isSeq(node) ? node.items[Number(step)] : pair?.value
      const [start] = ((pair?.key ?? node) as Yaml.Node | undefined)?.range ?? []
      if (start === undefined) break
      offset = start
    }
    return lines.linePos(offset).line
  }
  return { document, lines, lineAt }
}

/** A step of a JSON pointer (RFC 6901). */
export function unescapePointer(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~')
}
