import type { EventOf } from '../events/events.ts'
import type { Words } from '../language/sentence.ts'
import type { NewMessage } from '../messages/message.ts'
import type { Outcome, Provider } from '../providers/provider.ts'
import { createBackoff } from '../runtime/backoff.ts'
import type { Clock } from '../runtime/clock.ts'

/** The share of messages that go to such a carrier first: without them nobody would learn that it is good again. */
const TRICKLE = 0.1

/** A report is late from then on; GOV.UK Notify took four minutes, too, and takes five now. */
const IN_TIME_MS = 4 * 60_000

/** The number of the latest reports that count, one a number, and the age from which on they do not. */
const LATEST = 50
const KEPT_MS = 3 * 24 * 60 * 60_000
/** With so many reports of this time a carrier is judged by their share; with so many that count for a country, by those for it. */
const WINDOW_MS = 30 * 60_000
const FEWEST = 20
/** With fewer it is asked second when so many of the latest so many are bad: of a carrier by which 70 % arrive, each is seen less than once in a hundred times. */
const BEYOND_CHANCE = [
  [4, 4],
  [6, 7],
  [8, 10],
  [12, 20],
] as const
/** Below the first share of good reports a carrier is asked second; from the second share on it is asked first again. They differ so that it does not flap. */
const BAD_BELOW = 0.7
const GOOD_FROM = 0.9
/** The least between two changes of one carrier. */
const DWELL_MS = 10 * 60_000
/** A carrier that has been asked second for so long, ms, and has had too few messages to be judged, is asked first again; twice as long each time it goes wrong again. */
const SECOND_MS = { first: 60 * 60_000, most: 24 * 60 * 60_000 }

/** The most messages that are remembered, and the most codes to one number; the oldest are forgotten first. */
const MOST_SENT = 10_000
const MOST_CODES = 4
/** A code without a report is taken for undelivered from then on, ms, at a carrier that reports: people ask for another one after a minute. */
const UNREPORTED_MS = 30_000
/** A code that its carrier has not answered for so long, ms, is not known to have been sent. */
const UNANSWERED_MS = 2000
/** For so long a code that did not come, or may not have been sent, is a reason to ask another carrier first, ms. */
const REMEMBERED_MS = 24 * 60 * 60_000

/** Why a carrier of a route is not asked in its order. */
const DEMOTED = {
  'reports-bad': 'asked second: its delivery reports are late or bad, or have stopped',
  'code-undelivered': 'asked last: a code before this one was reported undelivered',
  'code-unreported': 'asked last: a code before this one has not been reported on',
  'code-unanswered': 'asked last: a code before this one has not been answered',
} as const

/** A carrier that a message does not go to in the order of its route. */
export interface Demotion {
  readonly provider: string
  readonly code: keyof typeof DEMOTED
  readonly reply: Words
}

const demote = (provider: string, code: Demotion['code']): Demotion => ({
  provider,
  code,
  reply: DEMOTED[code],
})

/** A carrier of a route, as far as reports are about it. */
interface ReportingCarrier {
  readonly provider: Pick<Provider, 'name'>
}

/** A message, as far as its reports are about it. */
type ReportedMessage = Pick<NewMessage, 'id' | 'recipient' | 'purpose' | 'expiresAt'>

/** An SMS that a carrier was asked to send. Moments are ms since the epoch. */
interface SentSms extends Omit<ReportedMessage, 'purpose'> {
  readonly provider: string
  readonly country: string
  /** The carrier's id: some tell none in their answer, and name ours in their reports. */
  readonly providerId: string | undefined
  readonly sentAt: number
  /** The carrier said that it took it. */
  readonly isSent: boolean
  /** Null: nothing was reported. */
  isDelivered: boolean | null
}

interface CarrierReportsOptions {
  readonly clock: Clock
  readonly random: () => number
  /** The carriers that stand beside another one in a route. */
  readonly judged: ReadonlySet<string>
  /** Names the country of a number. */
  readonly countryOf: (number: string) => string
  /** Called at every change; `country`: that it is about; empty: all with few reports of their own; `share`: of good reports among the latest. */
  readonly onChange: (change: Omit<EventOf<'carrier-order'>, 'type'>) => void
}

