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
 * The depth is counted on the text, before anything recursive sees it.
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
  if (measureDepth(text) > MAX_DEPTH) throw new BodyFault(`the body is more than ${MAX_DEPTH} levels deep`)
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    // The parser's own message quotes the body.
    throw new BodyFault('the body is not JSON')
  }
  // Only a text that could spell such a key, escaped or not, is searched for it.
  if (/__proto__|constructor|\\u00/i.test(text) && hasForbiddenKey(body)) {
    throw new BodyFault('the body has a key that is not allowed')
  }
  return body
}

function measureDepth(text: string): number {
  let depth = 0
  let deepest = 0
  let inString = false
  for (let at = 0; at < text.length; at += 1) {
    const codeUnit = text.charCodeAt(at)
    if (inString) {
      if (codeUnit === 0x5c) at += 1
      else if (codeUnit === 0x22) inString = false
    } else if (codeUnit === 0x22) inString = true
    else if (codeUnit === 0x7b || codeUnit === 0x5b) {
      depth += 1
      if (depth > deepest) deepest = depth
    } else if (codeUnit === 0x7d || codeUnit === 0x5d) depth -= 1
  }
  return deepest
}

function hasForbiddenKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(hasForbiddenKey)
  return Object.entries(value).some(
    ([key, each]) => key === '__proto__' || key === 'constructor' || hasForbiddenKey(each),
  )
}
