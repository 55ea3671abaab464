import type { EventHandlers, EventOf } from '../events/events.ts'
import { term, type Words } from '../language/sentence.ts'
import type { Channel, NewMessage } from '../messages/message.ts'
import type { ReportFault } from '../outbox/outbox.ts'
import { isOursToMend } from '../providers/provider.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Carrier } from './carrier.ts'
import type { PartialFault, PartialFaultChange } from './health.ts'

/** The share of messages that go to such a carrier first: without them nobody would learn that it is good again. */
const TRICKLE = 0.1

/** A report is late from then on; GOV.UK Notify took four minutes, too, and takes five now. */
const IN_TIME_MS = 4 * 60_000
/** The most messages whose reports are awaited: with more, the oldest count as late sooner. */
const MOST_AWAITED = 5000

/** The number of the latest reports that count, one a number, and the age from which on they do not. */
const LATEST = 50
const KEPT_MS = 3 * 24 * 60 * 60_000
/** With so many reports of this time a carrier is judged by their share. */
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
const FORGIVEN_MS = 60 * 60_000
const LONGEST_MS = 24 * 60 * 60_000

/** The most messages that are remembered, and the most codes to one number; the oldest are forgotten first. */
const MOST_SENT = 10_000
const MOST_CODES = 4
/** A code without a report is taken for undelivered from then on, ms, at a carrier that reports: people ask for another one after a minute. */
const UNREPORTED_MS = 30_000
/** A code that its carrier has not answered for so long, ms, is not known to have been sent. */
const UNANSWERED_MS = 2000
/** For so long a code that did not come, or may not have been sent, is a reason to ask another carrier first, ms. */
const REMEMBERED_MS = 24 * 60 * 60_000

/** The carrier that a message does not go to first, since a code to its number is not known to have come by it. */
export interface Demotion {
  readonly provider: string
  readonly code: string
  readonly reply: Words
}

const UNDELIVERED = {
  code: 'code-undelivered',
  reply: 'asked last: a code before this one was reported undelivered',
} as const
const UNREPORTED = {
  code: 'code-unreported',
  reply: 'asked last: a code before this one has not been reported on',
} as const
const UNANSWERED = {
  code: 'code-unanswered',
  reply: 'asked last: a code before this one has not been answered',
} as const

/** A message, as far as its reports are about it. */
type ReportedMessage = Pick<NewMessage, 'id' | 'masked' | 'recipient' | 'purpose' | 'expiresAt'>

/** An SMS that a carrier was asked to send. Moments are ms since the epoch. */
interface SentSms extends Omit<ReportedMessage, 'purpose'> {
  readonly provider: string
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
  /** Called at every change. @param share of good reports among the latest. */
  readonly onChange: (provider: string, isSecond: boolean, share: number) => void
  /** Called when reports begin to say that something is for the operator to mend, and when they do no more. */
  readonly onFault: (channel: Channel, provider: string, change: PartialFaultChange) => void
  /** Names the domain of an address that is masked. */
  readonly domainOf: (masked: string) => string
}

export interface CarrierReports {
  /** Takes what was reported of messages. */
  readonly handlers: EventHandlers
  isSecond(provider: string): boolean
  /** Lists what a provider's reports say that is for the operator to mend. */
  faultsOf(provider: string): readonly PartialFault[]
  /** Notes that a carrier is asked to send a message: until it has answered, nobody knows whether it did. */
  noteAsked(message: ReportedMessage, provider: string): void
  /** Notes that it surely has not sent it. */
  noteUnsent(message: ReportedMessage): void
  /** Notes an SMS that a carrier took. @param providerId the carrier's id, if it told one. */
  noteSent(message: ReportedMessage, provider: string, providerId: string | undefined): void
  /**
   * Finds the carrier of a route by which a code to the same number is not known to have come: it was reported undelivered, the
   * carrier has not answered, or, while that code is valid, a carrier that reports has said nothing of it. The person asks again
   * because nothing came.
   */
  findDemotion(carriers: readonly Carrier[], message: NewMessage): Demotion | undefined
  /** The carriers in the order in which they are to be asked: as given, but those with bad reports behind the others. */
  orderCarriers(carriers: readonly Carrier[]): readonly Carrier[]
}

/**
 * Judges SMS carriers by their delivery reports: a carrier whose reports turn late or bad, or stop, is asked second until they are
 * good again, as GOV.UK Notify does. The state is in memory and about the messages that this process sent: reports on messages of
 * another replica count there. A carrier that has never sent a report is not judged, nor is one that is alone in its routes: it is
 * asked first, whatever it reports.
 */
