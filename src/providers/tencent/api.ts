import type { Clock } from '../../runtime/clock.ts'
import { createHttpClient, type HttpProxy } from '../http-client.ts'
import { createExchanges, type FailedExchange, type HttpLimits } from '../http-exchange.ts'
import { type JsonObject, objectOf, parseJsonObject } from '../json-answer.ts'
import { signRequest, type TencentLogin } from './sign.ts'

export interface TencentApiSettings extends TencentLogin {
  readonly apiUrl: string
  readonly region: string
  /** A certificate authority of our own, PEM. */
  readonly ca?: string
  readonly proxy?: HttpProxy | undefined
  readonly clock: Clock
  /**
   * The wall clock, ms since the epoch: a request counts within 5 minutes of Tencent's clock, and the service's own
   * does not follow corrections of the machine's.
   */
  readonly wall?: () => number
  readonly limits: HttpLimits
}

export interface TencentAnswer {
  readonly status: number
  readonly retryAfter: string | undefined
  /** The content of `Response`; null: there is none. */
  readonly response: JsonObject | null
}

/** Tencent Cloud's SMS API, version 2021-01-11: one path, the operation in a header, its parameters as JSON. */
export interface TencentApi {
  /** @param expiresAt the request is not written from this moment on, ms since the epoch. */
  call(
    action: string,
    params: JsonObject,
    signal: AbortSignal,
    expiresAt: number,
  ): Promise<{ readonly value: TencentAnswer } | FailedExchange>
  /** Aborts what is under way and ends all connections. */
  close(): Promise<void>
}

/** @param connections requests at the same time at most; one connection each. */
export function createTencentApi(settings: TencentApiSettings, connections: number): TencentApi {
  const { apiUrl, region, ca, proxy, clock, limits, wall = Date.now } = settings
  const host = new URL(apiUrl).hostname
  const exchanges = createExchanges(limits, clock)
  const client = createHttpClient({
    baseUrl: apiUrl,
    connections,
    limits,
    proxy,
    ...(ca !== undefined && { ca }),
  })

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
    call: (action, params, signal, expiresAt) =>
      exchanges.run(
        async exchange => {
          const body = JSON.stringify(params)
          const headers = signedHeaders(action, body)
          const answer = await client.request(exchange, { method: 'POST', path: '/', headers, body })
          const response = objectOf(parseJsonObject(answer.body)?.['Response'])
          return { status: answer.statusCode, retryAfter: exchange.answer?.retryAfter, response }
        },
        signal,
        expiresAt,
      ),
    async close() {
      exchanges.abort()
      await client.close()
    },
  }
}
