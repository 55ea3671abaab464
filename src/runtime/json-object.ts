import { parseExactly } from './exact-json.ts'

/** A JSON object as somebody else wrote it. */
export type JsonObject = Readonly<Record<string, unknown>>

/** @returns undefined when it is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return parseExactly(text)
  } catch {
    return undefined
  }
}

/** Says whether a parsed JSON value is an object: neither a list nor null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function objectOf(value: unknown): JsonObject | null {
  return isObject(value) ? value : null
}

/** A name or a number as text; undefined for anything else, and for no text at all. */
export function filledTextOf(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}
