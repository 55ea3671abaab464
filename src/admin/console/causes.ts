import type { ChannelStatus } from '../../delivery/port.ts'
import type { AlertsStatus } from '../../devices/alerts.ts'
import {
  type InPlaces,
  joinSentences,
  type Sentence,
  type SentenceKey,
  say,
  translateText,
} from '../../language/sentence.ts'
import type { Channel } from '../../messages/message.ts'
import { quotasOf } from '../../messages/quotas.ts'
import type { StoreLoss, Summary } from '../../outbox/outbox.ts'
import type { RefusedRenewal } from '../../tls/watch.ts'
import type { WebhooksStatus } from '../../webhooks/webhooks.ts'
import { describePartialFault } from '../explain.ts'
import type { ChannelHealth, ProviderStatus, ServiceHealth } from '../service-health.ts'
import type { ServiceView } from '../service-view.ts'
import { clockTime, describeReply, formatDuration } from './html.ts'

/** One line that says what is wrong, since when, and what to do. */
export interface Cause {
  readonly level: 'fail' | 'warn' | 'ok'
  /** Its identity, which stays the same as long as it lasts. */
  readonly about: string
  readonly text: Sentence
}

/** A code that waits this long is one that somebody gave up on. */
const OLD_MS = 60_000
/** A connection that is lost, and a server that starts again, is back within a minute; what takes longer needs somebody. */
const LONG_MS = 60_000
export const DAY = 86_400_000

/**
 * The lines that an operator needs first, the worst first; one line that all is well when it is.
 * @param summary of the last day; null: the store does not answer.
 */
export function causesOf(view: ServiceView, summary: Summary | null): readonly Cause[] {
  const causes = [...findCauses(view, summary)]
  if (causes.length === 0) return [{ level: 'ok', about: 'all', text: say('All is well.') }]
  return causes.sort((a, b) => Number(b.level === 'fail') - Number(a.level === 'fail'))
}

type Causes = Generator<Cause, void>

/** Makes what says that something is wrong, in a sentence of the word files. */
const causeOf =
  (level: 'fail' | 'warn') =>
  <K extends SentenceKey>(about: string, key: K, ...values: InPlaces<K>): Cause => ({
    level,
    about,
    text: say(key, ...values),
  })
const fail = causeOf('fail')
const warn = causeOf('warn')

function* findCauses(view: ServiceView, summary: Summary | null): Causes {
  const now = view.now()
  const { health } = view
  if (view.isDraining())
    yield warn('ending', 'This process is ending: it finishes what is in flight and takes nothing new soon.')
  yield* storeCauses(health, summary, now)
  const loss = view.storeLoss()
  if (loss !== null) yield { level: 'fail', about: 'store loss', text: lossLine(loss) }
  const channelStatus = view.channelStatus()
  for (const each of health.providers())
    if (!each.up) yield { level: 'fail', about: each.provider, text: downLine(each, channelStatus, now) }
  for (const each of channelStatus)
    for (const fault of each.partialFaults)
      yield {
        level: 'fail',
        about: `${each.provider} ${fault.scope} ${fault.name}`,
        text: describePartialFault(each, fault),
      }
  for (const channel of view.channels) yield* channelCauses(channel, health, summary, now)
  yield* certificateCauses(view, now)
  const deviceAlerts = view.deviceAlerts()
  if (deviceAlerts !== null) yield* deviceCauses(deviceAlerts)
  const webhooks = view.webhooks()
  if (webhooks !== null) yield* webhookCauses(webhooks, now)
  yield* robotCauses(health, now)
  yield* mailboxCauses(view.bounceMailbox(), now)
  if (summary !== null) yield* bounceCauses(summary)
  for (const problem of view.templateProblems())
    yield warn('words', 'Words: {problem}; the last good ones are used.', {
      problem: translateText(problem),
    })
}

/** From this share of the mails of a day on, of this many at least, it is told that they come back. */
const MANY_BOUNCES = { share: 0.05, fewest: 20 }

