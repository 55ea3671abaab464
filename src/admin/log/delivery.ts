import type { Logger } from 'pino'
import type { EventHandlers, EventOf } from '../../events/events.ts'
import { isOperatorFault } from '../../providers/provider.ts'
import { describeFault } from './fault.ts'
import type { LogThrottles } from './throttles.ts'

/** Logs what becomes of messages, the store's failures, and bugs. */
export function logDelivery(log: Logger, { rarely, often }: LogThrottles): EventHandlers {
  return {
    attempt: event => logAttempt(log, rarely, event),
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
    'carrier-order'({ provider, isSecond, share }) {
      const line = {
        event: 'carrier-order',
        provider,
        second: isSecond,
        share: Math.round(share * 100) / 100,
      }
      if (isSecond) log.warn(line, 'asked second: its delivery reports are late or bad, or have stopped')
      else log.info(line, 'asked in its order again')
    },
    'store-failed'({ doing, error }) {
      const line = () => ({ event: 'store', doing, err: describeFault(error) })
      rarely.error(`store/${doing}`, line, 'the store cannot take it now')
    },
    'store-loss'({ messages, unsent, from, until }) {
      const [after, last] = [from, until].map(at => (at === null ? null : new Date(at).toISOString()))
      log.error(
        { event: 'store-loss', messages, unsent, after, until: last },
        'the store lacks messages, or ends of messages, that it had stored: its WAL was damaged or deleted, or an older file was put in its place',
      )
    },
    fault({ error }) {
      const err = describeFault(error)
      often.error(`fault/${err.type}`, { event: 'fault', err }, 'an unexpected fault')
    },
  }
}

function logAttempt(log: Logger, rarely: LogThrottles['rarely'], event: EventOf<'attempt'>): void {
  const { message, provider, outcome, attempts, tookMs } = event
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
  else if (isOperatorFault(outcome)) {
    // Loud, and once: what has to be mended is the same for every message.
    rarely.error(`mend/${provider}/${outcome.code}`, line, 'the provider refuses us: mend this')
  } else if (outcome.is === 'rejected') log.info(line, 'refused by the provider')
  else rarely.warn(`later/${provider}/${outcome.is}/${outcome.code}`, line, 'not sent yet')
}
