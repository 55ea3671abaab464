import type { BounceMailboxStatus } from '../bounces/mailbox.ts'
import type { AlertsStatus } from '../devices/alerts.ts'
import type { Emit } from '../events/events.ts'
import type { Places, Said, SentenceKey, Words } from '../language/sentence.ts'
import { Sentence, say, tell, tellAll, term, withRemedy } from '../language/sentence.ts'
import type { Channel } from '../messages/message.ts'
import { quotasOf } from '../messages/quotas.ts'
import type { StoreLoss, Summary } from '../outbox/outbox.ts'
import { adviceOn } from '../providers/diagnosis.ts'
import type { WebhooksStatus } from '../webhooks/webhooks.ts'
import { clockTime, describeReply, formatDuration } from './console/html.ts'
import { findNoneArrives } from './ends.ts'
import { describePartialFault, describeRest, mendReport } from './explain.ts'
import type { ProviderStatus } from './service-health.ts'
import type { ServiceView } from './service-view.ts'
import { readSummaryIfUp } from './status/status.ts'

/** Who has to mend something: the operator, or those whom this service asks. */
type Whose = 'ours' | 'theirs'

/** Where a kind of fact is told. Log and counters hear of it by events, each time; the log also when it begins and when it is over. */
interface Telling {
  /** `fail`: callbacks or messages fail. */
  readonly level: 'fail' | 'warn' | 'ok'
  /** Its name for programs, with names of its scope; the kind unless given. */
  readonly about?: string
  /** The gauge that states it. */
  readonly gauge?: string
  /** It is a line of the console and of the status API after so long, ms: at once unless given; null: it stands with its provider. */
  readonly lineAfterMs?: number | null
  /** False: `check` looks at it by itself; otherwise it says what the status API says. */
  readonly check?: false
  /** Its word under `degraded` of `/readyz`, and after how long, ms; at once unless given. */
  readonly degraded?: 'channel' | 'bounces' | 'certificate'
  readonly degradedAfterMs?: number
  /** `/readyz` has its sentence under `partial`. */
  readonly isPartial?: true
  /** False: the log has lines of its own about when it begins and when it is over. */
  readonly isLogged?: false
}

/** A connection that is lost, and a server that starts again, is back within a minute; what takes longer needs somebody. */
const LONG_MS = 60_000
export const DAY = 86_400_000

