import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Config } from '../../config/config.ts'
import { modulesOf } from '../../providers/list.ts'
import { type CheckResult, checkOk, checkWarning } from '../../runtime/check-result.ts'

/** Asks a server for its time, ms since the epoch; null when it does not answer or sends no Date. */
export type ReadServerDate = (url: string) => Promise<number | null>

const WITHIN_MS = 4000
/** A Date header has whole seconds and takes a while to arrive: a smaller difference says nothing. */
const TOLERANCE_MS = 5000

/** Sends a HEAD request: any answer has a Date (RFC 9110, 6.6.1). */
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
 * Compares this machine's clock with that of the first SMS carrier in use. A wrong clock makes new signatures look old, and
 * certificates not yet valid or expired.
 */
export async function checkClock(
  config: Config,
  dateAt: ReadServerDate,
  now: () => number,
): Promise<readonly CheckResult[]> {
  // Only a server that the service calls anyway is asked, and without SMS there is none.
  if (config.SMS_TOKEN === undefined) return []
  for (const { name, clockUrl } of modulesOf(config)) {
    const url = clockUrl?.(config)
    const serverTime = url === undefined ? null : await dateAt(url)
    if (serverTime !== null) return [compareClocks(now() - serverTime, name)]
  }
  return []
}

function compareClocks(aheadMs: number, carrier: string): CheckResult {
  if (Math.abs(aheadMs) <= TOLERANCE_MS) return checkOk('clock', `agrees with that of ${carrier}`)
  const seconds = Math.round(Math.abs(aheadMs) / 1000)
  return checkWarning(
    'clock',
    `is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of ${carrier}`,
    'let the machine keep its time by NTP (timedatectl set-ntp true)',
  )
}
