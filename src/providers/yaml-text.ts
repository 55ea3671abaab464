import { createRequire } from 'node:module'
import type { ValidateFunction } from 'ajv'
import type * as Yaml from 'yaml'

// Loaded when there is such a file: the settings are read by every command.
const require = createRequire(import.meta.url)

/** The faults of a file, in words that quote nothing of it but names. */
export interface YamlFault {
  /** From 1; 0 when it is about no line. */
  readonly line: number
  readonly reason: string
}

/**
 * Reads YAML 1.2, which JSON is too.
 * @param isRight tells by a JSON schema whether it is what it should be.
 * @returns `lineAt` gives the line of a key, or of the nearest thing around it.
 */
export function parseYaml<T>(
  text: string,
  isRight: ValidateFunction<T>,
):
  | { readonly value: T; readonly lineAt: (path: readonly string[]) => number }
  | { readonly fault: YamlFault } {
  const { isMap, LineCounter, parseDocument } = require('yaml') as typeof Yaml
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true })
  const [error] = document.errors
  if (error !== undefined)
    return { fault: { line: lines.linePos(error.pos[0]).line, reason: `is not YAML: ${error.code}` } }
  const lineAt = (path: readonly string[]): number => {
    for (let depth = path.length; depth > 0; depth -= 1) {
      const around = document.getIn(path.slice(0, depth - 1), true)
      const pair = isMap(around) ? around.items.find(({ key }) => String(key) === path[depth - 1]) : undefined
      const range = (pair?.key as { readonly range?: readonly number[] | null } | undefined)?.range
      if (range?.[0] !== undefined) return lines.linePos(range[0]).line
    }
    return 1
  }
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount: 100 })
  } catch {
    return { fault: { line: 1, reason: 'refers to itself too often' } }
  }
  if (isRight(value)) return { value, lineAt }
  const [first] = isRight.errors ?? []
  const path = (first?.instancePath ?? '').split('/').slice(1).map(unescapePointer)
  const unknown: unknown = first?.params?.['additionalProperty'] ?? first?.propertyName
  const reason = `${path.join('/') || 'the file'} ${first?.message}`
  return {
    fault: { line: lineAt(path), reason: typeof unknown === 'string' ? `${reason}: ${unknown}` : reason },
  }
}

/** A step of a JSON pointer (RFC 6901). */
export function unescapePointer(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~')
}
