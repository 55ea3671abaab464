import type { EventOf } from '../events/events.ts'
import type { NewMessage } from '../messages/message.ts'
import {
  type FinalAnswer,
  type FinalState,
  type Settled,
  type SettledByStore,
  type Settlement,
  StoreUnavailable,
} from '../outbox/outbox.ts'
import { createBackoff } from '../runtime/backoff.ts'
import type { AttemptsOptions, Job } from './attempt.ts'
import type { Verdicts } from './port.ts'

export interface SettlerOptions extends Pick<AttemptsOptions, 'outbox' | 'clock' | 'emit'> {
  readonly verdicts: Verdicts
  /** Called when the store has taken all settlements that waited. */
  readonly onCaughtUp: () => void
}

const WAIT_MS = { first: 50, most: 1000 }

export interface Settler {
  /** Whether an end waits for the store to take it: until none does, nothing is claimed or begun. */
  readonly isBehind: boolean
  /**
   * Writes one settlement, and tries again for as long as the store cannot take it. The callbacks that wait hear of it; a final one
   * is reported as an event, too.
   *
   * @param ran whether an attempt has ended; otherwise the message only waited.
   * @returns the message's state as the store wrote it; null: given up, see `abandon`.
   */
  settle(job: Job, settlement: Settlement, ran: boolean): Promise<Settled | null>
  /** Tells of the messages that the store has ended by itself. It refuses only what it cannot read. */
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

  /** Tells of an end that the store has: the callbacks that wait, and whoever hears events. */
  function tellEnd(
    { id, channel, kind }: Pick<NewMessage, 'id' | 'channel' | 'kind'>,
    state: FinalState,
    answer: FinalAnswer,
    more: Pick<EventOf<'final'>, 'tookMs' | 'providerId'> = {},
  ): void {
    verdicts.announce(id, { is: 'final', state, answer })
    emit({ type: 'final', id, channel, kind, state, answer, ...more })
  }

  return {
    get isBehind() {
      return unwritten > 0
    },
    async settle(job, settlement, ran) {
      const { message } = job
      // The callback may be answered before the verdict is written: the message itself is committed already, and after a crash
      // in between it counts as ambiguous, as it must.
      if (settlement.to === 'queued') verdicts.announce(message.id, { is: 'pending' })
      else if (ran)
        verdicts.announce(message.id, { is: 'final', state: settlement.state, answer: settlement.answer })
      const settled = await write(job, settlement)
      if (settled === null || settled.state === 'lost') return settled
      if (settled.state === 'queued' || settled.state === 'sending') return settled
      const providerId = settlement.to === 'final' ? settlement.providerId : undefined
      tellEnd(message, settled.state, settled.answer, {
        ...(ran && { tookMs: clock.now() - message.arrivedAt }),
        ...(providerId !== undefined && { providerId }),
      })
      return settled
    },
    reportEnded(ended) {
      for (const message of ended) {
        const { id, channel, kind, state } = message
        tellEnd(message, state, state === 'refused' ? 'content' : null)
        if (state === 'refused') emit({ type: 'unreadable', id, channel, kind })
      }
    },
    abandon() {
      abandoned = true
    },
  }
}
