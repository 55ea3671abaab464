import type { Emit } from '../events/events.ts'
import {
  type Outbox,
  type Settled,
  type SettledByStore,
  type Settlement,
  StoreUnavailable,
} from '../outbox/outbox.ts'
import { createBackoff } from '../runtime/backoff.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Job } from './attempt.ts'
import type { Verdicts } from './port.ts'

export interface SettlerOptions {
  readonly outbox: Outbox
  readonly clock: Clock
  readonly verdicts: Verdicts
  readonly emit: Emit
  /** Called when the store has taken all settlements that waited. */
  readonly onCaughtUp: () => void
}

const WAIT_MS = { first: 50, most: 1000 }

export interface Settler {
  /** Whether an end waits for the store to take it: until none does, nothing is claimed or begun. */
  readonly isBehind: boolean
  /**
   * Writes one settlement, and tries again for as long as the store cannot take it. A final one is announced to the callbacks
   * that wait, and reported as an event.
   *
   * @param ran whether an attempt has ended; otherwise the message only waited.
   * @returns the message's state as the store wrote it; null: given up, see `abandon`.
   */
  settle(job: Job, settlement: Settlement, ran: boolean): Promise<Settled | null>
  /** Announces and reports the messages that the store has ended by itself. It refuses only what it cannot read. */
  reportEnded(ended: readonly SettledByStore[]): void
  /** Gives up on what the store has not taken: the process ends, and the leases run out. */
  abandon(): void
}

/** Writes the ends of messages, of all channels. Nothing else does. */
export function createSettler(options: SettlerOptions): Settler {
  const { outbox, clock, verdicts, emit, onCaughtUp } = options
  /** How many ends wait for the store to take them. */
  let unwritten = 0
  let abandoned = false

  /** Has the store take an end, however often that needs to be tried. @returns null: given up, see `abandon`. */
  async function write({ message, lease }: Job, settlement: Settlement): Promise<Settled | null> {
    const backoff = createBackoff(WAIT_MS)
    let waits = false
    for (;;) {
      try {
        const settled = await outbox.settle(message.id, lease, settlement)
        if (waits) unwritten -= 1
        if (waits && unwritten === 0) onCaughtUp()
        return settled
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        if (!waits) {
          emit({ type: 'store-failed', doing: 'settle', error })
          unwritten += 1
        }
        waits = true
      }
      if (abandoned) return null
      await new Promise(resolve => setTimeout(resolve, backoff.failed()))
    }
  }

  function reportEnded(ended: readonly SettledByStore[]): void {
    for (const { id, state, channel, kind } of ended) {
      const answer = state === 'refused' ? 'content' : null
      verdicts.announce(id, { is: 'final', state, answer })
      emit({ type: 'final', id, channel, kind, state, answer })
      if (state === 'refused') emit({ type: 'unreadable', id, channel, kind })
    }
  }

  return {
    get isBehind() {
      return unwritten > 0
    },
    async settle(job, settlement, ran) {
      const settled = await write(job, settlement)
      if (settled === null || settled.state === 'lost') return settled
      if (settled.state === 'queued' || settled.state === 'sending') return settled
      const { id, channel, kind, arrivedAt } = job.message
      const { state, answer } = settled
      const providerId = settlement.to === 'final' ? settlement.providerId : undefined
      verdicts.announce(id, { is: 'final', state, answer })
      emit({
        type: 'final',
        id,
        channel,
        kind,
        state,
        answer,
        ...(ran && { tookMs: clock.now() - arrivedAt }),
        ...(providerId !== undefined && { providerId }),
      })
      return settled
    },
    reportEnded,
    abandon() {
      abandoned = true
    },
  }
}
