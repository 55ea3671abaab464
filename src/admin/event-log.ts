import type { Logger } from 'pino'
import { ERR_CODES } from '../callback/answers.ts'
import type { ReceiverObserver } from '../callback/receive.ts'
import type { RouteObserver } from '../callback/routes.ts'
import type { SignatureNews } from '../callback/signature-statistics.ts'
import type { DeliveryObserver } from '../delivery/delivery.ts'
import { type PresentableFault, presentableFault } from '../runtime/fault.ts'
import { createLogThrottle } from '../runtime/log-throttle.ts'
import { DUPLICATE_LABELS } from './metrics.ts'

/** Everything that the parts tell about what they do; logs, metrics and the console's figures are made from it. */
export interface Observer extends RouteObserver, Omit<ReceiverObserver, 'storeFailed'>, DeliveryObserver {}

/** Lines a minute for callbacks that were let in and refused, of one channel and err_code. */
const REFUSED_A_MINUTE = 60

/**
 * Writes the log: one line for every callback that was let in and one for every final state, tied by the message's id.
 * Refused strangers, quotas and a store that fails are counted and said once a minute, callbacks that were let in and
 * refused at most sixty times a minute, so that nobody can make the log grow by a line a request. No line holds a
 * recipient in full, a code, a link, a key or a URL.
 */
export function createEventLog(log: Logger, now: () => number): Observer {
  const repeated = createLogThrottle(now)
  const sparing = createLogThrottle(now, REFUSED_A_MINUTE)

  return {
    callback({ channel, method, kind, answer, admission, ids, tookMs }) {
      const line = {
        event: 'callback',
        channel,
        method,
        kind,
        err_code: answer.err_code,
        ms: Math.round(tookMs * 10) / 10,
        ids,
        signature: admission.signature,
        ...(admission.ok && admission.outdated ? { outdated: true } : {}),
      }
      if (!admission.ok) {
        repeated(`refused/${channel}/${method}/${admission.reason}`, times => {
          log.warn({ ...line, reason: admission.reason, times }, `${method} refused: ${answer.err_msg}`)
        })
      } else if (answer.err_code === 0) log.info(line, answer.err_msg === '' ? 'accepted' : answer.err_msg)
      else if (answer.err_code === ERR_CODES.unavailable) {
        repeated(`held/${channel}`, times => log.warn({ ...line, times }, answer.err_msg))
      } else if (answer.err_code !== ERR_CODES.quota) {
        // What a quota holds back has a line of its own, below.
        sparing(`${channel}/${answer.err_code}`, times => log.warn({ ...line, times }, answer.err_msg))
      }
    },
    stray({ answer }) {
      repeated(`stray/${answer.err_code}`, times => {
        log.info({ event: 'stray', err_code: answer.err_code, times }, 'asked for something that is not here')
      })
    },
    fault({ error }) {
      const err = told(error)
      sparing(`fault/${err.type}`, times => log.error({ event: 'fault', err, times }, 'an unexpected fault'))
    },
    overQuota({ channel, kind, quota }) {
      repeated(`quota/${channel}/${quota}`, times => {
        log.warn({ event: 'over-quota', channel, kind, quota, times }, 'a quota holds messages back')
      })
    },
    nearQuota({ channel, quota }) {
      repeated(`near/${quota}`, times => {
        log.warn(
          { event: 'near-quota', channel, quota, times },
          'more than half of a brake is used up: look whether these messages are wanted, or raise it',
        )
      })
    },
    duplicate({ channel, kind, is }) {
      log.debug(
        { event: 'twin', channel, kind, is: DUPLICATE_LABELS[is] },
        'the same message again: nothing new is sent',
      )
    },
    superseded({ id, channel, kind }) {
      log.info({ event: 'final', id, channel, kind, state: 'superseded' }, 'superseded by a newer code')
    },
    unrenderable({ channel, kind, error }) {
      repeated(`unrenderable/${channel}/${kind}`, times => {
        log.error({ event: 'unrenderable', channel, kind, err: told(error), times }, 'look at the templates')
      })
    },
    attempt({ message, provider, outcome, attempts, tookMs }) {
      const line = {
        event: 'attempt',
        id: message.id,
        channel: message.channel,
        kind: message.kind,
        to: message.masked,
        provider,
        outcome: outcome.is,
        attempts,
        ms: Math.round(tookMs),
        reply: outcome.reply,
        ...(outcome.is === 'sent' ? {} : { code: outcome.code }),
      }
      if (outcome.is === 'sent') log.debug(line, 'sent')
      else if (outcome.is === 'retry' && outcome.whose === 'ours') {
        // Loud, and once: what has to be mended is the same for every message.
        repeated(`mend/${provider}/${outcome.code}`, times =>
          log.error({ ...line, times }, 'the provider refuses us: mend this'),
        )
      } else if (outcome.is === 'rejected') log.info(line, 'refused by the provider')
      else
        repeated(`later/${provider}/${outcome.is}/${outcome.code}`, times =>
          log.warn({ ...line, times }, 'not sent yet'),
        )
    },
    final({ id, channel, kind, state, answer, tookMs, providerId }) {
      const line = {
        event: 'final',
        id,
        channel,
        kind,
        state,
        ...(answer === null ? {} : { why: answer }),
        ...(tookMs === undefined ? {} : { ms: Math.round(tookMs) }),
        ...(providerId === undefined ? {} : { provider_id: providerId }),
      }
      if (state === 'expired' || state === 'unknown') log.warn(line, state)
      else log.info(line, state)
    },
    breaker({ channel, provider, state, reason }) {
      if (state === 'open')
        log.error(
          { event: 'breaker', channel, provider, state, reason },
          'left alone for a while: it keeps failing',
        )
      else log.info({ event: 'breaker', channel, provider, state }, 'works again')
    },
    storeFailed({ doing, error }) {
      repeated(`store/${doing}`, times => {
        log.error({ event: 'store', doing, err: told(error), times }, 'the store cannot take it now')
      })
    },
  }
}

/** Tells the operator what the POSTs' signatures say about POST_SIGNATURE. */
export function logSignatureNews(log: Logger, news: SignatureNews): void {
  if (news.is === 'required-is-safe') {
    log.info(
      { event: 'signatures', advice: 'required' },
      'every POST came signed and right for a while: POST_SIGNATURE=required would be safe',
    )
  } else if (news.is === 'no-longer-safe') {
    log.warn(
      { event: 'signatures', advice: 'observe', channel: news.channel, signature: news.came },
      'a POST came that POST_SIGNATURE=required would have refused: keep observe',
    )
  } else {
    log.info(
      { event: 'signatures', advice: 'observe', channel: news.channel },
      'the platform does not sign its POSTs: keep observe, and name its networks in ALLOWED_SOURCES',
    )
  }
}

/** A fault as it may be said; the two that are no surprise explain themselves in words of ours. */
function told(error: Error): PresentableFault & { readonly message?: string } {
  const ours = error.name === 'StoreUnavailable' || error.name === 'BacklogFull'
  return { ...presentableFault(error), ...(ours ? { message: error.message } : {}) }
}
