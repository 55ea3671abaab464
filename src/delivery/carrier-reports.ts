import type { EventHandlers } from '../events/events.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Carrier } from './route.ts'

/**
 * Judges SMS carriers by their delivery reports: a carrier whose reports turn late or bad, or stop, is asked second until they are
 * good again, as GOV.UK Notify does. The state is in memory and about the messages that this process sent: reports on messages of
 * another replica count there. A carrier that has never sent a report is not judged.
 */
export interface CarrierReports {
  /** Takes what was sent, and what was reported of it. */
  readonly handlers: EventHandlers
  /** The carriers in the order in which they are to be asked: as given, but those with bad reports behind the others. */
  order(carriers: readonly Carrier[]): readonly Carrier[]
  isSecond(provider: string): boolean
}

/** A message counts as late from then on; GOV.UK Notify takes four minutes, too. */
const IN_TIME_MS = 4 * 60_000
/** The number of the latest reports that count, and the oldest age of them. */
const LATEST = 50
const WINDOW_MS = 30 * 60_000
/** With fewer reports no carrier is judged. */
const FEWEST = 20
/** Below the first share of good reports a carrier is asked second; from the second share on it is good again. They differ so that it does not flap. */
const BAD_BELOW = 0.7
const GOOD_FROM = 0.9
/** The least between two changes of one carrier. */
const DWELL_MS = 10 * 60_000
/** A carrier that has been asked second for so long, ms, and has had too few messages to be judged, is asked first again. */
const FORGIVEN_MS = 60 * 60_000
/** The share of messages that go to such a carrier first: without them nobody would learn that it is good again. */
const TRICKLE = 0.1
/** Messages whose reports are waited for. At a higher rate a part of them stands for all. */
const MOST_WAITING = 5000

interface Standing {
  /** Since when it is asked second; null: it is not. ms since the epoch. */
  secondSince: number | null
  changedAt: number
  reports: { readonly at: number; readonly good: boolean }[]
  /** Messages that it has reported on. */
  reported: number
  /** Messages without a report in time that were followed by one on another message: not every network reports. */
  passedOver: number
  /** Messages without a report in time since its latest report. */
  overdue: number
}

interface Sent {
  readonly provider: string
  readonly sentAt: number
}

export function createCarrierReports(options: {
  readonly clock: Clock
  readonly random: () => number
  /** Called at every change. @param share of good reports among the latest. */
  readonly changed: (provider: string, isSecond: boolean, share: number) => void
}): CarrierReports {
  const { clock, random, changed } = options
  /** Messages without a report, by the carrier's id, in the order in which they were sent: first in time, then overdue. */
  const waiting = new Map<string, Sent>()
  const overdue = new Map<string, Sent>()
  const standings = new Map<string, Standing>()

  function noteSent(provider: string, providerId: string): void {
    const sentAt = clock.now()
    noteOverdue(sentAt)
    if (waiting.size + overdue.size < MOST_WAITING) waiting.set(providerId, { provider, sentAt })
  }

  function noteOverdue(now: number): void {
    for (const [id, sent] of waiting) {
      if (now - sent.sentAt <= IN_TIME_MS) break
      waiting.delete(id)
      overdue.set(id, sent)
      const standing = standings.get(sent.provider)
      if (standing === undefined) continue
      standing.overdue += 1
      if (standing.secondSince === null && isSilent(standing) && now - standing.changedAt >= DWELL_MS)
        change(sent.provider, standing, now, 0)
    }
    for (const [id, { sentAt }] of overdue) {
      if (now - sentAt <= FORGIVEN_MS) break
      overdue.delete(id)
    }
  }

  function noteReport(providerId: string, isDelivered: boolean): void {
    const sent = waiting.get(providerId) ?? overdue.get(providerId)
    if (sent === undefined) return
    waiting.delete(providerId)
    overdue.delete(providerId)
    const now = clock.now()
    const standing = standings.get(sent.provider) ?? {
      secondSince: null,
      changedAt: Number.NEGATIVE_INFINITY,
      reports: [],
      reported: 0,
      passedOver: 0,
      overdue: 0,
    }
    standings.set(sent.provider, standing)
    standing.reported += 1
    standing.passedOver += standing.overdue
    standing.overdue = 0
    // Late reports of earlier messages go on coming for as long as they are late.
    if (standing.secondSince !== null && sent.sentAt < standing.secondSince) return
    const good = isDelivered && now - sent.sentAt <= IN_TIME_MS
    standing.reports = [...standing.reports, { at: now, good }]
      .slice(-LATEST)
      .filter(({ at }) => now - at <= WINDOW_MS)
    judge(sent.provider, standing, now)
  }

  function judge(provider: string, standing: Standing, now: number): void {
    const { reports, secondSince, changedAt } = standing
    if (reports.length < FEWEST || now - changedAt < DWELL_MS) return
    const share = reports.filter(({ good }) => good).length / reports.length
    if (secondSince === null ? share < BAD_BELOW : share >= GOOD_FROM)
      change(provider, standing, secondSince === null ? now : null, share)
  }

  function change(provider: string, standing: Standing, secondSince: number | null, share: number): void {
    Object.assign(standing, { secondSince, changedAt: clock.now(), reports: [], overdue: 0 })
    changed(provider, secondSince !== null, share)
  }

  function isSecond(provider: string): boolean {
    const standing = standings.get(provider)
    if (standing === undefined || standing.secondSince === null) return false
    const now = clock.now()
    const recent = standing.reports.filter(({ at }) => now - at <= WINDOW_MS)
    if (recent.length < FEWEST && now - standing.secondSince > FORGIVEN_MS && !isSilent(standing))
      change(provider, standing, null, 0)
    return standing.secondSince !== null
  }

  return {
    handlers: {
      attempt({ message, provider, outcome }) {
        if (message.channel === 'sms' && outcome.is === 'sent' && outcome.providerId !== undefined)
          noteSent(provider, outcome.providerId)
      },
      receipt({ providerId, status, result }) {
        if (result === 'forged') return
        if (status === 'delivered' || status === 'read') noteReport(providerId, true)
        else if (status === 'undelivered' || status === 'failed') noteReport(providerId, false)
      },
    },
    isSecond,
    order(carriers) {
      if (carriers.length < 2) return carriers
      const second = carriers.filter(({ provider }) => isSecond(provider.name))
      if (second.length === 0 || random() < TRICKLE) return carriers
      return [...carriers.filter(each => !second.includes(each)), ...second]
    },
  }
}

/** Says whether a carrier has stopped reporting: too many messages in a row have no report, given the share that it used to report on. */
function isSilent({ reported, passedOver, overdue }: Standing): boolean {
  return overdue >= (FEWEST * (reported + passedOver)) / reported
}