function* bounceCauses({ counts, bounced }: Summary): Causes {
  const isSent = ({ channel, state }: Summary['counts'][number]) => channel === 'email' && state === 'sent'
  const sent = counts.filter(isSent).reduce((sum, { count }) => sum + count, 0)
  if (sent >= MANY_BOUNCES.fewest && bounced >= sent * MANY_BOUNCES.share)
    yield warn(
      'mails that came back',
      'Of {sent} mails of the last day, {n} came back. Look at their messages for the reasons: mailbox providers refuse all mail of whoever writes to many addresses that do not exist.',
      { sent, n: bounced },
    )
}

function* mailboxCauses(mailbox: ReturnType<ServiceView['bounceMailbox']>, now: number): Causes {
  const failing = mailbox?.leads === true ? mailbox.failing : null
  if (failing !== null && now - failing.since >= LONG_MS)
    yield warn(
      'bounces',
      'The mailbox that mails come back to cannot be read for {time}: {reason}. Look at BOUNCE_IMAP_URL.',
      { time: formatDuration(now - failing.since), reason: translateText(failing.reason) },
    )
}

function* webhookCauses({ leads, isGone, failing, waiting }: WebhooksStatus, now: number): Causes {
  if (!leads || failing === null) return
  if (isGone)
    yield warn(
      'events',
      'Other machines are told nothing more: EVENTS_URL answered 410. Start this service again when it takes events.',
    )
  else if (now - failing.since >= LONG_MS)
    yield warn(
      'events',
      'EVENTS_URL has taken nothing for {time} ({reason}). Events that wait: {n}. Look at the receiver, and at EVENTS_URL and EVENTS_SECRET.',
      { time: formatDuration(now - failing.since), reason: translateText(failing.reason), n: waiting },
    )
}

/** A group that takes too many posts takes them again soon; and after a day without an alarm nobody knows. */
function* robotCauses(health: ServiceHealth, now: number): Causes {
  for (const { robot, since, lastAt, code, reply } of health.failingRobots())
    if (now - since >= LONG_MS && now - lastAt <= DAY)
      yield warn(
        robot,
        'The group of {robot} has been told of no alarm for {time}: {reply}. Look at it in SMS_GATEWAYS_FILE. Mails and SMS go their own way.',
        { robot, time: formatDuration(now - since), reply: describeReply({ code, reply }) },
      )
}

function* storeCauses(health: ServiceHealth, summary: Summary | null, now: number): Causes {
  const failure = health.storeFailure()
  const unreadable = health.unreadable()
  if (unreadable !== null && now - unreadable.lastAt <= DAY)
    yield fail(
      'store content',
      'Messages that waited could not be read: {count} since the start, the last at {at}. What is stored of them was damaged or exchanged, and they were not sent. Check the disk, and who can write the store; Messages, state “Refused”, shows which. This line stays for a day.',
      { count: unreadable.count, at: clockTime(unreadable.lastAt) },
    )
  if (summary === null)
    yield fail(
      'store',
      'The store does not answer. Callbacks are answered 503 until it does: look at its disk (space, permissions) or at the database, then at the log.',
    )
  else if (failure !== null && now - failure.at < OLD_MS)
    yield fail(
      'store',
      'The store could not {doing} at {at}: {message}. Callbacks are answered 503 meanwhile.',
      { doing: failure.doing, at: clockTime(failure.at), message: translateText(failure.message) },
    )
}

function lossLine({ messages, from, until, noticedAt }: StoreLoss): Sentence {
  const when =
    from === null
      ? say('until {until}', { until: clockTime(until) })
      : say('between {from} and {until}', { from: clockTime(from), until: clockTime(until) })
  return joinSentences(
    messages === 0
      ? say('Ends of messages that were written {when} are gone: what had been sent may be sent again.', {
          when,
        })
      : say('{messages} messages that were stored {when} are gone.', { messages, when }),
    say(
      'The store’s WAL was damaged or deleted, or an older file was put in its place; the start at {at} found it out. docs/operations.md says what to do (CallbackCourierStoreLoss). This line stays for a day.',
      { at: clockTime(noticedAt) },
    ),
  )
}