export function createCarrierReports(options: CarrierReportsOptions): CarrierReports {
  const { clock, random, judged, onChange } = options
  const faults = createReportedFaults(options)
  /** What was sent by judged carriers: all of it by our id, the oldest first; our ids by the carrier's; codes by number. */
  const sent = new Map<string, SentSms>()
  const ourIds = new Map<string, string>()
  const codesTo = new Map<string, readonly SentSms[]>()
  /** Those of which no report has come yet, and none is late. */
  const awaited = new Map<string, SentSms>()
  /** Of the carriers that have sent reports. */
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
    const { id, masked, recipient, purpose, expiresAt } = message
    const before = sent.get(id)
    if (before !== undefined) forget(before)
    const about = { id, masked, recipient, expiresAt, provider, providerId, isSent }
    const sms: SentSms = { ...about, sentAt: clock.now(), isDelivered: null }
    sent.set(id, sms)
    if (providerId !== undefined) ourIds.set(providerId, id)
    if (purpose === 'code')
      codesTo.set(recipient, [...(codesTo.get(recipient) ?? []), sms].slice(-MOST_CODES))
    const [oldest] = sent.values()
    if (oldest !== undefined && sent.size > MOST_SENT) forget(oldest)
    return sms
  }

  function noteReport(id: string | undefined, providerId: string, isDelivered: boolean): void {
    const sms = sent.get(id ?? ourIds.get(providerId) ?? '')
    if (sms === undefined) return
    const { provider, sentAt, masked } = sms
    if (sms.isSent && sms.isDelivered === null) {
      const now = clock.now()
      const history =
        histories.get(provider) ??
        createReportHistory((isSecond, share) => onChange(provider, isSecond, share))
      histories.set(provider, history)
      history.noteReport(sentAt, masked, isDelivered && now - sentAt <= IN_TIME_MS, now)
    }
    sms.isDelivered = isDelivered
    awaited.delete(sms.id)
  }

  /** Notes which messages have no report in time. */
  function noteLate(now: number): void {
    for (const { id, provider, sentAt } of awaited.values()) {
      if (now - sentAt <= IN_TIME_MS && awaited.size <= MOST_AWAITED) break
      awaited.delete(id)
      histories.get(provider)?.noteLate(now)
    }
  }

  /** Says why a code is not known to have come; null: it may have. */
  function doubtOf({ provider, sentAt, expiresAt, isSent, isDelivered }: SentSms, now: number) {
    if (isDelivered === false) return UNDELIVERED
    if (!isSent) return now - sentAt >= UNANSWERED_MS ? UNANSWERED : null
    const isOverdue = now < expiresAt && now - sentAt >= UNREPORTED_MS
    return isOverdue && histories.get(provider)?.reports() === true ? UNREPORTED : null
  }

  const isSecond = (provider: string): boolean => histories.get(provider)?.isSecond(clock.now()) ?? false

  const handlers: EventHandlers = {
    receipt(event) {
      const { id, providerId, status, result } = event
      if (result === 'forged') return
      if (status === 'delivered' || status === 'read') noteReport(id, providerId, true)
      else if (status === 'undelivered' || status === 'failed') noteReport(id, providerId, false)
      faults.note(event)
    },
    attempt({ message, outcome }) {
      if (message.channel === 'email' && outcome.is === 'sent') faults.noteMail(message.masked)
    },
  }

  return {
    handlers,
    isSecond,
    faultsOf: faults.list,
    noteAsked(message, provider) {
      if (message.purpose === 'code' && judged.has(provider) && !sent.has(message.id))
        remember(message, provider, false)
    },
    noteUnsent({ id }) {
      const sms = sent.get(id)
      if (sms !== undefined) forget(sms)
    },
    noteSent(message, provider, providerId) {
      if (!judged.has(provider)) return
      noteLate(clock.now())
      awaited.set(message.id, remember(message, provider, true, providerId))
    },
    findDemotion(carriers, { id, recipient, purpose }) {
      if (purpose !== 'code' || carriers.length < 2) return undefined
      const now = clock.now()
      const isKnownToWork = new Set<string>()
      for (const code of codesTo.get(recipient)?.toReversed() ?? []) {
        const { provider, sentAt, isDelivered } = code
        if (now - sentAt >= REMEMBERED_MS || code.id === id) continue
        if (isDelivered === true) isKnownToWork.add(provider)
        if (isKnownToWork.has(provider) || !carriers.some(each => each.provider.name === provider)) continue
        const doubt = doubtOf(code, now)
        if (doubt !== null) return { provider, ...doubt }
      }
      return undefined
    },
    orderCarriers(carriers) {
      if (carriers.length < 2) return carriers
      const second = carriers.filter(({ provider }) => isSecond(provider.name))
      if (second.length === 0 || random() < TRICKLE) return carriers
      return [...carriers.filter(each => !second.includes(each)), ...second]
    },
  }
}

