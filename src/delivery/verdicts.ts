import type { Emit } from '../events/events.ts'
import { type AdminQueries, StoreUnavailable } from '../outbox/outbox.ts'
import { createBackoff } from '../runtime/backoff.ts'
import type { Clock } from '../runtime/clock.ts'
import { createStringMap } from '../runtime/collections.ts'
import type { Verdict, Verdicts } from './port.ts'

const PENDING: Verdict = { is: 'pending' }

/**
 * @param remember how many of the latest verdicts are kept at least, and twice as many at most: a duplicate may be found just
 *   when the end of its message is announced, and then it still learns of it.
 */
export function createVerdicts(remember = 2000): Verdicts {
  const waiting = createStringMap<((verdict: Verdict) => void)[]>()
  let recent = createStringMap<Verdict>()
  let older = createStringMap<Verdict>()
  let ended = false

  function announce(id: string, verdict: Verdict): void {
    if (verdict.is === 'final') {
      if (recent.size >= remember && recent.get(id) === undefined) {
        older = recent
        recent = createStringMap()
      }
      recent.set(id, verdict)
    }
    const all = waiting.get(id)
    if (all === undefined) return
    waiting.delete(id)
    for (const onVerdict of all) onVerdict(verdict)
  }

  return {
    wait(id, onVerdict) {
      const known = recent.get(id) ?? older.get(id) ?? (ended ? PENDING : undefined)
      if (known !== undefined) {
        onVerdict(known)
        return () => undefined
      }
      const all = waiting.get(id)
      if (all === undefined) waiting.set(id, [onVerdict])
      else all.push(onVerdict)
      return () => {
        const others = waiting.get(id)?.filter(each => each !== onVerdict)
        if (others?.length === 0) waiting.delete(id)
        else if (others !== undefined) waiting.set(id, others)
      }
    },
    announce,
    end() {
      ended = true
      for (const id of waiting.names()) announce(id, PENDING)
    },
  }
}

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
      if (state === 'queued') return dueAt != null && dueAt > clock.now() ? PENDING : undefined
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
