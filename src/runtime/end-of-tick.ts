/**
 * Does things at the end of the current turn of the event loop, those of one turn together and in their order.
 *
 * Answers that are ready in the same turn are written so: each write wakes whoever reads on the other side, and one
 * that is awake already costs a third as much. Under light load a turn has one answer, and nothing waits for another.
 *
 * @returns what takes an act, which must not throw.
 */
export function createEndOfTickBatch(): (act: () => void) => void {
  let acts: (() => void)[] = []
  const end = () => {
    const all = acts
    acts = []
    for (const act of all) act()
  }
  return act => {
    if (acts.push(act) === 1) setImmediate(end)
  }
}
