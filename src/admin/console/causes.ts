import type { ChannelStatus } from '../../delivery/port.ts'
import { joinSentences, type Sentence, say, translateText } from '../../language/sentence.ts'
import type { Channel } from '../../messages/message.ts'
import type { StoreLoss, Summary } from '../../outbox/outbox.ts'
import type { RefusedRenewal } from '../../tls/watch.ts'
import type { WebhooksStatus } from '../../webhooks/webhooks.ts'
import { describePartialFault } from '../explain.ts'
import type { HeldBack, LockedOut, ProviderStatus, ServiceHealth } from '../service-health.ts'
import type { DeviceAlertsStatus, ServiceView } from '../service-view.ts'
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
export const DAY = 86_400_000

/**
 * The lines that an operator needs first, the worst first; one line that all is well when it is.
 * @param summary of the last day; null: the store does not answer.
 */
export function causesOf(view: ServiceView, summary: Summary | null): readonly Cause[] {
  const now = view.now()
  const storeLoss = view.storeLoss()
  const deviceAlerts = view.deviceAlerts()
  const webhooks = view.webhooks()
  const causes = [
    ...(view.isDraining()
      ? [
          warn(
            'ending',
            say('This process is ending: it finishes what is in flight and takes nothing new soon.'),
          ),
        ]
      : []),
    ...storeCauses(view.health, summary, now),
    ...(storeLoss === null ? [] : [fail('store loss', lossLine(storeLoss))]),
    ...view.health
      .providers()
      .filter(({ up }) => !up)
      .map(provider => fail(provider.provider, downLine(provider, view.channelStatus(), now))),
    ...view
      .channelStatus()
      .flatMap(({ provider, partialFaults }) =>
        partialFaults.map(fault =>
          fail(`${provider} ${fault.scope} ${fault.name}`, describePartialFault(provider, fault)),
        ),
      ),
    ...view.channels.flatMap(channel => channelCauses(channel, view.health, summary, now)),
    ...view.borneFaults.map(({ name, problem, remedy = '' }) =>
      warn(
        name,
        say('{name} {problem}: {remedy}.', {
          name,
          problem: translateText(problem),
          remedy: translateText(remedy),
        }),
      ),
    ),
    ...certificateCauses(view, now),
    ...(deviceAlerts === null ? [] : deviceCauses(deviceAlerts)),
    ...(webhooks === null ? [] : webhookCauses(webhooks, now)),
    ...mailboxCauses(view.bounceMailbox(), now),
    ...(summary === null ? [] : bounceCauses(summary)),
    ...view
      .templateProblems()
      .map(problem =>
        warn(
          'words',
          say('Words: {problem}; the last good ones are used.', { problem: translateText(problem) }),
        ),
      ),
  ]
  if (causes.length === 0) return [{ level: 'ok', about: 'all', text: say('All is well.') }]
  return causes.sort((a, b) => Number(b.level === 'fail') - Number(a.level === 'fail'))
}

/** From this share of the mails of a day on, of this many at least, it is told that they come back. */
const MANY_BOUNCES = { share: 0.05, fewest: 20 }

function bounceCauses({ counts, bounced }: Summary): readonly Cause[] {
  const isSent = ({ channel, state }: Summary['counts'][number]) => channel === 'email' && state === 'sent'
  const sent = counts.filter(isSent).reduce((sum, { count }) => sum + count, 0)
  if (sent < MANY_BOUNCES.fewest || bounced.all < sent * MANY_BOUNCES.share) return []
  return [
    warn(
      'mails that came back',
      say(
        'Of {sent} mails of the last day, {n} came back. Look at their messages for the reasons: mailbox providers refuse all mail of whoever writes to many addresses that do not exist.',
        { sent, n: bounced.all },
      ),
    ),
  ]
}

/** A mail server that starts again is back within a minute; what takes longer needs somebody. */
function mailboxCauses(mailbox: ReturnType<ServiceView['bounceMailbox']>, now: number): readonly Cause[] {
  const failing = mailbox?.leads === true ? mailbox.failing : null
  if (failing === null || now - failing.since < LONG_MS) return []
  const said = { time: formatDuration(now - failing.since), reason: translateText(failing.reason) }
  return [
    warn(
      'bounces',
      say(
        'The mailbox that mails come back to cannot be read for {time}: {reason}. Look at BOUNCE_IMAP_URL.',
        said,
      ),
    ),
  ]
}

