import type { EventHandlers } from '../events/events.ts'
import type { Clock } from '../runtime/clock.ts'
import { createAwaitedReports, IN_TIME_MS } from './awaited-reports.ts'
import { createReportHistory, type ReportHistory } from './report-history.ts'
import type { Carrier } from './route.ts'

/** The share of messages that go to such a carrier first: without them nobody would learn that it is good again. */
const TRICKLE = 0.1

export type CarrierReports = ReturnType<typeof createCarrierReports>

/**
 * Judges SMS carriers by their delivery reports: a carrier whose reports turn late or bad, or stop, is asked second until they are
 * good again, as GOV.UK Notify does. The state is in memory and about the messages that this process sent: reports on messages of
 * another replica count there. A carrier that has never sent a report is not judged, nor is one that is alone in its routes: it is
 * asked first, whatever it reports.
 */
export function createCarrierReports(options: {
  readonly clock: Clock
  readonly random: () => number
  /** The carriers that stand beside another one in a route. */
  readonly judged: ReadonlySet<string>
  /** Called at every change. @param share of good reports among the latest. */
  readonly onChange: (provider: string, isSecond: boolean, share: number) => void
}) {
  const { clock, random, judged, onChange } = options
  const awaited = createAwaitedReports()
  /** Of the carriers that have sent reports. */
  const histories = new Map<string, ReportHistory>()

  function noteSent(provider: string, providerId: string): void {
    const now = clock.now()
    for (const late of awaited.takeLate(now)) histories.get(late.provider)?.noteLate(now)
    awaited.add(providerId, provider, now)
  }

  function noteReport(providerId: string, isDelivered: boolean): void {
    const sent = awaited.take(providerId)
    if (sent === undefined) return
    const { provider, sentAt } = sent
    const now = clock.now()
    const history =
      histories.get(provider) ?? createReportHistory((isSecond, share) => onChange(provider, isSecond, share))
    histories.set(provider, history)
    history.noteReport(sentAt, isDelivered && now - sentAt <= IN_TIME_MS, now)
  }

  const isSecond = (provider: string): boolean => histories.get(provider)?.isSecond(clock.now()) ?? false

  return {
    /** Takes what was sent, and what was reported of it. */
    handlers: {
      attempt({ message, provider, outcome }) {
        if (judged.has(provider) && message.channel === 'sms' && outcome.is === 'sent' && outcome.providerId)
          noteSent(provider, outcome.providerId)
      },
      receipt({ providerId, status, result }) {
        if (result === 'forged') return
        if (status === 'delivered' || status === 'read') noteReport(providerId, true)
        else if (status === 'undelivered' || status === 'failed') noteReport(providerId, false)
      },
    } satisfies EventHandlers,
    isSecond,
    /** The carriers in the order in which they are to be asked: as given, but those with bad reports behind the others. */
    orderCarriers(carriers: readonly Carrier[]): readonly Carrier[] {
      if (carriers.length < 2) return carriers
      const second = carriers.filter(({ provider }) => isSecond(provider.name))
      if (second.length === 0 || random() < TRICKLE) return carriers
      return [...carriers.filter(each => !second.includes(each)), ...second]
    },
  }
}
