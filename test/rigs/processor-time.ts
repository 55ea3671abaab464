/** Some kernels count processor time in ticks of 4 ms: less than this, ms, is no measure. */
const LEAST_MS = 200
/** What seems to cost too much is compared so often, the one and its twin in turns. */
const TURNS = 3

type Action = () => unknown

/** Repeats an action until it has taken long enough of this thread, or has been called so often: others are not counted. */
async function spend(action: Action, mostCalls = Number.POSITIVE_INFINITY) {
  const before = process.threadCpuUsage()
  let ms = 0
  let calls = 0
  for (let next = 1; ms < LEAST_MS && calls < mostCalls; next = Math.min(calls, mostCalls - calls)) {
    for (let n = 0; n < next; n += 1) await action()
    calls += next
    const { user, system } = process.threadCpuUsage(before)
    ms = (user + system) / 1000
  }
  return { ms, calls }
}

/** @returns how many times as much of the processor's time an action takes as its twin, measured in turns. */
export async function compareCosts(action: Action, twin: Action): Promise<number> {
  const sums = { action: 0, twin: 0 }
  for (let turn = 0; turn < TURNS; turn += 1) {
    const [one, other] = [await spend(action), await spend(twin)]
    sums.action += one.ms / one.calls
    sums.twin += other.ms / other.calls
  }
  return sums.action / sums.twin
}

/**
 * Judges many actions beside one harmless twin. An action that does not fill a measure in as many calls as the twin needs, divided by
 * `most`, is let go; any other is compared with the twin in turns.
 * @returns finds how many times as much an action takes; null: no more than `most` times.
 */
export async function createCostLimit(
  twin: Action,
  most: number,
): Promise<(action: Action) => Promise<number | null>> {
  // What is compiled meanwhile is not measured.
  await spend(twin)
  const { ms, calls } = await spend(twin)
  const fewest = Math.max(1, Math.ceil(((LEAST_MS / ms) * calls) / most))
  return async action => {
    if ((await spend(action, fewest)).ms < LEAST_MS) return null
    const times = await compareCosts(action, twin)
    return times <= most ? null : times
  }
}
