/** The number of the latest reports that count, and the oldest age of them. */
const LATEST = 50
const WINDOW_MS = 30 * 60_000
/** With fewer reports no carrier is judged. */
const FEWEST = 20
/** Below the first share of good reports a carrier is asked second; from the second share on it is asked first again. They differ so that it does not flap. */
const BAD_BELOW = 0.7
const GOOD_FROM = 0.9
/** The least between two changes of one carrier. */
const DWELL_MS = 10 * 60_000
/** A carrier that has been asked second for so long, ms, and has had too few messages to be judged, is asked first again. */
const FORGIVEN_MS = 60 * 60_000

export type ReportHistory = ReturnType<typeof createReportHistory>

/**
 * The delivery reports of one carrier, and whether it is asked second for them. Times are ms since the epoch.
 * @param onChange called at every change, with the share of good reports among the latest.
 */
export function createReportHistory(onChange: (isSecond: boolean, share: number) => void) {
  /** Since when it is asked second; null: it is not. */
  let secondSince: number | null = null
  let changedAt = Number.NEGATIVE_INFINITY
  let reports: { readonly at: number; readonly good: boolean }[] = []
  /** Messages that it has reported on. */
  let reported = 0
  /** Messages without a report in time that were followed by one on another message: not every network reports. */
  let passedOver = 0
  /** Messages without a report in time since its latest report. */
  let overdue = 0

  function change(next: number | null, now: number, share: number): void {
    secondSince = next
    changedAt = now
    reports = []
    overdue = 0
    onChange(next !== null, share)
  }

  /** Says whether a carrier has stopped reporting: too many messages in a row have no report, given the share that it used to report on. */
  const isSilent = (): boolean => overdue >= (FEWEST * (reported + passedOver)) / reported

  return {
    noteReport(sentAt: number, good: boolean, now: number): void {
      reported += 1
      passedOver += overdue
      overdue = 0
      // Late reports of earlier messages go on coming for as long as they are late.
      if (secondSince !== null && sentAt < secondSince) return
      reports = [...reports, { at: now, good }].slice(-LATEST).filter(({ at }) => now - at <= WINDOW_MS)
      if (reports.length < FEWEST || now - changedAt < DWELL_MS) return
      const share = reports.filter(each => each.good).length / reports.length
      if (secondSince === null ? share < BAD_BELOW : share >= GOOD_FROM)
        change(secondSince === null ? now : null, now, share)
    },
    /** A message has no report in time. */
    noteLate(now: number): void {
      overdue += 1
      if (secondSince === null && isSilent() && now - changedAt >= DWELL_MS) change(now, now, 0)
    },
    isSecond(now: number): boolean {
      if (secondSince === null) return false
      const recent = reports.filter(({ at }) => now - at <= WINDOW_MS)
      if (recent.length < FEWEST && now - secondSince > FORGIVEN_MS && !isSilent()) change(null, now, 0)
      return secondSince !== null
    },
  }
}
