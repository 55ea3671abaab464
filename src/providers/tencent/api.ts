import { createHttpApi, type HttpApiSettings } from '../http-client.ts'
import { type JsonAnswer, type JsonObject, objectOf, parseJsonObject } from '../json-answer.ts'
import { signRequest, type TencentLogin } from './sign.ts'

export interface TencentApiSettings extends TencentLogin, HttpApiSettings {
  readonly apiUrl: string
  readonly region: string
  /**
   * The wall clock, ms since the epoch: a request counts within 5 minutes of Tencent's clock, and the service's own
   * does not follow corrections of the machine's.
   */
  readonly wall?: () => number
}

export type TencentApi = ReturnType<typeof createTencentApi>

/**
 * Tencent Cloud's SMS API, version 2021-01-11: one path, the operation in a header, its parameters as JSON.
 * @param connections requests at the same time at most; one connection each.
 */
export function createTencentApi(settings: TencentApiSettings, connections: number) {
  const { apiUrl: baseUrl, region, wall = Date.now } = settings
  const host = new URL(baseUrl).hostname
  const api = createHttpApi({ ...settings, baseUrl, connections })

  function signedHeaders(action: string, body: string): Record<string, string> {
    const timestamp = Math.floor(wall() / 1000)
    const contentType = 'application/json'
    return {
      'content-type': contentType,
      'x-tc-action': action,
      'x-tc-version': '2021-01-11',
      'x-tc-region': region,
      'x-tc-timestamp': String(timestamp),
      authorization: signRequest(body, { 'content-type': contentType, host }, timestamp, settings),
    }
  }

  return {
    /**
     * @param expiresAt the request is not written from this moment on, ms since the epoch.
     * @returns an answer whose body is the content of `Response`.
     */
    call(action: string, params: JsonObject, signal?: AbortSignal, expiresAt?: number) {
      const body = JSON.stringify(params)
      return api.request(
        { method: 'POST', path: '/', headers: signedHeaders(action, body), body },
        ({ statusCode: status, retryAfter, body }): JsonAnswer => ({
          status,
          retryAfter,
          body: objectOf(parseJsonObject(body)?.['Response']),
        }),
        signal,
        expiresAt,
      )
    },
    close: api.close,
  }
}
