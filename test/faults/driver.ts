import { Pool } from 'undici'
import type { Callback } from './callbacks.ts'

/** A callback and what came of it. */
export interface Answered {
  readonly callback: Callback
  /** ms since the epoch. */
  readonly askedAt: number
  readonly answeredAt: number
  /** undefined: there was no answer. */
  readonly status: number | undefined
  readonly errCode: number | undefined
  readonly retryAfter: string | undefined
}

/** The platform: posts callbacks over HTTPS and keeps a record of what was answered. */
export interface Driver {
  readonly record: readonly Answered[]
  post(callback: Callback): Promise<Answered>
  /** Posts all of them, `atOnce` at a time, each as soon as an earlier one was answered. */
  load(callbacks: readonly Callback[], atOnce: number): Promise<readonly Answered[]>
  close(): Promise<void>
}

export interface DriverOptions {
  /** Read at each post: a service that was started again may listen elsewhere. */
  readonly urls: () => { readonly email?: string; readonly sms?: string }
  readonly ca: string
  readonly connections?: number
  readonly timeoutMs?: number
}

export function createDriver(options: DriverOptions): Driver {
  const { urls, ca, connections = 64, timeoutMs = 30_000 } = options
  const record: Answered[] = []
  const pools = new Map<string, Pool>()

  function poolOf(origin: string): Pool {
    const known = pools.get(origin)
    if (known !== undefined) return known
    const pool = new Pool(origin, { connections, pipelining: 1, connect: { ca, timeout: timeoutMs } })
    pools.set(origin, pool)
    return pool
  }

  async function ask({ channel, body }: Callback) {
    const url = new URL(urls()[channel] ?? '')
    const response = await poolOf(url.origin).request({
      method: 'POST',
      path: url.pathname,
      headers: { 'content-type': 'application/json' },
      body,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    })
    const answer = (await response.body.json()) as { err_code?: unknown }
    const retryAfter = response.headers['retry-after']
    return {
      status: response.statusCode,
      errCode: typeof answer.err_code === 'number' ? answer.err_code : undefined,
      retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
    }
  }

  async function post(callback: Callback): Promise<Answered> {
    const askedAt = Date.now()
    const none = { status: undefined, errCode: undefined, retryAfter: undefined }
    const answer = await ask(callback).catch(() => none)
    const answered = { callback, askedAt, answeredAt: Date.now(), ...answer }
    record.push(answered)
    return answered
  }

  return {
    record,
    post,
    async load(callbacks, atOnce) {
      const answers: Answered[] = []
      let next = 0
      const one = async () => {
        for (let callback = callbacks[next++]; callback !== undefined; callback = callbacks[next++])
          answers.push(await post(callback))
      }
      await Promise.all(Array.from({ length: atOnce }, one))
      return answers
    },
    async close() {
      for (const pool of pools.values()) await pool.destroy()
    },
  }
}
