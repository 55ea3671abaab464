import type { Emit } from '../events/events.ts'
import { type AdminQueries, StoreUnavailable } from '../outbox/outbox.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Verdicts } from './port.ts'

export interface VerdictPollerOptions {
  readonly desk: Pick<AdminQueries, 'findMessage'>
  readonly verdicts: Verdicts
  readonly clock: Clock
  readonly emit: Emit
  /** How long a callback may wait for its verdict, ms. */
  readonly forMs: number
}

const FIRST_LOOK_MS = 100
const LONGEST_PAUSE_MS = 400
/** More than these at a time wait until they must be answered: looking must not become a load of its own. */
const MOST = 32

/**
 * Announces the end of messages that another replica sends: looks into the store until a message has an end, comes
 * back for a retry, or nobody can be waiting for it any more. So two replicas that are given the same body at once
 * answer the same.
 */
export function createVerdictPoller({
  desk,
  verdicts,
  clock,
  emit,
  forMs,
}: VerdictPollerOptions): (id: string) => void {
  const followed = new Set<string>()

  async function look(id: string): Promise<void> {
    const message = await desk.findMessage(id)
    if (message === null) return
    const { state, answer, dueAt } = message
    if (state === 'sending') return
    if (state !== 'queued') verdicts.announce(id, { is: 'final', state, answer })
    else if (dueAt !== null && dueAt > clock.now()) verdicts.announce(id, { is: 'pending' })
  }

  async function follow(id: string): Promise<void> {
    let heard = false
    const stop = verdicts.wait(id, () => {
      heard = true
    })
    const until = performance.now() + forMs
    for (let pause = FIRST_LOOK_MS; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
      await new Promise(resolve => setTimeout(resolve, pause).unref())
      if (heard || performance.now() > until) break
      try {
        await look(id)
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
      }
    }
    stop()
  }

  return id => {
    if (followed.has(id) || followed.size >= MOST) return
    followed.add(id)
    void follow(id)
      .catch((error: unknown) => emit({ type: 'fault', error: error as Error }))
      .finally(() => followed.delete(id))
  }
}