export interface CarrierReports {
  /** Takes a delivery report. */
  noteReport(event: EventOf<'receipt'>): void
  /** Lists the countries for which a carrier is asked second; the empty one stands for all with few reports of their own. */
  secondIn(provider: string): readonly string[]
  /** Notes that a carrier is asked to send a message: until it has answered, nobody knows whether it did. */
  noteAsked(message: ReportedMessage, provider: string): void
  /** Notes what it answered. @param mayBeSent it may have taken the message before */
  noteEnd(message: ReportedMessage, provider: string, outcome: Outcome, mayBeSent: boolean): void
  /**
   * Puts the carriers of a route in the order in which a message asks them: those with bad reports behind the others, and last one by
   * which a code to the same number is not known to have come: it was reported undelivered, the carrier has not answered, or, while that
   * code is valid, a carrier that reports has said nothing of it. The person asks again because nothing came.
   */
  order<C extends ReportingCarrier>(carriers: readonly C[], message: ReportedMessage): CarrierOrder<C>
}

interface CarrierOrder<C> {
  readonly carriers: readonly C[]
  readonly demotions: readonly Demotion[]
}

/**
 * Judges SMS carriers by their delivery reports: a carrier whose reports turn late or bad, or stop, is asked second until they are
 * good again, as GOV.UK Notify does; for a country with reports enough by those for it. The state is in memory and about the messages
 * that this process sent: reports on messages of another replica count there. A carrier that has never sent a report is not judged, nor
 * is one that is alone in its routes: it is asked first, whatever it reports.
 */
