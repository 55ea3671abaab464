import type { ChannelStatus } from '../../delivery/port.ts'
import type { Channel } from '../../messages/message.ts'
import type { Summary } from '../../outbox/outbox.ts'
import type { ProviderStatus, ServiceHealth } from '../service-health.ts'
import { type DevicesStanding, deviceCauses } from './devices.ts'
import { clockTime, span, spoken } from './layout.ts'

/** One line that says what is wrong, since when, and what to do. */
export interface Cause {
  readonly level: 'fail' | 'warn' | 'ok'
  /** What it is about: the same as long as it lasts. */
  readonly about: string
  readonly text: string
}

export interface CauseSources {
  readonly now: number
  /** null when the store does not answer. */
  readonly summary: Summary | null
  readonly health: Pick<ServiceHealth, 'providers' | 'validation' | 'storeFailure' | 'signatures'>
  readonly lanes: readonly ChannelStatus[]
  readonly channels: readonly Channel[]
  readonly certificate: { readonly expiresAt: number; readonly flaws: readonly string[] } | null
  /** Why the certificate's files are not what is served. */
  readonly renewalRefused: { readonly since: number; readonly reason: string } | null
  readonly templateProblems: readonly string[]
  /** How the data subscription does; null when there are no device alerts. */
  readonly devices: DevicesStanding | null
  readonly draining: boolean
}

/** A code that waits this long is one that somebody gave up on. */
const OLD_MS = 60_000
const DAY = 86_400_000

/** What an operator has to know first, the worst first; one line that all is well when it is. */
export function causesOf(sources: CauseSources): readonly Cause[] {
  const { now, summary, health, lanes, channels, certificate } = sources
  const causes: Cause[] = []
  const fail = (about: string, text: string) => causes.push({ level: 'fail', about, text })
  const warn = (about: string, text: string) => causes.push({ level: 'warn', about, text })

  if (sources.draining)
    warn('ending', 'This process is ending: it finishes what is in flight and takes nothing new soon.')
  const failure = health.storeFailure()
  if (summary === null)
    fail(
      'store',
      'The store does not answer. Callbacks are answered 503 until it does: look at its disk (space, permissions) or at the database, then at the log.',
    )
  else if (failure !== null && now - failure.at < OLD_MS)
    fail(
      'store',
      `The store could not ${failure.doing} at ${clockTime(failure.at)}: ${failure.message}. Callbacks are answered 503 meanwhile.`,
    )
  for (const provider of health.providers())
    if (!provider.up) fail(provider.provider, downLine(provider, lanes, now))
  for (const channel of channels) {
    const oldest = summary?.oldest[channel] ?? null
    if (oldest !== null && now - oldest > OLD_MS) {
      warn(
        `${channel} waits`,
        `${summary?.backlog[channel] ?? 0} ${channel === 'email' ? 'mails wait' : 'SMS wait'}, the oldest for ${span(now - oldest)}.`,
      )
    }
    const validation = health.validation(channel)
    if (validation !== null && !validation.ok) {
      warn(
        `${channel} URL`,
        `The last validation of the ${channel} URL failed at ${clockTime(validation.at)}: ${validation.reason}. Paste URL and Token again (URLs), and validate once more.`,
      )
    }
  }
  if (certificate !== null) {
    const days = Math.floor((certificate.expiresAt - now) / DAY)
    if (days < 0)
      fail(
        'certificate',
        `The certificate expired on ${clockTime(certificate.expiresAt)}: the platform refuses it. Renew it; it is picked up without a restart.`,
      )
    else if (days < 14)
      warn(
        'certificate',
        `The certificate expires in ${days} days. Renew it; it is picked up without a restart.`,
      )
    if (sources.renewalRefused !== null)
      warn('renewal', refusedLine(sources.renewalRefused, certificate.expiresAt, now))
    for (const flaw of certificate.flaws)
      warn('certificate', flaw.startsWith('the ') ? `T${flaw.slice(1)}` : `Certificate: ${flaw}`)
  }
  if (sources.devices !== null)
    for (const { level, text } of deviceCauses(sources.devices))
      causes.push({ level, about: 'device alerts', text })
  for (const problem of sources.templateProblems)
    warn('words', `Words: ${problem}; the last good ones are used.`)
  if (causes.length === 0) causes.push({ level: 'ok', about: 'all', text: 'All is well.' })
  return causes.sort((a, b) => Number(b.level === 'fail') - Number(a.level === 'fail'))
}

function refusedLine(
  { since, reason }: { readonly since: number; readonly reason: string },
  expiresAt: number,
  now: number,
): string {
  return `The certificate’s files changed and have been refused for ${span(now - since)}, since ${clockTime(since)}: ${reason}. The one before is served on${expiresAt > now ? `, and is valid until ${clockTime(expiresAt)}` : ', and has expired'}. Put a certificate and its key into both files: they are taken within half a minute, without a restart.`
}

function downLine(
  { provider, channel, since, lastError }: ProviderStatus,
  lanes: readonly ChannelStatus[],
  now: number,
): string {
  const resting = lanes.some(lane => lane.channel === channel && lane.breaker !== 'closed')
  const what = lastError === null ? 'does not answer' : spoken(lastError)
  const whose =
    lastError?.whose === 'ours'
      ? 'This is ours to mend: look at its settings and account.'
      : 'Messages wait and are tried until they expire.'
  return `${provider} has failed for ${span(now - since)}: ${what}. ${whose}${resting ? ' It is tried by one message at a time.' : ''}`
}