/** Every kind of fact. A new one is an entry here, its sentence, and where `findFacts` finds it. */
const KINDS = {
  // `check` and the start look at the setting.
  'only-to': { level: 'fail', about: 'ONLY_TO', gauge: 'only_to', check: false, isLogged: false },
  'probe-missing': { level: 'fail', about: '{channel} probe', gauge: 'probe_missing' },
  ending: { level: 'warn', isLogged: false },
  'store-content': { level: 'fail', about: 'store content' },
  'store-silent': { level: 'fail', about: 'store', gauge: 'store_up', check: false },
  'store-failed': { level: 'fail', about: 'store', check: false },
  'store-loss': { level: 'fail', about: 'store loss', gauge: 'store_lost_messages', isLogged: false },
  'provider-down': { level: 'fail', gauge: 'provider_up', degraded: 'channel' },
  'provider-rests': { level: 'fail', gauge: 'breaker_open', degraded: 'channel', lineAfterMs: null },
  'asked-second': { level: 'warn', gauge: 'carrier_second', lineAfterMs: null },
  'part-refused': { level: 'fail', gauge: 'partial_fault', isPartial: true, isLogged: false },
  'not-delivered': {
    level: 'fail',
    gauge: 'partial_fault',
    degraded: 'channel',
    isPartial: true,
    isLogged: false,
  },
  'delivered-late': { level: 'warn', gauge: 'delivered_late' },
  'none-arrives': { level: 'fail', gauge: 'none_arrives', degraded: 'channel', isPartial: true },
  'locked-out': {
    level: 'fail',
    about: '{channel} callbacks',
    gauge: 'locked_out_callbacks',
    degraded: 'channel',
  },
  // A code that waits this long is one that somebody gave up on.
  'messages-wait': { level: 'warn', about: '{channel} waits', lineAfterMs: LONG_MS },
  'quota-near': { level: 'warn', about: '{channel} {quota} near' },
  'quota-used-up': { level: 'warn', about: '{channel} {quota}' },
  'url-invalid': { level: 'warn', about: '{channel} URL' },
  'certificate-expired': { level: 'fail', about: 'certificate', degraded: 'certificate', check: false },
  'certificate-ends': { level: 'warn', about: 'certificate', check: false },
  'renewal-refused': {
    level: 'warn',
    about: 'renewal',
    gauge: 'certificate_renewal_refused',
    degraded: 'certificate',
    isLogged: false,
  },
  'certificate-flaw': { level: 'warn', about: 'certificate', check: false, isLogged: false },
  'alerts-away': { level: 'fail', about: 'device alerts', lineAfterMs: LONG_MS },
  'topic-refused': { level: 'warn', about: 'device alerts' },
  'receiver-gone': { level: 'warn', about: 'events' },
  'receiver-fails': { level: 'warn', about: 'events', lineAfterMs: LONG_MS },
  'group-not-told': { level: 'warn', about: '{robot}' },
  'bounces-unread': {
    level: 'warn',
    about: 'bounces',
    gauge: 'bounce_mailbox_failing_seconds',
    lineAfterMs: LONG_MS,
    degraded: 'bounces',
    degradedAfterMs: 5 * LONG_MS,
    isLogged: false,
  },
  'mails-came-back': { level: 'warn', about: 'mails that came back' },
  words: { level: 'warn', check: false, isLogged: false },
  // When there is no other.
  well: { level: 'ok', about: 'all', check: false },
} as const satisfies Readonly<Record<string, Telling>>
export type FactKind = keyof typeof KINDS
export const FACT_KINDS: Readonly<Record<FactKind, Telling>> = KINDS
/** `check` looks at these by itself, and says the others as the status API does. */
export const CHECKED_KINDS: ReadonlySet<string | undefined> = new Set(
  Object.entries(FACT_KINDS).flatMap(([kind, { check }]) => (check === false ? [kind] : [])),
)

/**
 * What each is, and what to do; those that are not here have their sentence where they are found. It may use the scope, `at` (since),
 * `time` (for how long), `count`, and what the fact gives.
 */
