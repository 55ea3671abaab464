import type { Logger } from 'pino'
import type { ReceiptEvent } from '../callback/receipt-recorder.ts'
import { createLogThrottle } from '../runtime/log-throttle.ts'

/** Logs Twilio's delivery reports; those with a wrong signature once a minute. */
export function createReceiptLog(log: Logger, now: () => number): (receipt: ReceiptEvent) => void {
  const repeated = createLogThrottle(now)
  return ({ providerId, status, errorCode, result }) => {
    if (result === 'forged') {
      repeated('forged', times => {
        log.warn(
          { event: 'receipt', result, times },
          'a delivery report with a wrong signature: forged, or PUBLIC_URL or TWILIO_AUTH_TOKEN is not what Twilio has',
        )
      })
      return
    }
    const line = { event: 'receipt', provider_id: providerId, status, code: errorCode, result }
    if (result === 'recorded') log.info(line, status)
    else log.debug(line, result === 'stale' ? 'later than a newer one' : 'of a message that is not ours')
  }
}
