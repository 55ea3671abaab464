import type { IncomingHttpHeaders } from 'node:http'
import type { BodyStatus } from './answers.ts'

/** Levels of objects and arrays that a body may have: the contract's deepest is 2. */
export const MAX_DEPTH = 8
/** Octets of a body. */
export const BODY_LIMIT = 64 * 1024

/** The parts of a callback's body that every step needs; the rest is the interpreter's. */
export interface CallbackBody {
  readonly to: string | number
  readonly area_code?: unknown
  readonly [key: string]: unknown
}

/** A body that is not read; the error's message is for err_msg. */
export class BodyFault extends Error {
  override readonly name = 'BodyFault'
  readonly statusCode: BodyStatus

  constructor(message: string, statusCode: BodyStatus = 400) {
    super(message)
    this.statusCode = statusCode
  }
}

/** Reads how many octets a body has, from the request's head; Infinity when the head does not say. */
export function bodyLengthOf({
  'content-length': length,
  'transfer-encoding': coding,
}: IncomingHttpHeaders): number {
  return coding === undefined ? Number(length ?? 0) : Number.POSITIVE_INFINITY
}

const JSON_TYPE = /^\s*application\/json\s*(?:;|$)/i
const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads a JSON body, guarded: not packed, UTF-8, at most MAX_DEPTH deep, no `__proto__` or `constructor` key.
 * Node's own parser is not recursive; whatever looks at a body after it may be.
 * @throws BodyFault
 */
export function parseBody(headers: IncomingHttpHeaders, bytes: Buffer): unknown {
  const { 'content-type': type, 'content-encoding': coding = '' } = headers
  // A small packed body could be a huge one: none is unpacked.
  if (!/^\s*(?:(?:identity|utf-?8)\s*)?$/i.test(coding))
    throw new BodyFault('the Content-Encoding is not supported: the body must be sent as it is', 415)
  if (type !== undefined && !JSON_TYPE.test(type))
    throw new BodyFault('the Content-Type must be application/json', 415)
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    throw new BodyFault('the body is not UTF-8')
  }
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    // The parser's own message quotes the body.
    throw new BodyFault('the body is not JSON')
  }
  checkLevels(body, 1)
  return body
}

/** Looks at a value and all that is in it, no deeper than a body may be. @throws BodyFault */
function checkLevels(value: unknown, level: number): void {
  if (typeof value !== 'object' || value === null) return
  if (level > MAX_DEPTH) throw new BodyFault(`the body is more than ${MAX_DEPTH} levels deep`)
  if (!Array.isArray(value) && (Object.hasOwn(value, '__proto__') || Object.hasOwn(value, 'constructor')))
    throw new BodyFault('the body has a key that is not allowed')
  for (const each of Object.values(value)) checkLevels(each, level + 1)
}