/** A receiver that starts again is back within a minute; what takes longer needs somebody. */
const TOLD_LATE_MS = 60_000

function webhookCauses({ leads, isGone, failing, waiting }: WebhooksStatus, now: number): readonly Cause[] {
  if (!leads || failing === null) return []
  if (isGone)
    return [
      warn(
        'events',
        say(
          'Other machines are told nothing more: EVENTS_URL answered 410. Start this service again when it takes events.',
        ),
      ),
    ]
  if (now - failing.since < TOLD_LATE_MS) return []
  return [
    warn(
      'events',
      say(
        'EVENTS_URL has taken nothing for {time} ({reason}). Events that wait: {n}. Look at the receiver, and at EVENTS_URL and EVENTS_SECRET.',
        { time: formatDuration(now - failing.since), reason: translateText(failing.reason), n: waiting },
      ),
    ),
  ]
}

function fail(about: string, text: Sentence): Cause {
  return { level: 'fail', about, text }
}

function warn(about: string, text: Sentence): Cause {
  return { level: 'warn', about, text }
}

function storeCauses(health: ServiceHealth, summary: Summary | null, now: number): readonly Cause[] {
  const failure = health.storeFailure()
  const unreadable = health.unreadable()
  const causes =
    unreadable === null || now - unreadable.lastAt > DAY
      ? []
      : [
          fail(
            'store content',
            say(
              'Messages that waited could not be read: {count} since the start, the last at {at}. What is stored of them was damaged or exchanged, and they were not sent. Check the disk, and who can write the store; Messages, state “Refused”, shows which. This line stays for a day.',
              { count: unreadable.count, at: clockTime(unreadable.lastAt) },
            ),
          ),
        ]
  if (summary === null)
    return [
      ...causes,
      fail(
        'store',
        say(
          'The store does not answer. Callbacks are answered 503 until it does: look at its disk (space, permissions) or at the database, then at the log.',
        ),
      ),
    ]
  if (failure === null || now - failure.at >= OLD_MS) return causes
  const { at, doing, message } = failure
  return [
    ...causes,
    fail(
      'store',
      say('The store could not {doing} at {at}: {message}. Callbacks are answered 503 meanwhile.', {
        doing,
        at: clockTime(at),
        message: translateText(message),
      }),
    ),
  ]
}

function lossLine({ messages, unsent, from, until, noticedAt }: StoreLoss): Sentence {
  const when =
    from === null
      ? say('until {until}', { until: clockTime(until) })
      : say('between {from} and {until}', { from: clockTime(from), until: clockTime(until) })
  return joinSentences(
    messages === 0
      ? say('Ends of messages that were written {when} are gone: what had been sent may be sent again.', {
          when,
        })
      : say(
          '{messages} messages that were stored {when} are gone; at most {unsent} of them had not been sent.',
          { messages, unsent, when },
        ),
    say(
      'The store’s WAL was damaged or deleted, or an older file was put in its place; the start at {at} found it out. docs/operations.md says what to do (CallbackCourierStoreLoss). This line stays for a day.',
      { at: clockTime(noticedAt) },
    ),
  )
}

function channelCauses(
  channel: Channel,
  health: ServiceHealth,
  summary: Summary | null,
  now: number,
): readonly Cause[] {
  const causes: Cause[] = []
  const lockedOut = health.lockedOut(channel)
  if (lockedOut !== null) causes.push(fail(`${channel} callbacks`, lockedOutLine(channel, lockedOut)))
  const oldest = summary?.oldest[channel] ?? null
  if (oldest !== null && now - oldest > OLD_MS)
    causes.push(
      warn(
        `${channel} waits`,
        backlogLine(channel, summary?.backlog[channel] ?? 1, formatDuration(now - oldest)),
      ),
    )
  causes.push(...quotaCauses(channel, health.heldBack(channel), now))
  const validation = health.validation(channel)
  if (validation !== null && !validation.ok)
    causes.push(
      warn(
        `${channel} URL`,
        say(
          'The last validation of the {channel} URL failed at {at}: {reason}. Paste URL and Token again (URLs), and validate once more.',
          {
            channel: channel === 'email' ? say('e-mail') : say('SMS'),
            at: clockTime(validation.at),
            reason: translateText(validation.reason),
          },
        ),
      ),
    )
  return causes
}

