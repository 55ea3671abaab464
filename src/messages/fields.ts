import { confineName, findCodeFault, findLineFault, findTextFault, isBlank } from './characters.ts'
import { defuseLinks, findLinksInText } from './find-links.ts'

/** A field of a callback's body as it was found: absent, a usable text, or unusable and why. */
export type FieldResult = { readonly text: string } | { readonly fault: string } | null

/** Longest value of a parameter that is no link: room for any code, token or name. */
const MAX_VALUE = 1024
const MAX_CODE = 32

/** An own property of a body; undefined when there is none. */
export function readOwn(object: object, key: string): unknown {
  return Object.hasOwn(object, key) ? Reflect.get(object, key) : undefined
}

/** A value on one line: code, name, time, number. */
export function readLine(value: unknown): FieldResult {
  if (isAbsent(value)) return null
  if (typeof value === 'number') return numberAsText(value)
  if (typeof value !== 'string') return { fault: 'is neither text nor a number' }
  const fault = findLineFault(value)
  if (fault !== null) return { fault }
  if (value.length > MAX_VALUE) return { fault: `is longer than ${MAX_VALUE} characters` }
  return { text: value.trim() }
}

/** A code that somebody types: short, and nothing that can be clicked. */
export function readCode(value: unknown): FieldResult {
  const field = readLine(value)
  if (field === null || 'fault' in field) return field
  if (field.text.length > MAX_CODE) return { fault: `is longer than ${MAX_CODE} characters` }
  const fault = findCodeFault(field.text) ?? (findLinksInText(field.text).length > 0 ? 'holds a link' : null)
  return fault === null ? field : { fault }
}

/** Reads a name of somebody or something. It keeps its place, and a link in it is shown and cannot be clicked. */
export function readName(value: unknown): FieldResult {
  const field = readLine(value)
  return field !== null && 'text' in field ? { text: defuseLinks(confineName(field.text)) } : field
}

/** Reads a link. It is not even trimmed: the reader gets it as it came, or not at all. @param findFault says why it must not be sent */
export function readLink(value: unknown, findFault: (url: string) => string | null): FieldResult {
  if (isAbsent(value)) return null
  if (typeof value !== 'string') return { fault: 'is not a string' }
  const fault = findFault(value)
  return fault === null ? { text: value } : { fault }
}

/** Reads running text of several lines. @param findFault says why the text must not be sent, besides its characters */
export function readText(value: unknown, findFault: (text: string) => string | null): FieldResult {
  if (isAbsent(value)) return null
  if (typeof value === 'number') return numberAsText(value)
  if (typeof value !== 'string') return { fault: 'is not a string' }
  const text = value.trim()
  const fault = findTextFault(text) ?? findFault(text)
  return fault === null ? { text } : { fault }
}

/** Says whether a value is absent. The contract contradicts itself about that: null, "" and blank all are. */
function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && isBlank(value))
}

/**
 * A number as it was written. JSON.parse rounds integers beyond 2^53 and decimals beyond 15 digits, makes Infinity of
 * 1e400, and String writes 1e-7 for 0.0000001: any of them would send a wrong code.
 */
function numberAsText(value: number): FieldResult {
  const text = String(value)
  const exact = Number.isSafeInteger(value) || /^-?(?=[\d.]{3,16}$)\d+\.\d+$/.test(text)
  return exact ? { text } : { fault: 'is a number that cannot be read exactly' }
}
