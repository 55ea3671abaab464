import { PART_REFUSED_CODE } from '../delivery/carrier.ts'
import type { PartialFault } from '../events/events.ts'
import type { Places, Said, Sentence, SentenceKey } from '../language/sentence.ts'
import { say, tell, tellAll, term, unpackWords } from '../language/sentence.ts'
import type { Channel, FaultScope } from '../messages/message.ts'
import type { AttemptRecord, MessageView, ReportFault } from '../outbox/outbox.ts'
import { adviceOn } from '../providers/diagnosis.ts'
import { isOursToMend } from '../providers/provider.ts'
import { clockTime, describeRecord, describeReply, formatDuration } from './console/html.ts'
import type { ChannelCalls, ProviderView } from './status/status.ts'

/** An explanation of what became of a message, and the next step. */
export interface Explanation {
  readonly what: Sentence
  readonly next: Sentence
}

/** The same, before it is told. */
interface Found {
  readonly what: readonly (Said | null)[]
  readonly next: Said
  /** Of the places of both. */
  readonly values?: Places
}

/**
 * Answers "why did this person not get it?" from a message.
 * @param providers of every channel, as they are now. @param now ms since the epoch.
 */
export function explainMessage(
  row: MessageView,
  providers: readonly ProviderView[],
  now: number,
): Explanation {
  const { what, next, values } = findExplanation(row, providers, now)
  return { what: tellAll(what, values), next: tellAll([next], values) }
}

function findExplanation(row: MessageView, providers: readonly ProviderView[], now: number): Found {
  switch (row.state) {
    case 'queued':
      return explainWaiting(row, providers, now)
    case 'sending':
      return {
        what: ['It is being sent at this moment.'],
        next: 'Look again in a few seconds. A mail server may take minutes for its last reply.',
      }
    case 'sent':
      return explainSent(row)
    case 'refused':
      return explainRefused(row)
    case 'expired':
      return {
        what: ['No provider took it before its life ended at {at}.', lastReply(row)],
        next:
          row.timeline.length === 0
            ? 'The person has to ask for a new one. The first lines of the overview say whether its provider fails.'
            : 'The person has to ask for a new one. What the reply names may need repair first.',
        values: { at: clockTime(row.expiresAt) },
      }
    case 'superseded':
      return explainSuperseded(row)
    case 'unknown':
      return {
        what: ['It may have arrived: an attempt got no usable reply, and no further one could be made.'],
        next: 'Ask the provider by the id, or the mail server by the Message-ID, which begins with the id.',
      }
    case 'held':
      return {
        what: [
          'ONLY_TO held it: it does not name this recipient. The platform was answered 0, and nothing was sent.',
        ],
        next: 'Name the recipient in ONLY_TO, or remove it when the trial is over. The person has to ask for a new one.',
      }
  }
}

function explainRefused({ timeline, answer }: MessageView): Found {
  const last = timeline.at(-1)
  if (last?.code === 'UNREADABLE') return UNREADABLE
  const refused = REFUSED[answer ?? 'content']
  return { ...refused, next: adviceOf(last) ?? refused.next }
}

function explainSuperseded({ timeline, ambiguous }: MessageView): Found {
  if (timeline.at(-1)?.outcome === 'cancelled')
    return { what: ['An operator cancelled it here.'], next: 'The log says who: event “operator”.' }
  return {
    what: [
      ambiguous > 0
        ? 'It may have arrived. A newer code for the same person came, so it is not sent again; only the newest counts.'
        : 'A newer code for the same person came before this one left; only the newest counts.',
    ],
    next: 'Look at the newer message of the same recipient.',
  }
}

/**
 * Says when a message that waits is tried next, and why not before: while all carriers of its channel are left alone, only a trial
 * begins, whatever is due.
 * @param now ms since the epoch.
 */
export function nextAttempt(
  { channel, dueAt, attempts }: MessageView,
  providers: readonly ProviderView[],
  now: number,
): {
  /** ms since the epoch; null: nobody knows when, or it is due already. */
  readonly at: number | null
  /** The same in words, to follow "is tried again". */
  readonly due: Sentence
  /** Why a provider holds it up; null: none does. */
  readonly why: Sentence | null
  readonly lastError?: ProviderView['lastError']
} {
  const carriers = providers.filter(each => each.channel === channel)
  const pauses = carriers.flatMap(each => pauseOf(each, now) ?? [])
  // One carrier that takes messages is enough.
  const pause = pauses.length < carriers.length ? null : (pauses.sort((a, b) => a.until - b.until)[0] ?? null)
  if (dueAt !== null && dueAt > Math.max(now, pause?.until ?? now))
    return { at: dueAt, due: say('in {time}', { time: formatDuration(dueAt - now) }), why: null }
  if (pause !== null) return { ...pause, at: null, due: say('when {provider} takes messages again', pause) }
  return { at: null, due: attempts === 0 ? say('now') : say('when its turn comes'), why: null }
}

