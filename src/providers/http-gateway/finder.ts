import { objectOf, textOf } from '../json-answer.ts'
import { unescapePointer } from '../yaml-text.ts'

/**
 * Where something is in an answer or a report: a JSON pointer (`/messages/0/id`, RFC 6901), or, for an answer that is no
 * JSON, a regular expression whose group it is (`<id>(\d+)</id>`). Of several the first that finds something counts.
 */
export type Finder = string | readonly string[]

/** What was received: its text, and its value when it is JSON. */
export interface Received {
  readonly text: string
  readonly json: unknown
}

/** More than any code or id needs; an expression that runs wild does so over little. */
const MOST_SEARCHED = 4096

/** @returns why a finder can find nothing; null: it can. */
export function findFinderFault(finder: Finder): string | null {
  for (const each of [finder].flat())
    if (!each.startsWith('/')) {
      try {
        if (new RegExp(`${each}|`).exec('')?.length === 1) return 'needs a group, as in <id>(.+?)</id>'
      } catch {
        return 'is neither a JSON pointer, which begins with /, nor a regular expression'
      }
    }
  return null
}

/** @returns a text or number as text; empty when there is none. */
export function findText(finder: Finder | undefined, received: Received): string {
  for (const each of [finder ?? []].flat()) {
    const found = each.startsWith('/')
      ? textOf(findValue(each, received.json))
      : (new RegExp(each).exec(received.text.slice(0, MOST_SEARCHED))?.[1] ?? '')
    if (found !== '') return found
  }
  return ''
}

/** What a JSON pointer points at. */
export function findValue(pointer: string, json: unknown): unknown {
  let value = json
  for (const step of pointer.split('/').slice(1).map(unescapePointer)) {
    if (Array.isArray(value))
      value = /^\d{1,4}$/.test(step) ? (value as readonly unknown[])[Number(step)] : undefined
    else {
      const object = objectOf(value)
      value = object !== null && Object.hasOwn(object, step) ? object[step] : undefined
    }
  }
  return value
}
