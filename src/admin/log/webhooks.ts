import type { Logger } from 'pino'
import type { EventHandlers } from '../../events/events.ts'
import type { LogThrottles } from './throttles.ts'

/** Logs how other machines are told; never the URL, which may hold a key. */
export function logWebhooks(log: Logger, { rarely }: Pick<LogThrottles, 'rarely'>): EventHandlers {
  return {
    'webhooks-posted'({ result, events, reason }) {
      const line = { event: 'webhooks', result, events, reason }
      if (result === 'delivered') log.debug(line, 'told')
      else if (result === 'gone')
        log.error(line, 'EVENTS_URL answers 410: it is told nothing more before the next start')
      else rarely.warn(`webhooks/${reason}`, line, 'EVENTS_URL took nothing: told again later')
    },
    'webhooks-dropped'({ count }) {
      rarely.error(
        'webhooks/dropped',
        { event: 'webhooks', result: 'dropped', events: count },
        'events were dropped untold: the oldest of too many, or too old',
      )
    },
    'webhooks-store-failed'({ error }) {
      const line = { event: 'store', doing: 'webhooks', err: error.name, message: error.message }
      rarely.error('webhooks/store', line, 'the store cannot be asked for events now')
    },
  }
}