function* channelCauses(
  channel: Channel,
  health: ServiceHealth,
  summary: Summary | null,
  now: number,
): Causes {
  const { lockedOut, heldBack, validation } = health.ofChannel(channel)
  if (lockedOut !== null)
    yield { level: 'fail', about: `${channel} callbacks`, text: lockedOutLine(channel, lockedOut) }
  const oldest = summary?.oldest[channel] ?? null
  if (oldest !== null && now - oldest > OLD_MS)
    yield {
      level: 'warn',
      about: `${channel} waits`,
      text: joinSentences(
        backlogLine(channel, summary?.backlog[channel] ?? 1, formatDuration(now - oldest)),
        ...health.providers().map(each => (each.channel === channel ? ownFault(each, oldest) : null)),
      ),
    }
  for (const { quota, count, lastAt } of heldBack)
    if (!OF_ONE_PERSON.has(quota) && now - lastAt < HELD_BACK_MS)
      yield warn(
        `${channel} ${quota}`,
        channel === 'email'
          ? 'The quota {quota} holds mails back: {count} since the start, the last at {at}. They were not sent, and callbacks for them are answered 429. If they are wanted, raise it in QUOTAS.'
          : 'The quota {quota} holds SMS back: {count} since the start, the last at {at}. They were not sent, and callbacks for them are answered 429. If they are wanted, raise it in QUOTAS.',
        { quota, count, at: clockTime(lastAt) },
      )
  if (validation !== null && !validation.ok)
    yield warn(
      `${channel} URL`,
      'The last validation of the {channel} URL failed at {at}: {reason}. Paste URL and Token again (URLs), and validate once more.',
      {
        channel: CHANNELS[channel],
        at: clockTime(validation.at),
        reason: translateText(validation.reason),
      },
    )
}

const CHANNELS = { email: say('e-mail'), sms: say('SMS') } as const
/** A quota is shown as long as the alert CallbackCourierQuota lasts, ms. */
const HELD_BACK_MS = 15 * 60_000
/** Somebody who asks for a code six times is nobody's fault to mend, and happens daily. */
const OF_ONE_PERSON: ReadonlySet<string> = new Set(quotasOf('email', 'recipient'))

const MEND_LOCKOUT = {
  source: say(
    'Their address is not in ALLOWED_SOURCES: behind a new proxy set TRUSTED_PROXIES to its address, otherwise add the platform’s network.',
  ),
  signature: say(
    'They are not signed, or with another Token (POST_SIGNATURE=required): put the Token of the platform’s console into the settings, or set POST_SIGNATURE=observe.',
  ),
  stale: say('Their time is too far from ours: look at the clock of this machine.'),
} as const

function lockedOutLine(
  channel: Channel,
  { count, since, why }: NonNullable<ChannelHealth['lockedOut']>,
): Sentence {
  return joinSentences(
    say('Every {channel} callback with the right key is refused since {at}: {count} so far.', {
      channel: CHANNELS[channel],
      at: clockTime(since),
      count,
    }),
    MEND_LOCKOUT[why],
  )
}

/** What of ours keeps messages waiting though the provider works: none of its templates fits. */
function ownFault({ up, lastError }: ProviderStatus, since: number): Sentence | null {
  if (!up || lastError === null || lastError.whose !== 'ours' || lastError.at < since) return null
  return say('The last error is ours to mend: {what}.', { what: describeReply(lastError) })
}

function backlogLine(channel: Channel, count: number, time: Sentence): Sentence {
  if (count === 1)
    return say(channel === 'email' ? '1 mail has waited for {time}.' : '1 SMS has waited for {time}.', {
      time,
    })
  return say(
    channel === 'email'
      ? '{count} mails wait, the oldest for {time}.'
      : '{count} SMS wait, the oldest for {time}.',
    { count, time },
  )
}