interface ReportHistory {
  noteReport(sentAt: number, masked: string, good: boolean, now: number): void
  /** Says whether the carrier reports on most of its messages. */
  reports(): boolean
  /** A message has no report in time. */
  noteLate(now: number): void
  isSecond(now: number): boolean
}

/**
 * Keeps the delivery reports of one carrier, and says whether it is asked second for them. Times are ms since the epoch.
 * @param onChange called at every change, with the share of good reports among the latest.
 */
function createReportHistory(onChange: (isSecond: boolean, share: number) => void): ReportHistory {
  /** Since when it is asked second; null: it is not. */
  let secondSince: number | null = null
  let changedAt = Number.NEGATIVE_INFINITY
  let restMs = FORGIVEN_MS
  let reports: { readonly at: number; readonly masked: string; readonly good: boolean }[] = []
  /** Messages that it has reported on. */
  let reported = 0
  /** Messages without a report in time that were followed by one on another message: not every network reports. */
  let passedOver = 0
  /** Messages without a report in time since its latest report. */
  let overdue = 0

  function change(next: number | null, now: number, share: number): void {
    if (next !== null && now - changedAt > KEPT_MS) restMs = FORGIVEN_MS
    secondSince = next
    changedAt = now
    overdue = 0
    onChange(next !== null, share)
  }

  /** The reports of the last half hour, without those that made it second. */
  const recentAt = (now: number) =>
    reports.filter(({ at }) => now - at <= WINDOW_MS && at > (secondSince ?? at - 1))

  const countBad = (some: typeof reports): number => some.filter(({ good }) => !good).length

  function isBad(recent: typeof reports): boolean {
    if (recent.length >= FEWEST) return countBad(recent) > (1 - BAD_BELOW) * recent.length
    return BEYOND_CHANCE.some(([bad, of]) => countBad(reports.slice(-of)) >= bad)
  }

  /** Says whether a carrier has stopped reporting: too many messages in a row have no report, given the share that it used to report on. */
  const isSilent = (): boolean => overdue >= (FEWEST * (reported + passedOver)) / reported

  return {
    noteReport(sentAt, masked, good, now) {
      reported += 1
      passedOver += overdue
      overdue = 0
      // Late reports of earlier messages go on coming for as long as they are late.
      if (secondSince !== null && sentAt < secondSince) return
      const others = reports.filter(each => each.masked !== masked && now - each.at <= KEPT_MS)
      reports = [...others, { at: now, masked, good }].slice(-LATEST)
      if (now - changedAt < DWELL_MS) return
      const recent = recentAt(now)
      const share = 1 - countBad(recent) / recent.length
      if (secondSince === null) {
        if (!good && isBad(recent)) change(now, now, share)
      } else if (recent.length >= FEWEST && share >= GOOD_FROM) {
        reports = []
        restMs = FORGIVEN_MS
        change(null, now, share)
      }
    },
    reports: () => reported >= passedOver + overdue,
    noteLate(now) {
      overdue += 1
      if (secondSince === null && isSilent() && now - changedAt >= DWELL_MS) change(now, now, 0)
    },
    isSecond(now) {
      if (secondSince === null) return false
      if (recentAt(now).length < FEWEST && now - secondSince > restMs && !isSilent()) {
        restMs = Math.min(2 * restMs, LONGEST_MS)
        change(null, now, 0)
      }
      return secondSince !== null
    },
  }
}

/** A fault is over when so many messages in a row arrived that it concerns: as many as did not, within these bounds. */
const FEWEST_ARRIVED = 3
const MOST_ARRIVED = 10
/** What no report has said for so long, ms, is not said any more. */
const UNSAID_MS = 24 * 60 * 60_000
/** The most faults of a provider, and recipients of each, that are kept. */
const MOST_FAULTS = 100
const MOST_RECIPIENTS = 100
/** So many recipients make a fault. Each can send a report on a mail of his own; but what a carrier reports is its own. */
const FEWEST_RECIPIENTS: Readonly<Record<Channel, number>> = { email: 5, sms: 1 }

interface ReportedFault {
  readonly channel: Channel
  readonly provider: string
  /** Null: too few recipients have met it so far. */
  fault: PartialFault | null
  /** The latest ones: when each met it last, ms since the epoch, and the domain of his address. */
  readonly recipients: Map<string, { readonly at: number; readonly domain: string }>
  /** The beginnings of their numbers. */
  readonly areas: Set<string>
  reports: number
  /** Messages in a row that arrived since. */
  arrived: number
}

