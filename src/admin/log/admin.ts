import type { Logger } from 'pino'
import type { EventHandlers } from '../../events/events.ts'
import type { LogThrottles } from './throttles.ts'

/** Logs who was refused at the private listener, and what operators do in the console. */
export function logAdmin(log: Logger, { rarely }: Pick<LogThrottles, 'rarely'>): EventHandlers {
  return {
    'admin-refused'({ reason }) {
      // Every browser comes without a password first.
      if (reason === 'no-token') return
      rarely.warn(
        `admin-refused/${reason}`,
        { event: 'console-refused', reason },
        'somebody was not let in to the private listener',
      )
    },
    'operator-backup'({ operator }) {
      log.info({ event: 'operator', operator, did: 'backup' }, 'a copy of the store was taken')
    },
    'operator-action'({ operator, action, channel, kind, ids }) {
      log.info({ event: 'operator', operator, did: action, channel, kind, ids }, `${action} in the console`)
    },
  }
}
