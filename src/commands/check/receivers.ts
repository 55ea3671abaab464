import { randomUUID } from 'node:crypto'
import type { Config } from '../../config/config.ts'
import { say } from '../../language/sentence.ts'
import { type Diagnosis, diagnoseExchange } from '../../providers/diagnosis.ts'
import type { HttpLimits } from '../../providers/http-client.ts'
import { proxyOf } from '../../providers/module.ts'
import { type CheckResult, checksOf } from '../../runtime/check-result.ts'
import type { Clock } from '../../runtime/clock.ts'
import { batchOf, createPoster, type PostResult, readSigningKeys, signPayload } from '../../webhooks/post.ts'

const SETTING = 'EVENTS_URL'

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
  const { body } = batchOf([], Date.now())
  // An id that no receiver has seen: one that drops repetitions has to look at the signature all the same.
  const headers = signPayload(readSigningKeys(secret), `check-${randomUUID()}`, Date.now(), body)
  const poster = createPoster(url, clock, proxyOf(config), limits)
  try {
    const result = await poster.post(headers, body, new AbortController().signal)
    if (result.is === 'delivered') return [checksOf(SETTING).ok('took a signed POST without events')]
    const { what, next } = diagnose(result, url)
    return [checksOf(SETTING).fail(what, next)]
  } finally {
    await poster.close()
  }
}

/** Tells from the status, or from the end of the connection, why the receiver took no POST. */
function diagnose(result: Exclude<PostResult, { readonly is: 'delivered' }>, url: string): Diagnosis {
  if (result.is === 'gone')
    return {
      what: 'wants nothing any more (HTTP 410)',
      next: 'let it answer 2xx, and start the service anew: it tells nothing more until then',
    }
  if (result.unanswered !== undefined) return diagnoseExchange(result.unanswered, url, SETTING)
  const status = result.reason.slice('http-'.length)
  return {
    what: say('answers HTTP {status}', { status }),
    next: 'look at its log, at EVENTS_SECRET (401, 403) and at the path in EVENTS_URL (3xx, 404, 405): events wait until it answers 2xx, three days at most',
  }
}