const TEXTS: Readonly<Partial<Record<FactKind, SentenceKey>>> = {
  'only-to':
    'ONLY_TO is set, with {count} entries: whatever is for anybody else is answered 0 and held, never sent. Remove it when the trial is over.',
  'probe-missing':
    'The daily code to PROBE_TO by {channel} has not arrived since {at}; what is known of it: {why}. “Messages” has the rest. This line ends when one arrives; what surely was not sent is tried again every five minutes.',
  ending: 'This process is ending: it finishes what is in flight and takes nothing new soon.',
  'store-content':
    'Messages that waited could not be read: {count} since the start, the last at {at}. What is stored of them was damaged or exchanged, and they were not sent. Check the disk, and who can write the store; Messages, state “Refused”, shows which. This line stays for a day.',
  'store-silent':
    'The store does not answer. Callbacks are answered 503 until it does: look at its disk (space, permissions) or at the database, then at the log.',
  'store-failed': 'The store could not {doing} at {at}: {message}. Callbacks are answered 503 meanwhile.',
  'store-loss': '{count} messages that were stored {when} are gone.',
  'provider-down': '{provider} has failed for {time}: {what}.',
  'asked-second': 'It is asked second, because its delivery reports are late or bad, or have stopped.',
  'delivered-late':
    'SMS by {provider} to {where} take {took} from the callback to the report that they were delivered, the middle of the latest 20; {usual} are usual. If it lasts, ask {provider}, or name another carrier first in SMS_ROUTES.',
  'none-arrives':
    'The last {count} {channel} messages by {who} all failed, to five people or more, since {at}. The latest reason: {what}. “Messages” has the reason of each; this line ends when one is sent (where delivery reports come: reported as delivered, or ten minutes old).',
  'locked-out': 'Every {channel} callback with the right key is refused since {at}: {count} so far.',
  'messages-wait': 'Messages by {channel} that wait: {count}, the oldest for {time}.',
  'quota-used-up':
    'The quota {quota} holds messages by {channel} back: {count} since the start, the last at {at}. They were not sent, and callbacks for them are answered 429. If they are wanted, raise it in QUOTAS.',
  'quota-near':
    'More than half of the quota {quota} is used up, as seen last at {at}. Look whether these messages are wanted; if they are, raise it in QUOTAS before it holds any back.',
  'url-invalid':
    'The last validation of the {channel} URL failed at {at}: {reason}. Paste URL and Token again (URLs), and validate once more.',
  'certificate-expired':
    'The certificate expired on {at}: the platform refuses it. Renew it; it is picked up without a restart.',
  'certificate-ends': 'The certificate expires in {time}. Renew it; it is picked up without a restart.',
  'renewal-refused':
    'The certificate’s files changed and have been refused for {time}, since {at}: {reason}.',
  'certificate-flaw': 'Certificate: {flaw}',
  'alerts-away': 'No device alert has come for {time}: {why}. {next}',
  'topic-refused':
    'The platform refuses the topic {topic} ({why}): no device alert of it comes. Look at the product in ALERTS, and at what the application may subscribe to.',
  'receiver-gone':
    'Other machines are told nothing more: EVENTS_URL answered 410. Start this service again when it takes events.',
  'receiver-fails':
    'EVENTS_URL has taken nothing for {time} ({reason}). Events that wait: {count}. Look at the receiver, and at EVENTS_URL and EVENTS_SECRET.',
  'group-not-told':
    'The group of {robot} has been told of no alarm since {at}: {reply}. Look at it in SMS_GATEWAYS_FILE. Mails and SMS go their own way.',
  'bounces-unread':
    'The mailbox that mails come back to cannot be read for {time}: {reason}. Look at BOUNCE_IMAP_URL.',
  'mails-came-back':
    'Of {sent} mails of the last day, {count} came back. Look at their messages for the reasons: mailbox providers refuse all mail of whoever writes to many addresses that do not exist.',
  words: 'Words: {problem}; the last good ones are used.',
  well: 'All is well.',
}

/** Something that the service knows of itself, and that somebody should know. */
export interface Fact {
  readonly kind: FactKind
  readonly level: 'fail' | 'warn' | 'ok'
  /** Its identity, which stays the same as long as it lasts. */
  readonly about: string
  /** The channel, provider and part that it concerns. Metrics have it as labels: never a recipient, a domain or a number. */
  readonly scope: Readonly<Record<string, string>>
  /** ms since the epoch; null: nobody knows. */
  readonly since: number | null
  /** How often it has happened, where that is counted. */
  readonly count: number | null
  readonly whose: Whose
  /** What it is, and what to do about it. */
  readonly text: Sentence
}

/** A fact that was found, without what its kind says of all of them. */
interface Found extends Partial<Omit<Fact, 'kind' | 'level' | 'text'>> {
  readonly kind: FactKind
  /** That of TEXTS unless given. */
  readonly text?: Said
  /** Sentences behind it. */
  readonly more?: readonly (Said | null)[]
  /** What they give a place to, beside what each may use. */
  readonly values?: Places
}
type Facts = Generator<Found, void>

const CHANNEL_WORDS = { email: say('e-mail'), sms: say('SMS') } as const

function tellFact({ kind, values, more = [], text, ...found }: Found, now: number): Fact {
  const { level, about = kind } = FACT_KINDS[kind]
  const { scope = {}, since = null, count = null } = found
  const inPlaces = {
    ...scope,
    ...(scope['channel'] && { channel: CHANNEL_WORDS[scope['channel'] as Channel] }),
    ...(since !== null && { at: clockTime(since), time: formatDuration(now - since) }),
    ...(count !== null && { count }),
    ...values,
  }
  return {
    kind,
    level,
    about: new Sentence(about, scope).toString(),
    scope,
    since,
    count,
    whose: 'ours',
    ...found,
    text: tellAll([text ?? TEXTS[kind] ?? null, ...more], inPlaces),
  }
}

