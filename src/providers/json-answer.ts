import { parseExactly } from '../runtime/exact-json.ts'
import { isObject } from '../runtime/json-object.ts'
import type { HttpAnswer } from './http-client.ts'

/** A JSON object as somebody else sent it. */
export type JsonObject = Readonly<Record<string, unknown>>

/** A carrier's answer; `body` is null when it is not the object that it should be. */
export interface JsonAnswer {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly body: JsonObject | null
}

/** Reads an API's answer. */
export function readJsonAnswer({ statusCode, retryAfter, body }: HttpAnswer): JsonAnswer {
  return { status: statusCode, retryAfter, body: objectOf(parseJson(body)) }
}

/** @returns undefined when it is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return parseExactly(text)
  } catch {
    return undefined
  }
}

export function objectOf(value: unknown): JsonObject | null {
  return isObject(value) ? value : null
}

/** The objects of a list; none when it is no list. */
export function objectsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.map(objectOf).filter(each => each !== null) : []
}

/** Text, or a number as text, as vendors write either; empty for anything else. One of 64 bits keeps its digits when `parseExactly` read it. */
export function textOf(value: unknown): string {
  return ['string', 'number', 'bigint'].includes(typeof value) ? String(value) : ''
}