function* certificateCauses(view: ServiceView, now: number): Causes {
  const certificate = view.certificate()
  const renewalRefused = view.renewalRefused()
  if (certificate === null) return
  const { expiresAt, flaws } = certificate
  const left = expiresAt - view.wall()
  if (left < 0)
    yield fail(
      'certificate',
      'The certificate expired on {at}: the platform refuses it. Renew it; it is picked up without a restart.',
      { at: clockTime(expiresAt) },
    )
  else if (left < 14 * DAY)
    yield warn(
      'certificate',
      'The certificate expires in {time}. Renew it; it is picked up without a restart.',
      { time: formatDuration(left) },
    )
  if (renewalRefused !== null)
    yield { level: 'warn', about: 'renewal', text: refusedLine(renewalRefused, expiresAt, now) }
  for (const flaw of flaws) yield warn('certificate', 'Certificate: {flaw}', { flaw: translateText(flaw) })
}

function refusedLine({ since, reason }: RefusedRenewal, expiresAt: number, now: number): Sentence {
  return joinSentences(
    say('The certificate’s files changed and have been refused for {time}, since {at}: {reason}.', {
      time: formatDuration(now - since),
      at: clockTime(since),
      reason: translateText(reason),
    }),
    expiresAt > now
      ? say('The one before is served on, and is valid until {at}.', { at: clockTime(expiresAt) })
      : say('The one before is served on, and has expired.'),
    say(
      'Put a certificate and its key into both files: they are taken within half a minute, without a restart.',
    ),
  )
}

function downLine(
  { provider, channel, since, lastError }: ProviderStatus,
  channelStatus: readonly ChannelStatus[],
  now: number,
): Sentence {
  const isOurs = lastError?.whose === 'ours'
  const isOpen = (each: ChannelStatus) => each.breaker !== 'closed'
  const others = channelStatus.filter(each => each.channel === channel && each.provider !== provider)
  const what = lastError === null ? say('it does not answer') : describeReply(lastError)
  return joinSentences(
    say('{provider} has failed for {time}: {what}.', { provider, time: formatDuration(now - since), what }),
    isOurs
      ? say('This is ours to mend: look at its settings, and at the money and the limits of its account.')
      : null,
    others.some(each => !isOpen(each))
      ? say(
          'Messages go to another carrier of their route; those without one wait, and are tried until they expire.',
        )
      : isOurs
        ? null
        : say('Messages wait and are tried until they expire.'),
    channelStatus.some(each => each.provider === provider && isOpen(each))
      ? say('It is tried by one message at a time.')
      : null,
  )
}

function* deviceCauses({ leads, subscribed, forMs, lastEnd, refused }: AlertsStatus): Causes {
  if (!leads) return
  if (!subscribed && forMs > LONG_MS)
    yield fail('device alerts', 'No device alert has come for {time}: {why}. {next}', {
      time: formatDuration(forMs),
      why: lastEnd === null ? say('the platform has not answered yet') : describeEnd(lastEnd),
      next:
        lastEnd?.is === 'refused'
          ? say(
              'This is ours to mend: look at DDQ_APP_ID, DDQ_APP_SECRET and the topics in ALERTS; “check” tries the login.',
            )
          : say('It is tried again every 5 s: look at DDQ_URL and the network.'),
    })
  for (const { topic, why } of refused)
    yield warn(
      'device alerts',
      'The platform refuses the topic {topic} ({why}): no device alert of it comes. Look at the product in ALERTS, and at what the application may subscribe to.',
      { topic, why: translateText(why) },
    )
}

/** Says how a subscription ended. */
export function describeEnd({ is, why }: { readonly is: string; readonly why: string }): Sentence {
  return say('{is}, {why}', { is: translateText(is), why: translateText(why) })
}
