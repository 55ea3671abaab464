import { randomBytes } from 'node:crypto'
import type { Clock } from '../../runtime/clock.ts'
import { createHttpClient, type HttpProxy } from '../http-client.ts'
import { createExchanges, type FailedExchange, type HttpLimits } from '../http-exchange.ts'
import { type JsonObject, parseJsonObject } from '../json-answer.ts'
import { type AliyunLogin, EMPTY_BODY_HASH, encodeQuery, signRequest } from './sign.ts'

export interface AliyunApiSettings extends AliyunLogin {
  readonly apiUrl: string
  /** A certificate authority of our own, PEM. */
  readonly ca?: string
  readonly proxy?: HttpProxy | undefined
  readonly clock: Clock
  /**
   * The wall clock, ms since the epoch: a request counts within 15 minutes of Aliyun's clock, and the service's own
   * does not follow corrections of the machine's.
   */
  readonly wall?: () => number
  /** 32 characters that were never sent before. */
  readonly makeNonce?: () => string
  readonly limits: HttpLimits
}

export interface AliyunAnswer {
  readonly status: number
  readonly retryAfter: string | undefined
  /** Null: it is no JSON object. */
  readonly body: JsonObject | null
}

/** Aliyun's SMS API, version 2017-05-25: one path, the operation in a header, its parameters in the query. */
export interface AliyunApi {
  /** @param expiresAt the request is not written from this moment on, ms since the epoch. */
  call(
    action: string,
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
    expiresAt: number,
  ): Promise<{ readonly value: AliyunAnswer } | FailedExchange>
  /** Aborts what is under way and ends all connections. */
  close(): Promise<void>
}

/** @param connections requests at the same time at most; one connection each. */
export function createAliyunApi(settings: AliyunApiSettings, connections: number): AliyunApi {
  const { apiUrl, ca, proxy, clock, limits, wall = Date.now } = settings
  const { makeNonce = () => randomBytes(16).toString('hex') } = settings
  const { host } = new URL(apiUrl)
  const exchanges = createExchanges(limits, clock)
  const client = createHttpClient({
    baseUrl: apiUrl,
    connections,
    limits,
    proxy,
    ...(ca !== undefined && { ca }),
  })

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
    call: (action, query, signal, expiresAt) =>
      exchanges.run(
        async exchange => {
          // The query holds number and code: nothing may log the path.
          const path = `/?${encodeQuery(query)}`
          const headers = signedHeaders(action, query)
          const response = await client.request(exchange, { method: 'POST', path, headers, body: null })
          const retryAfter = exchange.answer?.retryAfter
          return { status: response.statusCode, retryAfter, body: parseJsonObject(response.body) }
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
