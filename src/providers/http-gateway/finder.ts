import { type Context, createContext, Script } from 'node:vm'
import { objectOf, textOf } from '../json-answer.ts'
import { unescapePointer } from '../yaml-text.ts'

/**
 * Where something is in an answer or a report: a JSON pointer (`/messages/0/id`, RFC 6901), or, for an answer that is no
 * JSON, a regular expression whose group it is (`<id>(\d+)</id>`). Of several the first that finds something counts.
 */
export type Finder = string | readonly string[]

/** Where something is in a report, which is a value: pointers alone. */
export type Pointer = string | readonly string[]

/** A body that was received: its text, and its value when it is JSON. */
export interface Received {
  readonly text: string
  readonly json: unknown
}

/** More than any code or id needs. */
const MOST_SEARCHED = 4096
/** An expression that takes so long, ms, is not at its end soon: some texts take it hours, and everything waits meanwhile. */
const LONGEST_SEARCH_MS = 200
/** In a context of its own, since nothing else can interrupt an expression; it costs some tenths of a millisecond. */
const SEARCH = new Script("new RegExp(expression).exec(text)?.[1] ?? ''")
let context: Context | undefined

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

/** @returns a text or number as text; empty when there is none; null when an expression takes too long to tell. */
export function findText(finder: Finder | undefined, { json, text }: Received): string | null {
  for (const each of [finder ?? []].flat()) {
    const found = each.startsWith('/') ? findPointed(each, json) : search(each, text.slice(0, MOST_SEARCHED))
    if (found !== '') return found
  }
  return ''
}

/** @returns a text or number as text; empty when there is none. */
export function findPointed(pointer: Pointer | undefined, json: unknown): string {
  for (const each of [pointer ?? []].flat()) {
    const found = textOf(findValue(each, json))
    if (found !== '') return found
  }
  return ''
}

/** @returns what the group of an expression has found; null: it did not end in time. */
function search(expression: string, text: string): string | null {
  if (isTame(expression)) return new RegExp(expression).exec(text)?.[1] ?? ''
  context ??= createContext({}, { codeGeneration: { strings: false, wasm: false } })
  Object.assign(context, { expression, text })
  try {
    return String(SEARCH.runInContext(context, { timeout: LONGEST_SEARCH_MS }))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return null
    throw error
  }
}

/**
 * Says whether an expression is surely quick: it has one repetition at most, not of a group, and no back reference, so that it takes
 * the square of the length at worst, some milliseconds.
 */
function isTame(expression: string): boolean {
  return !/[*+{].*[*+{]|\)[*+{]|\\[1-9k]/s.test(expression)
}

/** Finds the value that a JSON pointer points at. */
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
