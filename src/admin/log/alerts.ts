import type { Logger } from 'pino'
import type { EventHandlers } from '../../events/events.ts'
import type { LogThrottles } from './throttles.ts'

/** Logs the data subscription, and the alerts that it brings; never a value of a device. */
export function logAlerts(log: Logger, { rarely }: Pick<LogThrottles, 'rarely'>): EventHandlers {
  return {
    'ddq-malformed'({ topic, fault, shape }) {
      rarely(`ddq/${topic}/${fault}`, times => {
        log.warn(
          { event: 'ddq-malformed', topic, fault, shape, times },
          'a device message that cannot be used',
        )
      })
    },
    'ddq-subscribed'({ topics }) {
      log.info({ event: 'ddq', topics }, 'subscribed to device messages')
    },
    'ddq-topic-refused'({ topic, why }) {
      rarely(`ddq/refused/${topic}`, times => {
        log.warn(
          { event: 'ddq', is: 'refused', topic, why, times },
          'the platform refuses this topic: nothing of it comes',
        )
      })
    },
    'ddq-ended'({ is, why, waitMs }) {
      rarely(`ddq/${is}/${why}`, times => {
        log.warn({ event: 'ddq', is, why, wait_ms: waitMs, times }, 'no device messages: trying again')
      })
    },
    'ddq-leader'({ leads }) {
      log.info(
        { event: 'ddq', leads },
        leads ? 'this process watches the devices' : 'another process watches the devices',
      )
    },
    'alert-sent'({ id, channel, kind, to, device }) {
      log.info({ event: 'alert', id, channel, kind, to, device }, 'an alert is queued')
    },
    'alert-suppressed'({ why, channel, kind }) {
      log.debug({ event: 'alert', channel, kind, why }, 'an alert is suppressed')
    },
    'alert-over-quota'({ channel, kind, quota }) {
      rarely(`alert-quota/${channel}/${quota}`, times => {
        log.warn({ event: 'over-quota', channel, kind, quota, times }, 'a quota holds alerts back')
      })
    },
    'alert-unrenderable'({ channel, kind, error }) {
      rarely(`alert-unrenderable/${channel}/${kind}`, times => {
        log.error({ event: 'unrenderable', channel, kind, err: error.name, times }, 'look at the templates')
      })
    },
    'alert-store-failed'({ doing, error }) {
      rarely(`alert-store/${doing}`, times => {
        log.error(
          { event: 'store', doing, err: error.name, message: error.message, times },
          'the store cannot take alerts now: device messages wait',
        )
      })
    },
  }
}
