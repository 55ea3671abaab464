export interface SentSms {
  readonly provider: string
  /** ms since the epoch. */
  readonly sentAt: number
}

/** A report is late from then on; GOV.UK Notify takes four minutes, too. */
export const IN_TIME_MS = 4 * 60_000
/** From then on a report is not waited for any more. */
const FORGOTTEN_MS = 60 * 60_000
/** The most messages whose reports are awaited. At a higher rate these are a sample of all. */
const MOST_WAITING = 5000

/** SMS that were sent, and of which no delivery report has come yet. */
export function createAwaitedReports() {
  /** By the carrier's id, in the order in which they were sent. The first map has those whose report is not late yet. */
  const inTime = new Map<string, SentSms>()
  const late = new Map<string, SentSms>()

  return {
    add(providerId: string, provider: string, now: number): void {
      if (inTime.size + late.size < MOST_WAITING) inTime.set(providerId, { provider, sentAt: now })
    },
    /** The message of a report that has come; undefined: none that is waited for. It is waited for no more. */
    take(providerId: string): SentSms | undefined {
      const sent = inTime.get(providerId) ?? late.get(providerId)
      inTime.delete(providerId)
      late.delete(providerId)
      return sent
    },
    /** The messages whose reports became late since the last call, in the order in which they were sent. */
    takeLate(now: number): readonly SentSms[] {
      const since: SentSms[] = []
      for (const [id, sent] of inTime) {
        if (now - sent.sentAt <= IN_TIME_MS) break
        inTime.delete(id)
        late.set(id, sent)
        since.push(sent)
      }
      for (const [id, { sentAt }] of late) {
        if (now - sentAt <= FORGOTTEN_MS) break
        late.delete(id)
      }
      return since
    },
  }
}
