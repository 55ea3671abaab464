import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Config } from '../../config/config.ts'
import { type CheckResult, ok, warn } from '../../runtime/check-result.ts'

/** The time that a server says it is, ms since the epoch; null when it cannot be asked, or does not say. */
export type ReadServerDate = (url: string) => Promise<number | null>

const WITHIN_MS = 4000
/** A Date header has whole seconds, and was on its way for a while. */
const UNSURE_MS = 5000

/** Asks for nothing; whatever is answered has a Date (RFC 9110, 6.6.1). */
export const readServerDate: ReadServerDate = url =>
  new Promise(resolve => {
    const ask = url.startsWith('https:') ? httpsRequest : httpRequest
    const request = ask(url, { method: 'HEAD', timeout: WITHIN_MS, agent: false }, response => {
      response.resume()
      const at = Date.parse(response.headers.date ?? '')
      resolve(Number.isNaN(at) ? null : at)
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(null))
    request.end()
  })

/**
 * This machine's clock beside Twilio's. One that is wrong makes fresh signatures look old, and certificates not yet
 * valid or expired.
 */
export async function checkClock(
  config: Config,
  dateAt: ReadServerDate,
  now: () => number,
): Promise<readonly CheckResult[]> {
  // Without SMS there is nobody to ask whom this service asks anyway.
  if (config.SMS_TOKEN === undefined) return []
  const theirs = await dateAt(config.TWILIO_API_URL)
  if (theirs === null) return []
  const aheadMs = now() - theirs
  if (Math.abs(aheadMs) <= UNSURE_MS) return [ok('clock', "agrees with Twilio's")]
  const seconds = Math.round(Math.abs(aheadMs) / 1000)
  return [
    warn(
      'clock',
      `is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} Twilio's`,
      'let the machine keep its time by NTP (timedatectl set-ntp true)',
    ),
  ]
}
