import type { FinalAnswer, FinalState } from '../outbox/outbox.ts'
import { createStringMap } from '../runtime/collections.ts'

/** What a waiting callback learns of one message. */
export type Verdict =
  | { readonly is: 'final'; readonly state: FinalState; readonly answer: FinalAnswer }
  /** Not settled before the caller must be answered: it is stored, and being tried until it expires. */
  | { readonly is: 'pending' }

const PENDING: Verdict = { is: 'pending' }

/** Brings the end of a message to the callbacks that wait for it. In memory, of this process. */
export interface Verdicts {
  /** Calls back once, with the verdict; at once when it is known already. Returns how to stop waiting. */
  wait(id: string, heard: (verdict: Verdict) => void): () => void
  announce(id: string, verdict: Verdict): void
  /** Delivery has ended: whoever waits, or will wait, for an end that is not known hears at once that it is pending. */
  end(): void
}

/**
 * @param remember how many of the latest ends are kept at least, and twice as many at most, for a twin that joins a
 *   message whose end is being announced.
 */
export function createVerdicts(remember = 2000): Verdicts {
  const waiting = createStringMap<Set<(verdict: Verdict) => void>>()
  let recent = createStringMap<Verdict>()
  let older = createStringMap<Verdict>()
  let ended = false

  function keep(id: string, verdict: Verdict): void {
    if (recent.size >= remember && recent.get(id) === undefined) {
      older = recent
      recent = createStringMap()
    }
    recent.set(id, verdict)
  }

  function announce(id: string, verdict: Verdict): void {
    const set = waiting.get(id)
    if (set === undefined) return
    waiting.delete(id)
    for (const heard of set) heard(verdict)
  }

  return {
    wait(id, heard) {
      const known = recent.get(id) ?? older.get(id) ?? (ended ? PENDING : undefined)
      if (known !== undefined) {
        heard(known)
        return () => undefined
      }
      const set = waiting.get(id)
      if (set === undefined) waiting.set(id, new Set([heard]))
      else set.add(heard)
      return () => {
        const left = waiting.get(id)
        if (left?.delete(heard) === true && left.size === 0) waiting.delete(id)
      }
    },
    announce(id, verdict) {
      if (verdict.is === 'final') keep(id, verdict)
      announce(id, verdict)
    },
    end() {
      ended = true
      for (const id of waiting.names()) announce(id, PENDING)
    },
  }
}
