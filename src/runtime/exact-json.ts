/** A whole number of up to 64 bits: a bigint where a number would lose digits. */
export type Int = number | bigint

/** Fewer digits than this always fit a number (2^53 has 16). Most texts have no such number, and are parsed as ever. */
const LONG = /(?:^|[:[,\s])-?\d{16}/
const WHOLE = /^-?\d+$/

/** The third argument that V8 gives a reviver (ECMAScript, "JSON.parse source text access"). */
interface Source {
  readonly source?: string
}
type Reviver = (this: unknown, key: string, value: unknown, context: Source) => unknown
const parseWith = JSON.parse as (text: string, reviver?: Reviver) => unknown
const { rawJSON } = JSON as unknown as { rawJSON(text: string): object }

/**
 * Parses JSON without losing a digit of a whole number: one beyond 2^53 becomes a bigint. Fractions are numbers.
 * @throws SyntaxError for what is not JSON.
 */
export function parseExactly(text: string): unknown {
  return LONG.test(text) ? parseWith(text, exact) : parseWith(text)
}

/**
 * Writes a value that {@link parseExactly} gave, or one with bigints in it, as JSON.
 * @param indent blanks for each level; on one line unless given.
 */
export function stringifyExactly(value: unknown, indent?: number): string {
  return JSON.stringify(
    value,
    (_key, each: unknown) => (typeof each === 'bigint' ? rawJSON(String(each)) : each),
    indent,
  )
}

function exact(_key: string, value: unknown, { source }: Source): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
  return source !== undefined && WHOLE.test(source) ? BigInt(source) : value
}

/** A whole number, or its digits as text; undefined for anything else. */
export function intOf(value: unknown): Int | undefined {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number') return Number.isInteger(value) ? value : undefined
  if (typeof value !== 'string' || !WHOLE.test(value)) return undefined
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : BigInt(value)
}