/**
 * Everything that the service knows of itself and somebody should know.
 * @param summary of the last day; null: the store does not answer; undefined: it was not asked.
 */
export function listFacts(view: ServiceView, summary?: Summary | null): readonly Fact[] {
  const now = view.now()
  return [...findFacts(view, summary, now)].map(found => tellFact(found, now))
}

/**
 * The lines that an operator needs first, the worst first; one line that all is well when it is.
 * @param summary of the last day; null: the store does not answer.
 */
export function firstLines(view: ServiceView, summary: Summary | null): readonly Fact[] {
  const lines = listLines(view, summary)
  if (lines.length === 0) return [tellFact({ kind: 'well' }, view.now())]
  return lines.sort((a, b) => Number(b.level === 'fail') - Number(a.level === 'fail'))
}

function listLines(view: ServiceView, summary?: Summary | null): Fact[] {
  return listFacts(view, summary).filter(fact => {
    const { lineAfterMs = 0 } = FACT_KINDS[fact.kind]
    return lineAfterMs !== null && lasts(fact, lineAfterMs, view.now())
  })
}

/** Makes the function that looks what has begun since the last look, and what is over. @param asksStore also of what only the store knows */
export function createFactWatch(view: ServiceView, emit: Emit): (asksStore?: boolean) => Promise<void> {
  let before = new Map<string, Fact>()
  const tellNew = (is: 'begun' | 'over', facts: typeof before, known: typeof before) => {
    for (const [name, { kind, level, about, scope, whose }] of facts)
      if (!known.has(name)) emit({ type: 'fact', is, kind, level, about, scope, whose })
  }
  return async (asksStore = true) => {
    const summary = asksStore ? await readSummaryIfUp(view, view.now() - DAY) : null
    // What only the store knows goes on while it is not asked, or does not answer.
    const unknown = summary === null ? [...before].filter(([, { kind }]) => OF_STORE.has(kind)) : []
    const logged = listLines(view, summary ?? undefined).filter(
      ({ kind }) => FACT_KINDS[kind].isLogged !== false,
    )
    const now = new Map([...unknown, ...logged.map(fact => [`${fact.kind} ${fact.about}`, fact] as const)])
    tellNew('begun', now, before)
    tellNew('over', before, now)
    before = now
  }
}
const OF_STORE: ReadonlySet<FactKind> = new Set(['none-arrives', 'messages-wait', 'mails-came-back'])

/** Says whether a fact has lasted for so long, ms. */
export function lasts({ since }: Fact, ms: number, now: number): boolean {
  return ms === 0 || (since !== null && now - since >= ms)
}

function* findFacts(view: ServiceView, summary: Summary | null | undefined, now: number): Facts {
  if (view.onlyTo > 0) yield { kind: 'only-to', count: view.onlyTo }
  for (const { channel, since, why } of view.probeFailures())
    yield { kind: 'probe-missing', scope: { channel }, since, values: { why: tell(why) } }
  if (view.isDraining()) yield { kind: 'ending' }
  yield* storeFacts(view, summary === null, now)
  yield* providerFacts(view, now)
  for (const channel of view.channels) yield* channelFacts(channel, view, summary ?? null, now)
  yield* certificateFacts(view)
  yield* deviceFacts(view.deviceAlerts(), now)
  yield* webhookFacts(view.webhooks())
  // What is refused is told at once; a group that takes too many posts takes them again soon; and after a day without an alarm nobody knows.
  for (const { robot, fault, until } of view.robots())
    if (fault !== null && now - until <= DAY && (fault.isRefused || now - fault.since >= LONG_MS))
      yield {
        kind: 'group-not-told',
        scope: { robot },
        since: fault.since,
        values: { reply: describeReply(fault) },
      }
  yield* mailFacts(view.bounceMailbox(), summary ?? null)
  for (const problem of view.templateProblems()) yield { kind: 'words', values: { problem: tell(problem) } }
}

