import { randomUUID } from 'node:crypto'
import type { Config } from '../../config/config.ts'
import { type Diagnosis, diagnoseExchange } from '../../providers/diagnosis.ts'
import type { HttpLimits } from '../../providers/http-client.ts'
import { proxyOf } from '../../providers/module.ts'
import { type CheckResult, checkFailure, checkOk } from '../../runtime/check-result.ts'
import type { Clock } from '../../runtime/clock.ts'
import {
  batchOf,
  createPoster,
  type Poster,
  type PostResult,
  readSigningKeys,
  signPayload,
} from '../../webhooks/post.ts'

/** A machine that is told something, and the advice about it. */
interface Receiver {
  /** The setting that says where it is. */
  readonly setting: string
  readonly url: string
  /** The advice when its status says that it refuses the caller. */
  readonly refused: string
  /** The advice about any other status. */
  readonly otherwise: string
}

/**
 * Checks the receiver of events by a POST that is signed as all are, and has no events.
 * @param limits other timeouts than the service's
 */
export async function checkEventReceiver(
  config: Config,
  clock: Clock,
  limits?: HttpLimits,
): Promise<readonly CheckResult[]> {
  const { EVENTS_URL: url, EVENTS_SECRET: secret } = config
  if (url === undefined || secret === undefined) return []
  const setting = 'EVENTS_URL'
  const { body } = batchOf([], Date.now())
  // An id that no receiver has seen: one that drops repetitions has to look at the signature all the same.
  const headers = signPayload(readSigningKeys(secret), `check-${randomUUID()}`, Date.now(), body)
  const result = await post(createPoster(url, clock, proxyOf(config), limits), headers, body)
  if (result.is === 'delivered') return [checkOk(setting, 'took a signed POST without events')]
  const { what, next } = diagnose(result, {
    setting,
    url,
    refused: 'EVENTS_SECRET has to be the same there, and both clocks right',
    otherwise: 'look at its log: events wait until it answers 2xx, three days at most',
  })
  return [checkFailure(setting, what, next)]
}

async function post(
  poster: Poster,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<PostResult> {
  try {
    return await poster.post(headers, body, new AbortController().signal)
  } finally {
    await poster.close()
  }
}

/** Tells from the status, or from the end of the connection, why a receiver took no POST. */
function diagnose(
  result: Exclude<PostResult, { readonly is: 'delivered' }>,
  { setting, url, refused, otherwise }: Receiver,
): Diagnosis {
  if (result.is === 'gone')
    return {
      what: 'wants nothing any more (HTTP 410)',
      next: 'let it answer 2xx, and start the service anew: it tells nothing more until then',
    }
  if (result.unanswered !== undefined) return diagnoseExchange(result.unanswered, url, setting)
  const status = Number(result.reason.slice('http-'.length))
  if (status === 401 || status === 403) return { what: `refuses the request (HTTP ${status})`, next: refused }
  if (status >= 300 && status < 400)
    return {
      what: `redirects, which is not followed (HTTP ${status})`,
      next: `write the address that it leads to into ${setting}`,
    }
  if (status === 404 || status === 405)
    return { what: `takes no POST at this path (HTTP ${status})`, next: `look at the path in ${setting}` }
  return { what: `answers HTTP ${status}`, next: otherwise }
}
