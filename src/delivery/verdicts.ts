import { createStringMap } from '../runtime/collections.ts'
import type { Verdict, Verdicts } from './port.ts'

const PENDING: Verdict = { is: 'pending' }

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