export function createCarrierReports({
  clock,
  random,
  judged,
  countryOf,
  onChange,
}: CarrierReportsOptions): CarrierReports {
  /** What was sent by judged carriers: all of it by our id, the oldest first; our ids by the carrier's; codes by number. */
  const sent = new Map<string, SentSms>()
  const ourIds = new Map<string, string>()
  const codesTo = new Map<string, readonly SentSms[]>()
  /** Those of which no report has come yet, and none is late. */
  const awaited = new Map<string, SentSms>()
  /** By carrier and country, each pair with a blank between; as a whole by the empty country. */
  const histories = new Map<string, ReportHistory>()

  function forget(sms: SentSms): void {
    sent.delete(sms.id)
    awaited.delete(sms.id)
    ourIds.delete(sms.providerId ?? '')
    const others = (codesTo.get(sms.recipient) ?? []).filter(each => each !== sms)
    if (others.length > 0) codesTo.set(sms.recipient, others)
    else codesTo.delete(sms.recipient)
  }

  function remember(
    message: ReportedMessage,
    provider: string,
    isSent: boolean,
    providerId?: string,
  ): SentSms {
    const { id, recipient, purpose, expiresAt } = message
    const before = sent.get(id)
    if (before !== undefined) forget(before)
    const about = { id, recipient, expiresAt, provider, country: countryOf(recipient), providerId, isSent }
    const sms: SentSms = { ...about, sentAt: clock.now(), isDelivered: null }
    sent.set(id, sms)
    if (providerId !== undefined) ourIds.set(providerId, id)
    if (purpose === 'code')
      codesTo.set(recipient, [...(codesTo.get(recipient) ?? []), sms].slice(-MOST_CODES))
    const [oldest] = sent.values()
    if (oldest !== undefined && sent.size > MOST_SENT) forget(oldest)
    return sms
  }

  /** The histories that a message counts in. */
  function historiesOf({ provider, country }: SentSms): readonly ReportHistory[] {
    return ['', country].map(of => {
      const name = `${provider} ${of}`
      const fewest = of === '' ? 0 : FEWEST
      const change = (isSecond: boolean, share: number) =>
        onChange({ provider, country: of, isSecond, share })
      const history = histories.get(name) ?? createReportHistory(fewest, change)
      histories.set(name, history)
      return history
    })
  }

  /** Finds by which reports a carrier is judged for a country; undefined: it has sent none. */
  function findHistory(provider: string, country: string): ReportHistory | undefined {
    const own = histories.get(`${provider} ${country}`)
    return own?.isJudged(clock.now()) === true ? own : histories.get(`${provider} `)
  }

  function noteArrival(id: string | undefined, providerId: string, isDelivered: boolean): void {
    const sms = sent.get(id ?? ourIds.get(providerId) ?? '')
    if (sms === undefined) return
    const now = clock.now()
    const { sentAt, recipient, isSent } = sms
    if (isSent && sms.isDelivered === null) {
      for (const each of historiesOf(sms))
        each.noteReport(sentAt, recipient, isDelivered && now - sentAt <= IN_TIME_MS, now)
    }
    sms.isDelivered = isDelivered
    awaited.delete(sms.id)
  }

  /** Notes which messages have no report in time; with too many, the oldest count as late sooner. */
  function noteLate(now: number): void {
    for (const sms of awaited.values()) {
      if (now - sms.sentAt <= IN_TIME_MS && awaited.size < MOST_SENT) break
      awaited.delete(sms.id)
      for (const each of historiesOf(sms)) each.noteLate(now)
    }
  }

  /** Says why a code is not known to have come; null: it may have. */
  function doubtOf(code: SentSms, now: number): Demotion['code'] | null {
    const { provider, country, sentAt, expiresAt, isSent, isDelivered } = code
    if (isDelivered === false) return 'code-undelivered'
    if (!isSent) return now - sentAt >= UNANSWERED_MS ? 'code-unanswered' : null
    const isOverdue = now < expiresAt && now - sentAt >= UNREPORTED_MS
    return isOverdue && findHistory(provider, country)?.reports() === true ? 'code-unreported' : null
  }

  /** Finds the carrier by which a code to the same number is not known to have come. */
  function findDoubt(
    carriers: readonly ReportingCarrier[],
    { id, recipient }: ReportedMessage,
  ): Demotion | undefined {
    const now = clock.now()
    const isKnownToWork = new Set<string>()
    for (const code of codesTo.get(recipient)?.toReversed() ?? []) {
      const { provider, sentAt, isDelivered } = code
      if (now - sentAt >= REMEMBERED_MS || code.id === id) continue
      if (isDelivered === true) isKnownToWork.add(provider)
      if (isKnownToWork.has(provider) || !carriers.some(each => each.provider.name === provider)) continue
      const doubt = doubtOf(code, now)
      if (doubt !== null) return demote(provider, doubt)
    }
    return undefined
  }

  /** Finds those that are asked second for a number, unless this message is one of those by which it is learned whether they are good again. */
  function findSeconds(carriers: readonly ReportingCarrier[], recipient: string): readonly Demotion[] {
    const country = countryOf(recipient)
    const names = carriers.map(({ provider }) => provider.name)
    const seconds = names.filter(name => findHistory(name, country)?.isSecond(clock.now()))
    const isAsEver = seconds.length === names.length || (seconds.length > 0 && random() < TRICKLE)
    return isAsEver ? [] : seconds.map(name => demote(name, 'reports-bad'))
  }

  return {
    noteReport({ id, providerId, status, result }) {
      if (result === 'forged') return
      if (status === 'delivered' || status === 'read') noteArrival(id, providerId, true)
      else if (status === 'undelivered' || status === 'failed') noteArrival(id, providerId, false)
    },
    secondIn: provider =>
      [...histories].flatMap(([name, history]) => {
        const [of, country = ''] = name.split(' ')
        return of === provider && history.isSecond(clock.now()) ? country : []
      }),
    noteAsked(message, provider) {
      if (message.purpose === 'code' && judged.has(provider) && !sent.has(message.id))
        remember(message, provider, false)
    },
    noteEnd(message, provider, outcome, mayBeSent) {
      const before = sent.get(message.id)
      if (outcome.is === 'sent' && judged.has(provider)) {
        noteLate(clock.now())
        awaited.set(message.id, remember(message, provider, true, outcome.providerId))
      } else if (outcome.is !== 'sent' && outcome.is !== 'ambiguous' && !mayBeSent && before !== undefined)
        forget(before)
    },
    order(carriers, message) {
      if (carriers.length < 2) return { carriers, demotions: [] }
      const seconds = findSeconds(carriers, message.recipient)
      const isSecond = ({ provider }: ReportingCarrier) =>
        seconds.some(each => each.provider === provider.name)
      const ordered = [...carriers.filter(each => !isSecond(each)), ...carriers.filter(isSecond)]
      const doubt = message.purpose === 'code' ? findDoubt(carriers, message) : undefined
      if (doubt === undefined) return { carriers: ordered, demotions: seconds }
      return { carriers: putLast(doubt.provider, ordered), demotions: [...seconds, doubt] }
    },
  }
}

