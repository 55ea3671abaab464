import type { Logger } from 'pino'
import type { EventHandlers } from '../../events/events.ts'
import { logAdmin } from './admin.ts'
import { logAlerts } from './alerts.ts'
import { logCallbacks } from './callbacks.ts'
import { logDelivery } from './delivery.ts'
import { createLogThrottles } from './throttles.ts'
import { logWebhooks } from './webhooks.ts'

/**
 * Writes the log: one line for every callback that was authenticated and one for every final state, tied by the
 * message's id. Refused strangers, quotas and a store that fails are counted and logged once a minute; authenticated
 * callbacks that were refused at most sixty times a minute. No line holds a recipient in full, a code, a link, a key
 * or a URL.
 * @param now ms; only differences count.
 */
export function createEventLog(log: Logger, now: () => number): EventHandlers {
  const throttles = createLogThrottles(log, now)
  return {
    ...logCallbacks(log, throttles),
    ...logDelivery(log, throttles),
    ...logAlerts(log, throttles),
    ...logAdmin(log, throttles),
    ...logWebhooks(log, throttles),
  }
}