/** For so long it is told that the store could not do something, ms. */
const FAILED_MS = 60_000

function* storeFacts({ health, storeLoss }: ServiceView, isSilent: boolean, now: number): Facts {
  const failure = health.storeFailure()
  const unreadable = health.unreadable()
  const loss = storeLoss()
  if (unreadable !== null && now - unreadable.lastAt <= DAY)
    yield { kind: 'store-content', count: unreadable.count, values: { at: clockTime(unreadable.lastAt) } }
  if (isSilent) yield { kind: 'store-silent' }
  else if (failure !== null && now - failure.at < FAILED_MS)
    yield {
      kind: 'store-failed',
      since: failure.at,
      values: { doing: term(failure.doing), message: tell(failure.message) },
    }
  if (loss !== null) yield lossFact(loss)
}

function lossFact({ messages, from, until, noticedAt }: StoreLoss): Found {
  const when =
    from === null
      ? say('until {until}', { until: clockTime(until) })
      : say('between {from} and {until}', { from: clockTime(from), until: clockTime(until) })
  return {
    kind: 'store-loss',
    ...(messages === 0 && {
      text: 'Ends of messages that were written {when} are gone: what had been sent may be sent again.',
    }),
    since: noticedAt,
    count: messages,
    values: { when },
    more: [
      'The store’s WAL was damaged or deleted, or an older file was put in its place; the start at {at} found it out. docs/operations.md says what to do (CallbackCourierStoreLoss). This line stays for a day.',
    ],
  }
}

const SECOND_FOR_COUNTRY =
  'For SMS to {country} it is asked second, because its delivery reports are late or bad, or have stopped.'

function* providerFacts({ health, channelStatus, deliveryTimes }: ServiceView, now: number): Facts {
  const carriers = channelStatus()
  const resting = new Set(
    carriers.flatMap(({ breaker, provider }) => (breaker === 'closed' ? [] : [provider])),
  )
  for (const { provider, channel, up, since, lastError } of health.providers()) {
    if (up) continue
    const isOurs = lastError?.whose === 'ours'
    const hasOther = carriers.some(
      each => each.channel === channel && each.provider !== provider && !resting.has(each.provider),
    )
    yield {
      kind: 'provider-down',
      about: provider,
      scope: { channel, provider },
      since,
      whose: isOurs ? 'ours' : 'theirs',
      values: { what: lastError === null ? say('it does not answer') : describeReply(lastError) },
      more: [
        isOurs
          ? (adviceOn(lastError ?? {}) ??
            'This is ours to mend: look at its settings, and at the money and the limits of its account.')
          : null,
        hasOther
          ? 'Messages go to another carrier of their route; those without one wait, and are tried until they expire.'
          : isOurs
            ? null
            : 'Messages wait and are tried until they expire.',
        resting.has(provider) ? 'It is tried by one message at a time.' : null,
      ],
    }
  }
  for (const { channel, provider, breakerUntil, secondIn, partialFaults } of carriers) {
    if (resting.has(provider))
      yield {
        kind: 'provider-rests',
        scope: { channel, provider },
        text: describeRest(provider, breakerUntil, now),
      }
    for (const country of secondIn)
      yield {
        kind: 'asked-second',
        scope: { channel, provider, country },
        ...(country !== '' && { text: SECOND_FOR_COUNTRY }),
      }
    for (const time of deliveryTimes())
      if (time.provider === provider && time.isSlow)
        yield {
          kind: 'delivered-late',
          about: `${provider} ${time.country || 'all'} late`,
          scope: { channel, provider, country: time.country },
          values: {
            where: time.country || say('all countries'),
            took: formatDuration(time.latestMs),
            usual: formatDuration(time.usualMs ?? 0),
          },
        }
    for (const fault of partialFaults) {
      const { scope, name, since, recipients } = fault
      const by = recipients === undefined ? 'answer' : 'report'
      const part = by === 'answer' && scope === 'template' ? fault.kind : name
      const others = carriers.filter(
        each =>
          each.channel === channel &&
          each.breaker === 'closed' &&
          !each.partialFaults.some(other => other.scope === scope && other.kind === fault.kind),
      )
      yield {
        kind: by === 'answer' ? 'part-refused' : 'not-delivered',
        about: `${provider} ${scope} ${name}`,
        scope: { channel, provider, by, scope, name: part },
        since,
        count: recipients ?? null,
        text: describePartialFault(channel, provider, fault),
        ...(by === 'answer' &&
          scope === 'template' && {
            values: { name, others: others.map(each => each.provider).join(', ') },
            more: [
              'The template’s code is {name}.',
              others.length > 0
                ? 'Instead they go by {others}, where the route names it.'
                : 'No other carrier sends instead: these messages wait, and expire.',
              mendReport(channel, { verdict: 'ours', scope }),
            ],
          }),
      }
    }
  }
}