/** Rotates the carriers so that this one is the last. */
export function putLast<C extends ReportingCarrier>(name: string, carriers: readonly C[]): readonly C[] {
  const at = carriers.findIndex(({ provider }) => provider.name === name)
  return [...carriers.slice(at + 1), ...carriers.slice(0, at + 1)]
}

interface ReportHistory {
  noteReport(sentAt: number, recipient: string, good: boolean, now: number): void
  /** Says whether there are enough to judge by. */
  isJudged(now: number): boolean
  /** Says whether the carrier reports on most of its messages. */
  reports(): boolean
  /** A message has no report in time. */
  noteLate(now: number): void
  isSecond(now: number): boolean
}

/**
 * Keeps the delivery reports of one carrier, and says whether it is asked second for them. Times are ms since the epoch.
 * @param fewest with fewer reports it changes nothing.
 * @param onChange called at every change, with the share of good reports among the latest.
 */
function createReportHistory(
  fewest: number,
  onChange: (isSecond: boolean, share: number) => void,
): ReportHistory {
  const rests = createBackoff(SECOND_MS)
  /** Since when it is asked second, and until when if it has too few messages to be judged; null: it is not. */
  let second: { readonly since: number; readonly until: number } | null = null
  let changedAt = Number.NEGATIVE_INFINITY
  let kept: { readonly at: number; readonly recipient: string; readonly good: boolean }[] = []
  /** Messages that it has reported on. */
  let reported = 0
  /** Messages without a report in time that were followed by one on another message: not every network reports. */
  let passedOver = 0
  /** Messages without a report in time since its latest report. */
  let overdue = 0

  function change(isSecond: boolean, now: number, share: number): void {
    if (isSecond && now - changedAt > KEPT_MS) rests.succeeded()
    second = isSecond ? { since: now, until: now + rests.failed() } : null
    changedAt = now
    overdue = 0
    onChange(isSecond, share)
  }

  /** The reports of the last half hour, without those that made it second. */
  const recentAt = (now: number) =>
    kept.filter(({ at }) => now - at <= WINDOW_MS && at > (second?.since ?? at - 1))

  const countBad = (some: typeof kept): number => some.filter(({ good }) => !good).length

  function isBad(recent: typeof kept): boolean {
    if (recent.length >= FEWEST) return countBad(recent) > (1 - BAD_BELOW) * recent.length
    return BEYOND_CHANCE.some(([bad, of]) => countBad(kept.slice(-of)) >= bad)
  }

  /** Says whether a carrier has stopped reporting: too many messages in a row have no report, given the share that it used to report on. */
  const isSilent = (): boolean => overdue >= (FEWEST * (reported + passedOver)) / reported

  const isJudged = (now: number): boolean =>
    second !== null || kept.filter(({ at }) => now - at <= KEPT_MS).length >= fewest

  return {
    isJudged,
    noteReport(sentAt, recipient, good, now) {
      reported += 1
      passedOver += overdue
      overdue = 0
      // Late reports of earlier messages go on coming for as long as they are late.
      if (second !== null && sentAt < second.since) return
      const others = kept.filter(each => each.recipient !== recipient && now - each.at <= KEPT_MS)
      kept = [...others, { at: now, recipient, good }].slice(-LATEST)
      if (now - changedAt < DWELL_MS || !isJudged(now)) return
      const recent = recentAt(now)
      const share = 1 - countBad(recent) / recent.length
      if (second === null) {
        if (!good && isBad(recent)) change(true, now, share)
      } else if (recent.length >= FEWEST && share >= GOOD_FROM) {
        kept = recent
        rests.succeeded()
        change(false, now, share)
      }
    },
    reports: () => reported > 0 && reported >= passedOver + overdue,
    noteLate(now) {
      // A carrier that has never sent a report is not judged.
      if (reported === 0) return
      overdue += 1
      if (second === null && isJudged(now) && isSilent() && now - changedAt >= DWELL_MS) change(true, now, 0)
    },
    isSecond(now) {
      if (second !== null && now > second.until && recentAt(now).length < FEWEST && !isSilent())
        change(false, now, 0)
      return second !== null
    },
  }
}
