import { isObject } from '../runtime/json-object.ts'
import { type Int, intOf, parseExactly } from './exact-json.ts'
import type { PlatformResult } from './result.ts'

/**
 * How an endpoint answers when it succeeds.
 *
 * - `envelope`  version 2: `{code, status, msg, data}`; `data` is the result
 * - `top-level` the body is the result: the logins, and version 1, whose successes have no fixed form
 */
export type AnswerForm = 'envelope' | 'top-level'

const MAX_MESSAGE_LENGTH = 200

/**
 * Reads an answer. Errors are recognized by their form, not by the endpoint's version: a gateway in front may answer in the
 * other one. `code` is the business code and `status` the HTTP status, as the envelope's definition says; the tables
 * of the gateway example have the two descriptions swapped.
 *
 * @param text the whole body.
 */
export function readAnswer(httpStatus: number, text: string, form: AnswerForm): PlatformResult<unknown> {
  const body = parsed(text)
  const good = httpStatus >= 200 && httpStatus < 300
  if (body === undefined) return good ? unreadableFailure(httpStatus, 'not JSON') : refused(httpStatus)
  if (!isObject(body)) return good ? unreadableFailure(httpStatus, 'not a JSON object') : refused(httpStatus)

  const { error } = body
  if (isObject(error)) return refused(httpStatus, httpStatus, intOf(error['code']), error['msg'])
  const code = intOf(body['code'])
  const enveloped = code !== undefined && ('msg' in body || 'data' in body || 'status' in body)
  if (enveloped && Number(code) !== 200) {
    return refused(httpStatus, statusOf(body['status']) ?? httpStatus, code, body['msg'])
  }
  if (!good) return refused(httpStatus, statusOf(body['status']) ?? httpStatus, code, body['msg'])
  if (form === 'top-level') return { ok: true, value: body }
  return enveloped
    ? { ok: true, value: body['data'] ?? {} }
    : unreadableFailure(httpStatus, 'not an envelope of code, msg and data')
}

type Failed = Extract<PlatformResult<unknown>, { readonly ok: false }>

export function unreadableFailure(httpStatus: number, message: string): Failed {
  return { ok: false, failure: { is: 'unreadable', httpStatus, message } }
}

function refused(
  httpStatus: number,
  status: number = httpStatus,
  code: Int | null = null,
  message: unknown = '',
): Failed {
  return { ok: false, failure: { is: 'refused', httpStatus, status, code, message: oneLine(message) } }
}

function statusOf(value: unknown): number | undefined {
  const status = intOf(value)
  return status === undefined ? undefined : Number(status)
}

function parsed(text: string): unknown {
  try {
    return parseExactly(text)
  } catch {
    return undefined
  }
}

/** The platform's words go into logs: one line, no control characters, cut. */
function oneLine(value: unknown): string {
  if (typeof value !== 'string') return ''
  return value
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_MESSAGE_LENGTH)
}
