import type { Config } from '../../config/config.ts'
import { type CheckResult, ok, warn } from './finding.ts'

/**
 * Whether Twilio can report what becomes of an SMS.
 * @param url where it would; null: it cannot.
 */
export function checkReceipts(config: Config, url: string | null): readonly CheckResult[] {
  if (config.SMS_TOKEN === undefined) return []
  if (url !== null) return [ok('receipts', `Twilio reports what becomes of each SMS to ${url}`)]
  const off = 'off: nobody will know whether an SMS reached its phone'
  if (config.TWILIO_AUTH_TOKEN === undefined)
    return [
      warn(
        'receipts',
        `${off}. Only an API key is set, and Twilio signs its reports with the Auth Token`,
        'set TWILIO_AUTH_TOKEN beside the API key; SMS are sent with the key all the same',
      ),
    ]
  return [warn('receipts', `${off}. Twilio is not told where to report`, 'set PUBLIC_URL')]
}
