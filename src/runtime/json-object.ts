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
