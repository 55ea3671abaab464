import type { Emit } from '../events/events.ts'
import { type Outbox, StoreUnavailable } from '../outbox/outbox.ts'

/** A provider's delivery report on a message, which it names by its own id. */
export interface Receipt {
  readonly providerId: string
  readonly status: string
  readonly errorCode: string | null
}

export type ReceiptResult = 'recorded' | 'stale' | 'unknown'

/** Stores delivery reports, also those that come before the message itself is settled. */
export interface ReceiptRecorder {
  /**
   * Tries to store the report once before it resolves, and goes on trying while no message has the report's id.
   * @throws StoreUnavailable from the first try; then the report is not kept.
   */
  record(receipt: Receipt): Promise<void>
  /** Gives up the reports whose message was not found yet: they are `unknown`. */
  close(): void
}

export interface ReceiptRecorderOptions {
  readonly outbox: Pick<Outbox, 'writeReceipt'>
  /** ms since the epoch. */
  readonly now: () => number
  /** Gets a `receipt` for every report, when it is known what became of it, and a `fault` when the store has a bug. */
  readonly emit: Emit
  /** The pauses between the tries, ms. */
  readonly pauses?: readonly number[]
  /** The most reports that wait for another try. */
  readonly most?: number
}

/**
 * The id that a report names is committed when the attempt is settled, some ms after the provider gave it, or later when
 * the store cannot commit. Half a minute in all: Twilio itself waits 15 s for an answer.
 */
const PAUSES_MS = [500, 1500, 3000, 5000, 10_000, 10_000]
/** A report takes some 100 octets. Beyond this many, one that comes too early is `unknown` at once. */
const MOST = 1000

export function createReceiptRecorder(options: ReceiptRecorderOptions): ReceiptRecorder {
  const { outbox, now, emit, pauses = PAUSES_MS, most = MOST } = options
  const waiting = new Map<NodeJS.Timeout, Receipt>()
  let closed = false
  /** Reports that are being tried again: their timers are over. */
  let retrying = 0

  const write = (receipt: Receipt, at: number): Promise<ReceiptResult> =>
    outbox.writeReceipt('sms', receipt.providerId, receipt.status, receipt.errorCode, at)

  function retryLater(receipt: Receipt, at: number, tries: number): void {
    const pause = pauses[tries]
    if (pause === undefined || closed) return emit({ type: 'receipt', ...receipt, result: 'unknown' })
    const timer = setTimeout(() => {
      waiting.delete(timer)
      retrying += 1
      void retry(receipt, at, tries).finally(() => {
        retrying -= 1
      })
    }, pause).unref()
    waiting.set(timer, receipt)
  }

  async function retry(receipt: Receipt, at: number, tries: number): Promise<void> {
    try {
      const result = await write(receipt, at)
      if (result === 'unknown') retryLater(receipt, at, tries + 1)
      else emit({ type: 'receipt', ...receipt, result })
    } catch (error) {
      if (!closed && !(error instanceof StoreUnavailable)) emit({ type: 'fault', error: error as Error })
      retryLater(receipt, at, tries + 1)
    }
  }

  return {
    async record(receipt) {
      const at = now()
      const result = await write(receipt, at)
      if (result === 'unknown' && waiting.size + retrying < most) retryLater(receipt, at, 0)
      else emit({ type: 'receipt', ...receipt, result })
    },
    close() {
      closed = true
      for (const [timer, receipt] of waiting) {
        clearTimeout(timer)
        emit({ type: 'receipt', ...receipt, result: 'unknown' })
      }
      waiting.clear()
    },
  }
}
