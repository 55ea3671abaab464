import type { Verdict, Verdicts } from '../delivery/port.ts'
import type { Emit } from '../events/events.ts'
import { type AdminQueries, StoreUnavailable } from '../outbox/outbox.ts'
import { createBackoff } from '../runtime/backoff.ts'
import type { Clock } from '../runtime/clock.ts'

export interface VerdictPollerOptions {
  readonly findMessage: AdminQueries['findMessage']
  readonly verdicts: Verdicts
  readonly clock: Clock
  readonly emit: Emit
  /** How long a callback may wait for its verdict, ms. */
  readonly forMs: number
}

const POLL_MS = { first: 100, most: 400 }
/** The most messages that are polled at a time: polling must not become a load of its own. Others are answered at their deadline. */
const MOST_POLLED = 32

/**
 * Announces the end of messages that another replica sends. It polls the store until a message has ended, waits for a retry,
 * or nobody can be waiting for its verdict any more. So two replicas that are given the same body at once answer the same.
 */
export function createVerdictPoller({
  findMessage,
  verdicts,
  clock,
  emit,
  forMs,
}: VerdictPollerOptions): (id: string) => void {
  const polled = new Set<string>()

  /** @returns what became of a message; undefined: nobody knows yet, or the store is away */
  async function look(id: string): Promise<Verdict | undefined> {
    try {
      const { state, answer, dueAt } = (await findMessage(id)) ?? { state: 'sending' }
      if (state === 'queued') return dueAt != null && dueAt > clock.now() ? { is: 'pending' } : undefined
      return state === 'sending' ? undefined : { is: 'final', state, answer: answer ?? null }
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      return undefined
    }
  }

  async function pollUntilFinal(id: string): Promise<void> {
    let isAnnounced = false
    const stop = verdicts.wait(id, () => {
      isAnnounced = true
    })
    const until = performance.now() + forMs
    const backoff = createBackoff(POLL_MS)
    for (;;) {
      await new Promise(resolve => setTimeout(resolve, backoff.failed()).unref())
      if (isAnnounced || performance.now() > until) break
      const verdict = await look(id)
      if (verdict !== undefined) verdicts.announce(id, verdict)
    }
    stop()
  }

  return id => {
    if (polled.has(id) || polled.size >= MOST_POLLED) return
    polled.add(id)
    void pollUntilFinal(id)
      .catch((error: unknown) => emit({ type: 'fault', error: error as Error }))
      .finally(() => polled.delete(id))
  }
}