const PART: { readonly [S in PartialFault['scope']]?: SentenceKey } = {
  template: '{provider} refuses the template of {kind} since {at}: {what}.',
  sender: '{provider} refuses the sender {name} since {at}: {what}.',
  country: '{provider} refuses the country {name} since {at}: {what}.',
}

/** Says what a provider refuses, or takes and does not deliver, and since when. */
export function describePartialFault(channel: Channel, provider: string, fault: PartialFault): Sentence {
  const { scope, name, kind, since, recipients } = fault
  const values = { provider, name, kind: term(kind), at: clockTime(since), what: describeReply(fault) }
  if (recipients !== undefined)
    return tellAll(
      [
        '{provider} took messages that did not arrive, since {at}, of {n} recipients so far: {what}.',
        mendReport(channel, { verdict: 'ours', scope: scope === 'carrier' ? 'account' : scope }),
      ],
      { ...values, n: recipients },
    )
  if (scope === 'sender' && name === '')
    return say('{provider} refuses the sender of all messages since {at}: {what}.', values)
  return tellAll([PART[scope] ?? null], values)
}

/** Finds the partial faults that seem to hold a message up: a guess from its kind and the last line of its timeline. */
function faultsOf(
  { channel, kind, timeline }: MessageView,
  providers: readonly ProviderView[],
): readonly Sentence[] {
  const { provider: last, code: said } = timeline.at(-1) ?? {}
  const seems = (provider: string, { scope, code, kind: refused }: PartialFault) =>
    scope === 'template'
      ? refused === kind
      : last === provider && (said === code || said === PART_REFUSED_CODE)
  return providers
    .filter(each => each.channel === channel)
    .flatMap(({ provider, partialFaults }) =>
      partialFaults
        .filter(fault => fault.recipients === undefined && seems(provider, fault))
        .map(fault => describePartialFault(channel, provider, fault)),
    )
}

const SLOW = {
  email: 'It waits because mail to {place} is slow: {inFlight} under way there, {waiting} waiting.',
  sms: 'It waits because SMS to {place} are slow: {inFlight} under way there, {waiting} waiting.',
} as const

/** Says that a message waits for others that go where it goes; null: it does not seem so. */
function slowDestination(
  { channel, maskedRecipient }: MessageView,
  providers: readonly ProviderView[],
  now: number,
): Sentence | null {
  const [head = '', domain] = maskedRecipient.split('@')
  const place = domain ?? head.split('*')[0] ?? ''
  for (const { channel: its, destinations } of providers)
    for (const { place: where, inFlight, waiting, restsUntil, why } of its === channel ? destinations : []) {
      if (where !== place) continue
      if (restsUntil !== null && restsUntil > now)
        return say('Nothing is sent to {place} for {time}: {why}.', {
          place,
          time: formatDuration(restsUntil - now),
          why: tell(why ?? ''),
        })
      if (inFlight > 0 && waiting > 0) return say(SLOW[channel], { place, inFlight, waiting })
    }
  return null
}

function adviceOf(line: AttemptRecord | undefined) {
  return line === undefined ? null : adviceOn({ code: line.code, reply: unpackWords(line.reply) })
}

/** The reason why nothing begins with a provider. */
interface Pause {
  readonly provider: string
  /** The time at which it ends, as far as that is known, ms since the epoch. */
  readonly until: number
  readonly why: Sentence
  readonly lastError: ProviderView['lastError']
}

/** @returns null: messages may go to it. */
function pauseOf(
  { provider, breaker, breakerUntil, limitReason, limitWhy, lastError }: ProviderView,
  now: number,
): Pause | null {
  if (breaker === 'closed')
    return limitReason === 'paused'
      ? { provider, until: now, why: say('{provider}: {why}.', { provider, why: tell(limitWhy) }), lastError }
      : null
  return { provider, until: breakerUntil ?? now, why: describeRest(provider, breakerUntil, now), lastError }
}

/** Says that a provider is left alone. @param until ms since the epoch; null, or past: it is being tried. */
export function describeRest(provider: string, until: number | null, now: number): Sentence {
  if (until === null || until <= now)
    return say('{provider} keeps failing, and one message is trying it.', { provider })
  return say('{provider} keeps failing and is left alone for {time}; then one message tries it.', {
    provider,
    time: formatDuration(until - now),
  })
}

