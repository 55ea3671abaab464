import { createStringMap } from '../runtime/collections.ts'
import type { Verdict, Verdicts } from './port.ts'

const PENDING: Verdict = { is: 'pending' }

/**
 * @param remember how many of the latest ends are kept at least, and twice as many at most, for a twin that joins a
 *   message whose end is being announced.
 */
export function createVerdicts(remember = 2000): Verdicts {
  const waiting = createStringMap<((verdict: Verdict) => void)[]>()
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
    const all = waiting.get(id)
    if (all === undefined) return
    waiting.delete(id)
    for (const heard of all) heard(verdict)
  }

  return {
    wait(id, heard) {
      const known = recent.get(id) ?? older.get(id) ?? (ended ? PENDING : undefined)
      if (known !== undefined) {
        heard(known)
        return () => undefined
      }
      const all = waiting.get(id)
      if (all === undefined) waiting.set(id, [heard])
      else all.push(heard)
      return () => {
        const left = waiting.get(id)?.filter(each => each !== heard)
        if (left?.length === 0) waiting.delete(id)
        else if (left !== undefined) waiting.set(id, left)
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
