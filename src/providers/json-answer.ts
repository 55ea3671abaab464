import { type JsonObject, objectOf, parseJson } from '../runtime/json-object.ts'
import type { AnswerHead, HttpAnswer } from './http-client.ts'

/** A carrier's answer; `body` is null when it is not the object that it should be. */
export interface JsonAnswer extends AnswerHead {
  readonly body: JsonObject | null
}

/** Reads an API's answer. */
export function readJsonAnswer({ body, ...head }: HttpAnswer): JsonAnswer {
  return { ...head, body: objectOf(parseJson(body)) }
}

/** The objects of a list; none when it is no list. */
export function objectsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.map(objectOf).filter(each => each !== null) : []
}

/** Text, or a number as text, as vendors write either; empty for anything else. One of 64 bits keeps its digits when `parseExactly` read it. */
export function textOf(value: unknown): string {
  return ['string', 'number', 'bigint'].includes(typeof value) ? String(value) : ''
}