const MEND_LOCKOUT = {
  source: say(
    'Their address is not in ALLOWED_SOURCES: behind a new proxy set TRUSTED_PROXIES to its address, otherwise add the platform’s network.',
  ),
  signature: say(
    'They are not signed, or with another Token (POST_SIGNATURE=required): put the Token of the platform’s console into the settings, or set POST_SIGNATURE=observe.',
  ),
  stale: say('Their time is too far from ours: look at the clock of this machine.'),
} as const

function lockedOutLine(channel: Channel, { count, since, why }: LockedOut): Sentence {
  return joinSentences(
    say('Every {channel} callback with the right key is refused since {at}: {count} so far.', {
      channel: channel === 'email' ? say('e-mail') : say('SMS'),
      at: clockTime(since),
      count,
    }),
    MEND_LOCKOUT[why],
  )
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

/** A quota is shown as long as the alert CallbackCourierQuota lasts, ms. */
const HELD_BACK_MS = 15 * 60_000
/** Somebody who asks for a code six times is nobody's fault to mend, and happens daily. */
const OF_ONE_PERSON: ReadonlySet<string> = new Set(['recipient-10m', 'recipient-day'])

function quotaCauses(channel: Channel, held: readonly HeldBack[], now: number): readonly Cause[] {
  return held
    .filter(({ quota, lastAt }) => !OF_ONE_PERSON.has(quota) && now - lastAt < HELD_BACK_MS)
    .map(({ quota, count, lastAt }) =>
      warn(
        `${channel} ${quota}`,
        say(
          channel === 'email'
            ? 'The quota {quota} holds mails back: {count} since the start, the last at {at}. They were not sent, and callbacks for them are answered 429. If they are wanted, raise it: .env.example has the setting.'
            : 'The quota {quota} holds SMS back: {count} since the start, the last at {at}. They were not sent, and callbacks for them are answered 429. If they are wanted, raise it: .env.example has the setting.',
          { quota, count, at: clockTime(lastAt) },
        ),
      ),
    )
}

function certificateCauses(view: ServiceView, now: number): readonly Cause[] {
  const certificate = view.certificate()
  const renewalRefused = view.renewalRefused()
  if (certificate === null) return []
  const { expiresAt, flaws } = certificate
  const causes: Cause[] = []
  const left = expiresAt - view.wall()
  if (left < 0)
    causes.push(
      fail(
        'certificate',
        say(
          'The certificate expired on {at}: the platform refuses it. Renew it; it is picked up without a restart.',
          { at: clockTime(expiresAt) },
        ),
      ),
    )
  else if (left < 14 * DAY)
    causes.push(
      warn(
        'certificate',
        say('The certificate expires in {time}. Renew it; it is picked up without a restart.', {
          time: formatDuration(left),
        }),
      ),
    )
  if (renewalRefused !== null) causes.push(warn('renewal', refusedLine(renewalRefused, expiresAt, now)))
  for (const flaw of flaws)
    causes.push(warn('certificate', say('Certificate: {flaw}', { flaw: translateText(flaw) })))
  return causes
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

/** A connection that is lost comes back within seconds; what takes longer needs somebody. */
const LONG_MS = 60_000

function deviceCauses({ leads, subscribed, forMs, lastEnd, refused }: DeviceAlertsStatus): readonly Cause[] {
  if (!leads) return []
  const causes = refused.map(({ topic, why }) =>
    warn(
      'device alerts',
      say(
        'The platform refuses the topic {topic} ({why}): no device alert of it comes. Look at the product in ALERTS, and at what the application may subscribe to.',
        { topic, why: translateText(why) },
      ),
    ),
  )
  if (!subscribed && forMs > LONG_MS)
    causes.unshift(
      fail(
        'device alerts',
        say('No device alert has come for {time}: {why}. {next}', {
          time: formatDuration(forMs),
          why: lastEnd === null ? say('the platform has not answered yet') : describeEnd(lastEnd),
          next: whatToDo(lastEnd),
        }),
      ),
    )
  return causes
}

/** Says how a subscription ended. */
export function describeEnd({ is, why }: { readonly is: string; readonly why: string }): Sentence {
  return say('{is}, {why}', { is: translateText(is), why: translateText(why) })
}

function whatToDo(lastEnd: DeviceAlertsStatus['lastEnd']): Sentence {
  return lastEnd?.is === 'refused'
    ? say(
        'This is ours to mend: look at DDQ_APP_ID, DDQ_APP_SECRET and the topics in ALERTS; “check” tries the login.',
      )
    : say('It is tried again every 5 s: look at DDQ_HOST, DDQ_PORT and the network.')
}
