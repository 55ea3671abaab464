import type { ChannelStatus } from '../../delivery/port.ts'
import type { Channel } from '../../messages/message.ts'
import type { StoreLoss, Summary } from '../../outbox/outbox.ts'
import type { ProviderStatus, ServiceHealth } from '../service-health.ts'
import { type DeviceAlertsStatus, deviceCauses } from './devices.ts'
import { clockTime, describeReply, span } from './layout.ts'

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
  readonly channelStatus: readonly ChannelStatus[]
  readonly channels: readonly Channel[]
  readonly certificate: { readonly expiresAt: number; readonly flaws: readonly string[] } | null
  /** Why the certificate's files are not what is served. */
  readonly renewalRefused: { readonly since: number; readonly reason: string } | null
  /** What the store was found to lack at a start within the last day. */
  readonly storeLoss: StoreLoss | null
  readonly templateProblems: readonly string[]
  /** How the data subscription does; null when there are no device alerts. */
  readonly deviceAlerts: DeviceAlertsStatus | null
  readonly draining: boolean
}

/** A code that waits this long is one that somebody gave up on. */
const OLD_MS = 60_000
const DAY = 86_400_000

/** The lines that an operator needs first, the worst first; one line that all is well when it is. */
export function causesOf(sources: CauseSources): readonly Cause[] {
  const { now, health, channelStatus, channels, deviceAlerts } = sources
  const causes = [
    ...(sources.draining
      ? [warn('ending', 'This process is ending: it finishes what is in flight and takes nothing new soon.')]
      : []),
    ...storeCauses(sources),
    ...(sources.storeLoss === null ? [] : [fail('store loss', lossLine(sources.storeLoss))]),
    ...health
      .providers()
      .filter(({ up }) => !up)
      .map(provider => fail(provider.provider, downLine(provider, channelStatus, now))),
    ...channels.flatMap(channel => channelCauses(channel, sources)),
    ...certificateCauses(sources),
    ...(deviceAlerts === null ? [] : deviceCauses(deviceAlerts)).map(cause => ({
      ...cause,
      about: 'device alerts',
    })),
    ...sources.templateProblems.map(problem =>
      warn('words', `Words: ${problem}; the last good ones are used.`),
    ),
  ]
  if (causes.length === 0) return [{ level: 'ok', about: 'all', text: 'All is well.' }]
  return causes.sort((a, b) => Number(b.level === 'fail') - Number(a.level === 'fail'))
}

function fail(about: string, text: string): Cause {
  return { level: 'fail', about, text }
}

function warn(about: string, text: string): Cause {
  return { level: 'warn', about, text }
}

function storeCauses({ now, summary, health }: CauseSources): readonly Cause[] {
  const failure = health.storeFailure()
  if (summary === null)
    return [
      fail(
        'store',
        'The store does not answer. Callbacks are answered 503 until it does: look at its disk (space, permissions) or at the database, then at the log.',
      ),
    ]
  if (failure === null || now - failure.at >= OLD_MS) return []
  const { at, doing, message } = failure
  return [
    fail(
      'store',
      `The store could not ${doing} at ${clockTime(at)}: ${message}. Callbacks are answered 503 meanwhile.`,
    ),
  ]
}

function lossLine({ messages, unsent, from, until, noticedAt }: StoreLoss): string {
  const span =
    from === null ? `until ${clockTime(until)}` : `between ${clockTime(from)} and ${clockTime(until)}`
  const what =
    messages === 0
      ? `Ends of messages that were written ${span} are gone: what had been sent may be sent again.`
      : `${messages} messages that were stored ${span} are gone; at most ${unsent} of them had not been sent.`
  return `${what} The store’s WAL was damaged or deleted, or an older file was put in its place; the start at ${clockTime(noticedAt)} found it out. docs/operations.md says what to do (CallbackCourierStoreLoss). This line stays for a day.`
}

function channelCauses(channel: Channel, { now, summary, health }: CauseSources): readonly Cause[] {
  const causes: Cause[] = []
  const oldest = summary?.oldest[channel] ?? null
  if (oldest !== null && now - oldest > OLD_MS)
    causes.push(
      warn(
        `${channel} waits`,
        `${summary?.backlog[channel] ?? 0} ${channel === 'email' ? 'mails wait' : 'SMS wait'}, the oldest for ${span(now - oldest)}.`,
      ),
    )
  const validation = health.validation(channel)
  if (validation !== null && !validation.ok)
    causes.push(
      warn(
        `${channel} URL`,
        `The last validation of the ${channel} URL failed at ${clockTime(validation.at)}: ${validation.reason}. Paste URL and Token again (URLs), and validate once more.`,
      ),
    )
  return causes
}

function certificateCauses({ now, certificate, renewalRefused }: CauseSources): readonly Cause[] {
  if (certificate === null) return []
  const { expiresAt, flaws } = certificate
  const causes: Cause[] = []
  const days = Math.floor((expiresAt - now) / DAY)
  const renew = 'it is picked up without a restart.'
  if (days < 0)
    causes.push(
      fail(
        'certificate',
        `The certificate expired on ${clockTime(expiresAt)}: the platform refuses it. Renew it; ${renew}`,
      ),
    )
  else if (days < 14)
    causes.push(warn('certificate', `The certificate expires in ${days} days. Renew it; ${renew}`))
  if (renewalRefused !== null) causes.push(warn('renewal', refusedLine(renewalRefused, expiresAt, now)))
  for (const flaw of flaws)
    causes.push(warn('certificate', flaw.startsWith('the ') ? `T${flaw.slice(1)}` : `Certificate: ${flaw}`))
  return causes
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
  channelStatus: readonly ChannelStatus[],
  now: number,
): string {
  const circuitOpen = channelStatus.some(each => each.channel === channel && each.breaker !== 'closed')
  const what = lastError === null ? 'does not answer' : describeReply(lastError)
  const whose =
    lastError?.whose === 'ours'
      ? 'This is ours to mend: look at its settings and account.'
      : 'Messages wait and are tried until they expire.'
  return `${provider} has failed for ${span(now - since)}: ${what}. ${whose}${circuitOpen ? ' It is tried by one message at a time.' : ''}`
}