/**
 * What providers report that the operator has to mend, such as a signature that is not registered: they take the messages, which do
 * not arrive. From the first such report on it is a fault of the provider, until messages arrive again that it concerns. Nothing
 * waits for it: the provider is not known to refuse the next one. By mails that came back it is one from the fifth recipient of a day
 * on, if they are of two domains, or all mails of the day went to one.
 */
function createReportedFaults({ clock: { now }, onFault, domainOf }: CarrierReportsOptions) {
  /** By provider and code: what comes from one provider hides no fault of another. */
  const tables = new Map<string, Map<string, ReportedFault>>()
  /** When a mail was sent last to each of the latest two domains, ms since the epoch. */
  const writtenTo = new Map<string, number>()

  function isMet({ channel, fault, recipients }: ReportedFault): boolean {
    for (const [recipient, { at }] of recipients) if (now() - at > UNSAID_MS) recipients.delete(recipient)
    if (recipients.size < FEWEST_RECIPIENTS[channel]) return false
    const isOfSeveral = new Set([...recipients.values()].map(({ domain }) => domain)).size > 1
    const today = [...writtenTo.values()].filter(at => now() - at <= UNSAID_MS)
    return channel === 'sms' || fault !== null || isOfSeveral || today.length === 1
  }

  function meet(event: EventOf<'receipt'>, { scope, reason }: ReportFault): void {
    const { channel, provider, errorCode, kind = '', masked = '', recipient = masked } = event
    // The codes of a class are one fault (RFC 3463).
    const code = errorCode?.replace(/^(\d\.\d+)\.\d+$/, '$1.x') ?? 'undelivered'
    const key = `${code} ${scope === 'template' ? kind : ''}`
    const table = tables.get(provider) ?? new Map<string, ReportedFault>()
    tables.set(provider, table)
    const nobody = { recipients: new Map(), areas: new Set<string>(), reports: 0, arrived: 0 }
    const found = table.get(key) ?? { channel, provider, fault: null, ...nobody }
    if (table.size < MOST_FAULTS) table.set(key, found)
    else if (!table.has(key)) return
    keepLatest(found.recipients, recipient, { at: now(), domain: domainOf(masked) }, MOST_RECIPIENTS)
    found.areas.add(areaOf(masked))
    found.reports += 1
    found.arrived = 0
    if (found.fault !== null || !isMet(found)) return
    found.fault = { scope, name: code, kind, since: now(), until: null, code, reply: term(reason ?? '') }
    const recipients = found.recipients.size
    onFault(channel, provider, { is: 'begun', fault: { ...found.fault, recipients } })
  }

  function end(key: string, { channel, provider, fault }: ReportedFault): void {
    tables.get(provider)?.delete(key)
    if (fault !== null) onFault(channel, provider, { is: 'over', fault })
  }

  return {
    note(event: EventOf<'receipt'>): void {
      const { provider, status, fault, result, kind, masked = '' } = event
      // A complaint is of a mail that arrived.
      if (result !== 'recorded' || status === 'complained') return
      if (fault !== undefined && isOursToMend(fault)) meet(event, fault)
      if (status !== 'delivered' && status !== 'read') return
      for (const [key, each] of tables.get(provider) ?? []) {
        const isOther = each.fault?.scope === 'template' && each.fault.kind !== kind
        if (isOther || !each.areas.has(areaOf(masked))) continue
        each.arrived += 1
        if (each.arrived >= Math.min(Math.max(each.reports, FEWEST_ARRIVED), MOST_ARRIVED)) end(key, each)
      }
    },
    noteMail: (masked: string) => keepLatest(writtenTo, domainOf(masked), now(), 2),
    list(provider: string): readonly PartialFault[] {
      const table = tables.get(provider) ?? new Map<string, ReportedFault>()
      for (const [key, each] of table)
        if (!isMet(each) && (each.fault !== null || each.recipients.size === 0)) end(key, each)
      return [...table.values()].flatMap(({ fault, recipients }) =>
        fault === null ? [] : { ...fault, recipients: recipients.size },
      )
    },
  }
}

/** Sets an entry as the latest one of a map that keeps the latest so many. */
function keepLatest<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  map.delete(key)
  map.set(key, value)
  const [first = ''] = map.keys()
  if (map.size > most) map.delete(first)
}

/** The calling code of a number, as far as its mask shows it; a sender may be registered in one country and not in another. */
function areaOf(masked: string): string {
  return /^\+(?:[17]|\d\d)/.exec(masked)?.[0] ?? ''
}
