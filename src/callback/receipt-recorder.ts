import type { Emit } from '../events/events.ts'
import { type Outbox, StoreUnavailable } from '../outbox/outbox.ts'

/** What a provider reports of a message, under the id that it gave it. */
export interface Receipt {
  readonly providerId: string
  readonly status: string
  readonly errorCode: string | null
}

export type ReceiptResult = 'recorded' | 'stale' | 'unknown'

/** Writes down what providers report, also when the report is here before the message's own end. */
export interface ReceiptRecorder {
  /**
   * Looks for the message once before it resolves, and goes on looking when it is not known yet.
   * @throws StoreUnavailable from the first look; then nothing is remembered.
   */
  record(receipt: Receipt): Promise<void>
  /** Looks no more: what is not known by now is unknown. */
  close(): void
}

export interface ReceiptRecorderOptions {
  readonly outbox: Pick<Outbox, 'writeReceipt'>
  /** ms since the epoch. */
  readonly now: () => number
  /** Gets a `receipt` for every report, when it is known what became of it, and a `fault` when the store has a bug. */
  readonly emit: Emit
  /** The pauses between the looks, ms. */
  readonly pauses?: readonly number[]
  /** The most reports that are looked for again at a time. */
  readonly most?: number
}

/**
 * The id that a report names is committed with the end of the attempt, some ms after the provider has given it; a store
 * that cannot commit then is asked for as long as it takes. Half a minute in all: Twilio itself waits 15 s for an answer.
 */
const PAUSES_MS = [500, 1500, 3000, 5000, 10_000, 10_000]
/** Some 100 octets each. Beyond, a report that is too early is unknown at once. */
const MOST = 1000

export function createReceiptRecorder(options: ReceiptRecorderOptions): ReceiptRecorder {
  const { outbox, now, emit, pauses = PAUSES_MS, most = MOST } = options
  const waiting = new Map<NodeJS.Timeout, Receipt>()
  let closed = false
  /** Between its pauses a report is in no timer. */
  let looking = 0

  const look = (receipt: Receipt, at: number): Promise<ReceiptResult> =>
    outbox.writeReceipt('sms', receipt.providerId, receipt.status, receipt.errorCode, at)

  function later(receipt: Receipt, at: number, tries: number): void {
    const pause = pauses[tries]
    if (pause === undefined || closed) return emit({ type: 'receipt', ...receipt, result: 'unknown' })
    const timer = setTimeout(() => {
      waiting.delete(timer)
      looking += 1
      void again(receipt, at, tries).finally(() => {
        looking -= 1
      })
    }, pause).unref()
    waiting.set(timer, receipt)
  }

  async function again(receipt: Receipt, at: number, tries: number): Promise<void> {
    try {
      const result = await look(receipt, at)
      if (result === 'unknown') later(receipt, at, tries + 1)
      else emit({ type: 'receipt', ...receipt, result })
    } catch (error) {
      if (!closed && !(error instanceof StoreUnavailable)) emit({ type: 'fault', error: error as Error })
      later(receipt, at, tries + 1)
    }
  }

  return {
    async record(receipt) {
      const at = now()
      const result = await look(receipt, at)
      if (result === 'unknown' && waiting.size + looking < most) later(receipt, at, 0)
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