/** A quota is shown as long as the alert CallbackCourierQuota lasts, ms. */
const QUOTA_SHOWN_MS = 15 * 60_000
/** Somebody who asks for a code six times is nobody's fault to mend, and happens daily. */
const OF_ONE_PERSON: ReadonlySet<string> = new Set(quotasOf('email', 'recipient'))

const MEND_LOCKOUT = {
  source:
    'Their address is not in ALLOWED_SOURCES: behind a new proxy set TRUSTED_PROXIES to its address, otherwise add the platform’s network.',
  signature:
    'They are not signed, or with another Token (POST_SIGNATURE=required): put the Token of the platform’s console into the settings, or set POST_SIGNATURE=observe.',
  stale: 'Their time is too far from ours: look at the clock of this machine.',
} as const

const WHOLE_COMPANY =
  'The last was for {to}: when a whole company signs up there, raise it in QUOTAS for that day.'

function* channelFacts(
  channel: Channel,
  { health, channelStatus }: ServiceView,
  summary: Summary | null,
  now: number,
): Facts {
  const { lockedOut, nearing, heldBack, validation } = health.ofChannel(channel)
  const scope = { channel }
  if (lockedOut !== null) {
    const { count, since, why } = lockedOut
    yield { kind: 'locked-out', scope, since, count, more: [MEND_LOCKOUT[why]] }
  }
  const since = summary?.oldest[channel] ?? null
  if (summary !== null && since !== null) {
    const count = summary.backlog[channel]
    const own = health.providers().filter(each => each.channel === channel)
    yield {
      kind: 'messages-wait',
      scope,
      since,
      count,
      more: own.map(each => ownFault(each, since)),
    }
  }
  const ended = summary?.ended.filter(each => each.channel === channel) ?? []
  const carriers = channelStatus().filter(each => each.channel === channel)
  for (const provider of [undefined, ...carriers.map(each => each.provider)]) {
    const found = findNoneArrives(ended, provider, now)
    if (found === null) continue
    const values = { who: provider ?? say('any carrier'), what: describeReply(found.told) }
    yield {
      kind: 'none-arrives',
      about: `${provider ?? channel} ends`,
      scope: { channel, ...(provider !== undefined && { provider }) },
      since: found.since,
      count: found.count,
      values,
    }
    if (provider === undefined) break
  }
  const usedUp = heldBack.filter(({ lastAt }) => now - lastAt < QUOTA_SHOWN_MS)
  for (const { quota, lastAt, to } of nearing)
    if (now - lastAt < QUOTA_SHOWN_MS && !usedUp.some(each => each.quota === quota))
      yield {
        kind: 'quota-near',
        scope: { channel, quota },
        values: { at: clockTime(lastAt), to },
        more: [quota === 'signup-domain-hour' ? WHOLE_COMPANY : null],
      }
  for (const { quota, count, lastAt } of usedUp)
    if (!OF_ONE_PERSON.has(quota))
      yield {
        kind: 'quota-used-up',
        scope: { channel, quota },
        count,
        values: { at: clockTime(lastAt) },
      }
  if (validation !== null && !validation.ok)
    yield {
      kind: 'url-invalid',
      scope,
      since: validation.at,
      values: { reason: tell(validation.reason) },
    }
}

