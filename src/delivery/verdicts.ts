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
