import type { Logger } from 'pino'
import type { EventHandlers } from '../../events/events.ts'
import type { LogThrottles } from './throttles.ts'

/** Logs the data subscription, and the alerts that it brings; never a value of a device. */
export function logAlerts(log: Logger, { rarely }: Pick<LogThrottles, 'rarely'>): EventHandlers {
  return {
    'ddq-malformed'({ topic, fault, shape }) {
      const line = { event: 'ddq-malformed', topic, fault, shape }
      rarely.warn(`ddq/${topic}/${fault}`, line, 'a device message that cannot be used')
    },
    'ddq-subscribed'({ topics }) {
      log.info({ event: 'ddq', topics }, 'subscribed to device messages')
    },
    'ddq-topic-refused'({ topic, why }) {
      const line = { event: 'ddq', is: 'refused', topic, why }
      rarely.warn(`ddq/refused/${topic}`, line, 'the platform refuses this topic: nothing of it comes')
    },
    'ddq-ended'({ is, why, waitMs }) {
      const line = { event: 'ddq', is, why, wait_ms: waitMs }
      rarely.warn(`ddq/${is}/${why}`, line, 'no device messages: trying again')
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
      const line = { event: 'over-quota', channel, kind, quota }
      rarely.warn(`alert-quota/${channel}/${quota}`, line, 'a quota holds alerts back')
    },
    'alert-unrenderable'({ channel, kind, error }) {
      const line = { event: 'unrenderable', channel, kind, err: error.name }
      rarely.error(`alert-unrenderable/${channel}/${kind}`, line, 'look at the templates')
    },
    'alert-store-failed'({ doing, error }) {
      const line = { event: 'store', doing, err: error.name, message: error.message }
      rarely.error(`alert-store/${doing}`, line, 'the store cannot take alerts now: device messages wait')
    },
  }
}