function explainWaiting(row: MessageView, providers: readonly ProviderView[], now: number): Found {
  const { due, why: pause, lastError = null } = nextAttempt(row, providers, now)
  const isDue = (row.dueAt ?? 0) <= now
  const why = [pause, ...faultsOf(row, providers), isDue ? slowDestination(row, providers, now) : null]
  const next =
    adviceOf(row.timeline.at(-1)) ??
    adviceOn(row.timeline.length > 0 ? {} : (lastError ?? {})) ??
    'Repair what the reply names. Nothing else is to be done: “Try now” only makes it sooner.'
  if (row.attempts > 0)
    return {
      what: ['It has not been taken yet, and is tried again {due}, until {until}.', ...why, lastReply(row)],
      next,
      values: { due, until: clockTime(row.expiresAt) },
    }
  if (lastError === null)
    return {
      what: ['It waits for its first attempt, due {due}.', ...why],
      next: 'The first lines of the overview say whether its provider fails, or how many wait before it.',
      values: { due },
    }
  return {
    what: [
      'It waits for its first attempt, due {due}.',
      ...why,
      'Its last reply to another message: {reply}',
    ],
    next,
    values: { due, reply: describeReply(lastError) },
  }
}

function explainSent({ channel, finalAt, arrivedAt, timeline, providerId, receipt }: MessageView): Found {
  const by = timeline.findLast(({ outcome }) => outcome === 'sent')?.provider ?? say('the provider')
  const taken =
    finalAt === null
      ? say('{by} took it.', { by })
      : say('{by} took it {time} after it came, at {at}.', {
          by,
          time: formatDuration(finalAt - arrivedAt),
          at: clockTime(finalAt),
        })
  if (receipt !== null) {
    const report = explainReport(receipt, channel)
    return { ...report, what: [taken, ...report.what] }
  }
  if (channel === 'sms')
    return {
      what: [taken, 'There is no delivery report.'],
      next: '“check” says whether reports come, and why not. Look for {id} in the carrier’s console.',
      values: { id: providerId ?? '–' },
    }
  return {
    what: [taken],
    next:
      providerId === null
        ? 'From here on it is the mail server’s: look in its log for the Message-ID, which begins with the id, then in the junk folder.'
        : 'From here on it is the mail server’s: look in its log for the queue id {queueId}, then in the junk folder.',
    values: { queueId: providerId ?? '' },
  }
}

function explainReport(
  { status, errorCode, fault, reply: said, at }: NonNullable<MessageView['receipt']>,
  channel: Channel,
): Found {
  const reply = describeReply({ code: errorCode ?? status, reply: term(fault?.reason ?? '') })
  const values = { at: clockTime(at), status: reply, what: reply, said: said ?? '' }
  if (status === 'delivered' || status === 'read')
    return {
      what: ['The phone has it, since {at}.'],
      next: 'Let the person look among blocked and filtered messages, and compare the number.',
      values,
    }
  if (status === 'complained')
    return {
      what: ['It arrived, and the recipient complained of it at {at}.'],
      next: 'Look whether these mails are wanted: complaints lower your reputation with everybody.',
      values,
    }
  const isOnItsWay = errorCode === null && status !== 'undelivered' && status !== 'failed'
  if (fault?.verdict === 'ambiguous' || (fault === undefined && isOnItsWay))
    return {
      what: ['Its last report, at {at}: {status}.'],
      next: 'The carrier has it, and the phone not yet: it may be off or without a network.',
      values,
    }
  return {
    what: [
      'It did not arrive: {what}.',
      said === undefined ? null : 'In the words of the other side: {said}',
    ],
    next:
      adviceOn({ code: errorCode }) ??
      (fault === undefined || fault.reason === null ? LOOK_UP[channel] : mendReport(channel, fault)),
    values,
  }
}

const LOOK_UP = {
  sms: 'Look the code up in the provider’s list of errors: an unreachable phone, a wrong number, or a filter.',
  email:
    'Act on the words of the other side; “check” looks at SPF, DKIM and DMARC. The whole report came to MAIL_BOUNCE_TO.',
} as const

/** What to do about a message that its provider took, and that did not arrive, or about what it refuses. */
export function mendReport(
  channel: Channel,
  { verdict, scope }: { readonly verdict: ReportFault['verdict']; readonly scope: FaultScope },
): SentenceKey {
  if (channel === 'email') return MEND_MAIL[verdict] ?? LOOK_UP.email
  return isOursToMend({ verdict, scope }) ? (MEND_OURS[scope] ?? LOOK_AT_CODE) : MEND[verdict]
}

