import { type Node, type ParseError, parse, parseTree, printParseErrorCode } from 'jsonc-parser'
import { isObject } from '../runtime/json-object.ts'
import { TemplateFault } from './template-engine.ts'

/** JSON as JSON.parse reads it: without what jsonc-parser would allow besides. */
const STRICT = { disallowComments: true, allowTrailingComma: false }

/** Parses a JSON object. @throws TemplateFault with the line, which quotes nothing of the text */
export function parseJsonFile(text: string): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const errors: ParseError[] = []
    parse(text, errors, STRICT)
    const [first] = errors
    // The parser has a name for each fault, such as `CommaExpected`.
    const name = first ? printParseErrorCode(first.error) : 'Invalid'
    const reason = name.replace(/\B[A-Z]/g, letter => ` ${letter}`).toLowerCase()
    throw new TemplateFault(`not JSON: ${reason}`, lineAt(text, first?.offset ?? 0), { cause: error })
  }
  if (!isObject(value)) throw new TemplateFault('not a JSON object', 1)
  return value
}

/**
 * The line of a value in a JSON text, or of the nearest thing around it that the text has.
 * @param pointer JSON pointer (RFC 6901)
 * @returns from 1; for a member of an object the line of its value
 */
export function lineOf(text: string, pointer: string): number {
  let node = parseTree(text, [], STRICT)
  for (const step of pointer.split('/').slice(1)) {
    const next: Node | undefined = node && childOf(node, step.replaceAll('~1', '/').replaceAll('~0', '~'))
    if (!next) break
    node = next
  }
  return lineAt(text, node?.offset ?? 0)
}

/** The last of several members of one name, as JSON.parse takes that one. */
function childOf(node: Node, key: string): Node | undefined {
  if (node.type === 'array') return node.children?.[Number(key)]
  return node.children?.findLast(property => property.children?.[0]?.value === key)?.children?.[1]
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}
