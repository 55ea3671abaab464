import { randomBytes } from 'node:crypto'
import { createHttpApi, type HttpApiSettings } from '../http-client.ts'
import { type JsonAnswer, parseJsonObject } from '../json-answer.ts'
import { type AliyunLogin, EMPTY_BODY_HASH, encodeQuery, signRequest } from './sign.ts'

export interface AliyunApiSettings extends AliyunLogin, HttpApiSettings {
  readonly apiUrl: string
  /**
   * The wall clock, ms since the epoch: a request counts within 15 minutes of Aliyun's clock, and the service's own
   * does not follow corrections of the machine's.
   */
  readonly wall?: () => number
  /** 32 characters that were never sent before. */
  readonly makeNonce?: () => string
}

export type AliyunApi = ReturnType<typeof createAliyunApi>

/**
 * Aliyun's SMS API, version 2017-05-25: one path, the operation in a header, its parameters in the query.
 * @param connections requests at the same time at most; one connection each.
 */
export function createAliyunApi(settings: AliyunApiSettings, connections: number) {
  const { apiUrl: baseUrl, wall = Date.now } = settings
  const { makeNonce = () => randomBytes(16).toString('hex') } = settings
  const { host } = new URL(baseUrl)
  const api = createHttpApi({ ...settings, baseUrl, connections })

  function signedHeaders(action: string, query: Readonly<Record<string, string>>): Record<string, string> {
    const headers = {
      host,
      'x-acs-action': action,
      'x-acs-content-sha256': EMPTY_BODY_HASH,
      'x-acs-date': new Date(wall()).toISOString().replace(/\.\d+Z$/, 'Z'),
      'x-acs-signature-nonce': makeNonce(),
      'x-acs-version': '2017-05-25',
    }
    return { ...headers, accept: 'application/json', authorization: signRequest(query, headers, settings) }
  }

  return {
    /** @param expiresAt the request is not written from this moment on, ms since the epoch. */
    call(action: string, query: Readonly<Record<string, string>>, signal?: AbortSignal, expiresAt?: number) {
      // The query holds number and code: nothing may log the path.
      const path = `/?${encodeQuery(query)}`
      const headers = signedHeaders(action, query)
      return api.request(
        { method: 'POST', path, headers, body: null },
        ({ statusCode: status, retryAfter, body }): JsonAnswer => ({
          status,
          retryAfter,
          body: parseJsonObject(body),
        }),
        signal,
        expiresAt,
      )
    },
    close: api.close,
  }
}