const MEND_MAIL: { readonly [V in ReportFault['verdict']]?: SentenceKey } = {
  recipient: 'Compare the address with what the person says.',
  limit: 'The person makes room in the mailbox, and asks again.',
  later:
    'The person asks again later. When mails to many domains come back so, look into the log of your mail server, and whether it may send (port 25).',
}
const ALLOW_COUNTRY =
  'Allow the country in the provider’s console, or send it by another carrier (SMS_ROUTES).'
const LOOK_AT_CODE =
  'This is ours to mend: look the code up in the provider’s console, then at words, links and sender of this kind of message.'
const MEND_OURS: { readonly [S in FaultScope]?: SentenceKey } = {
  sender:
    'This is ours to mend: register the sender (signature, number, campaign) in the provider’s console, and look there what its review says.',
  template:
    'This is ours to mend: look at the template of this kind in the provider’s console, and let it be approved for these words.',
  account:
    'This is ours to mend: look at the account in the provider’s console, its balance, its limits and whether it is suspended.',
  country: ALLOW_COUNTRY,
}
const TRY_LATER =
  'The person tries again later: a phone that is off or full gets it then, or another one is sent.'
const MEND: Readonly<Record<ReportFault['verdict'], SentenceKey>> = {
  recipient: 'Compare the number with what the person says, and whether the phone is on.',
  content: 'Change the words, or the value that the platform gives: else the next one is refused, too.',
  country: ALLOW_COUNTRY,
  later:
    'Nothing is to be mended here: the person asks again, and the code goes by the next carrier of its route, if there is one.',
  ours: LOOK_AT_CODE,
  limit: TRY_LATER,
  ambiguous: TRY_LATER,
}

const REFUSED: Readonly<Record<NonNullable<MessageView['answer']>, Found>> = {
  recipient: {
    what: ['The provider refuses this recipient for good, and the platform was told.'],
    next: 'Compare address or number with what the person says. The reply in the timeline has the reason.',
  },
  content: {
    what: ['The provider refuses the content for good, and the platform was told.'],
    next: 'The reply in the timeline has the reason: reputation, links, SPF or DKIM (“check” looks at them), or a template.',
  },
  country: {
    what: ['The provider does not send to this country, and the platform was told.'],
    next: ALLOW_COUNTRY,
  },
  limit: {
    what: ['The number may have no more messages for now, and the platform was told.'],
    next: 'Raise the carrier’s limit for a number, or wait: docs/sms.md has the limits.',
  },
}

const UNREADABLE: Found = {
  what: [
    'What is stored of it could not be read when its turn came: it was damaged or exchanged in the store. It was not sent then, and no provider refused it.',
  ],
  next: 'Check the disk, and who can write the store. The person has to ask for a new one. The first lines of the overview say how many.',
}

function lastReply({ timeline }: MessageView): Sentence | null {
  const last = timeline.at(-1)
  if (last === undefined) return null
  const { provider } = last
  // Nobody was asked: the reason is one of ours.
  if (last.outcome === 'skipped' || last.code === 'RENDER')
    return say('{provider} was not asked: {reply}', { provider, reply: unpackWords(last.reply) })
  return say('The last reply, of {provider}: {reply}', { provider, reply: describeRecord(last) })
}

/** Answers the same question when there is no message to a recipient at all: what is known of the platform's calls. */
export function explainAbsence({
  newestAt,
  refusals,
  heldBack,
  validation,
}: Omit<ChannelCalls, 'channel'>): readonly Sentence[] {
  const { count, last } = refusals
  return [
    newestAt === null
      ? say('No message of anybody is stored, or none came lately.')
      : say('The newest message to anybody came at {at}.', { at: clockTime(newestAt) }),
    last === null
      ? say('No caller was refused since the start.')
      : say('Callers refused since the start: {count}, the last at {at}: {reason}.', {
          count,
          at: clockTime(last.at),
          reason: tell(last.reason),
        }),
    ...heldBack.map(({ quota, count, lastAt }) =>
      say('Held back by the quota {quota} since the start: {count}, the last at {at}.', {
        quota,
        count,
        at: clockTime(lastAt),
      }),
    ),
    ...(validation === null || validation.ok
      ? []
      : [
          say('The last validation of the URL failed at {at}: {reason}.', {
            at: clockTime(validation.at),
            reason: tell(validation.reason),
          }),
        ]),
  ]
}