/** What of ours keeps messages waiting though the provider works: none of its templates fits. */
function ownFault({ up, lastError }: ProviderStatus, since: number): Sentence | null {
  if (!up || lastError === null || lastError.whose !== 'ours' || lastError.at < since) return null
  return say('The last error is ours to mend: {what}.', { what: describeReply(lastError) })
}

/** A certificate is renewed before that. */
const RENEWED_BEFORE_MS = 14 * DAY

function* certificateFacts(view: ServiceView): Facts {
  const certificate = view.certificate()
  const refused = view.renewalRefused()
  if (certificate === null) return
  const { expiresAt, flaws } = certificate
  const remainingMs = expiresAt - view.wall()
  if (remainingMs <= 0) yield { kind: 'certificate-expired', since: expiresAt }
  else if (remainingMs < RENEWED_BEFORE_MS)
    yield { kind: 'certificate-ends', values: { time: formatDuration(remainingMs) } }
  if (refused !== null)
    yield {
      kind: 'renewal-refused',
      since: refused.since,
      values: { reason: tell(refused.reason), end: clockTime(expiresAt) },
      more: [
        remainingMs > 0
          ? 'The one before is served on, and is valid until {end}.'
          : 'The one before is served on, and has expired.',
        'Put a certificate and its key into both files: they are taken within half a minute, without a restart.',
      ],
    }
  for (const flaw of flaws)
    yield { kind: 'certificate-flaw', values: { flaw: withRemedy(flaw.sentence, flaw.remedy) } }
}

function* deviceFacts(alerts: AlertsStatus | null, now: number): Facts {
  if (alerts?.leads !== true) return
  const { subscribed, forMs, lastEnd, refused } = alerts
  const isOurs = lastEnd?.is === 'refused'
  if (!subscribed)
    yield {
      kind: 'alerts-away',
      since: now - forMs,
      whose: isOurs ? 'ours' : 'theirs',
      values: {
        why: lastEnd === null ? say('the platform has not answered yet') : describeEnd(lastEnd),
        next: isOurs
          ? say(
              'This is ours to mend: look at DDQ_APP_ID, DDQ_APP_SECRET and the topics in ALERTS; “check” tries the login.',
            )
          : say('It is tried again every 5 s: look at DDQ_URL and the network.'),
      },
    }
  for (const { topic, why } of refused) yield { kind: 'topic-refused', values: { topic, why: tell(why) } }
}

/** Says how a subscription ended. */
export function describeEnd({ is, why }: { readonly is: string; readonly why: Words }): Sentence {
  return say('{is}, {why}', { is: term(is), why: tell(why) })
}

function* webhookFacts(status: WebhooksStatus | null): Facts {
  if (status?.leads !== true || status.failing === null) return
  const { since, reason } = status.failing
  if (status.isGone) yield { kind: 'receiver-gone', since }
  else
    yield {
      kind: 'receiver-fails',
      since,
      count: status.waiting,
      values: { reason: term(reason) },
    }
}

/** From this share of the mails of a day on, of this many at least, it is told that they come back. */
const MANY_BOUNCES = { share: 0.05, fewest: 20 }

function* mailFacts(mailbox: BounceMailboxStatus | null, summary: Summary | null): Facts {
  const failing = mailbox?.leads === true ? mailbox.failing : null
  if (failing !== null)
    yield { kind: 'bounces-unread', since: failing.since, values: { reason: tell(failing.reason) } }
  if (summary === null) return
  const { counts, bounced } = summary
  const isSent = ({ channel, state }: Summary['counts'][number]) => channel === 'email' && state === 'sent'
  const sent = counts.filter(isSent).reduce((sum, { count }) => sum + count, 0)
  if (sent >= MANY_BOUNCES.fewest && bounced >= sent * MANY_BOUNCES.share)
    yield { kind: 'mails-came-back', count: bounced, values: { sent } }
}
