import { StoreUnavailable } from '../outbox.ts'
import { ValuesRefused } from '../refused-values.ts'
import { classifyError } from './errors.ts'

export interface GroupCommitOptions<Call, Value> {
  /** Runs calls in one transaction; gives each its value, or an error that is its own. */
  readonly run: (calls: readonly Call[], again: boolean) => Promise<readonly Value[]>
  /** Says how many messages a call holds. */
  readonly weight: (call: Call) => number
  /** Messages in one transaction at most, unless a single call has more. */
  readonly max: number
  /** Within how many ms of its beginning a failed transaction is worth another try. */
  readonly againWithinMs: number
}

interface Waiting<Call, Value> {
  readonly call: Call
  resolve(value: Exclude<Value, Error>): void
  reject(error: Error): void
}

/** Shares commits: calls that come while a transaction runs go into the next one together. */
export function createGroupCommit<Call, Value>(options: GroupCommitOptions<Call, Value>) {
  const { run, weight, max, againWithinMs } = options
  let queue: Waiting<Call, Value>[] = []
  let running: Promise<void> | undefined

  async function drain(): Promise<void> {
    // One turn of the event loop, so that calls that came together are seen together.
    await new Promise(resolve => setImmediate(resolve))
    while (queue.length > 0) {
      const batch = queue.slice(0, countTogether(queue, weight, max))
      queue = queue.slice(batch.length)
      await runBatch(batch)
    }
    running = undefined
  }

  async function runBatch(batch: readonly Waiting<Call, Value>[]): Promise<void> {
    try {
      const values = await runWithRetry(batch.map(each => each.call))
      batch.forEach((each, at) => {
        const value = values[at]
        if (value instanceof Error) each.reject(value)
        else each.resolve(value as Exclude<Value, Error>)
      })
    } catch (error) {
      const fault = classifyError(error)
      if ((fault === null || fault === 'refused') && batch.length > 1) {
        // A bug, or a value that is refused, in one of them: the others must not suffer from it.
        for (const each of batch) await runBatch([each])
        return
      }
      for (const each of batch) each.reject(toError(error))
    }
  }

  async function runWithRetry(calls: readonly Call[]): Promise<readonly Value[]> {
    const began = performance.now()
    try {
      return await run(calls, false)
    } catch (error) {
      if (classifyError(error) !== 'again' || performance.now() - began > againWithinMs) throw error
      return await run(calls, true)
    }
  }

  return {
    call: (call: Call) =>
      new Promise<Exclude<Value, Error>>((resolve, reject) => {
        queue.push({ call, resolve, reject })
        running ??= drain()
      }),
    /** Resolves when nothing is under way. */
    async idle() {
      await running
    },
  }
}

/** How many of the first calls go into one transaction: as many as hold `max` messages, but one at least. */
function countTogether<Call>(
  queue: readonly { readonly call: Call }[],
  weight: (call: Call) => number,
  max: number,
): number {
  let room = max
  let together = 0
  for (const { call } of queue) {
    room -= weight(call)
    if (room < 0 && together > 0) break
    together += 1
  }
  return together
}

/** The error that a caller of the port gets. */
export function toError(error: unknown): Error {
  if (error instanceof StoreUnavailable) return error
  const fault = classifyError(error)
  // The server's own words would quote the value.
  if (fault === 'refused')
    return new ValuesRefused(`the database cannot hold it (${(error as { code: string }).code})`)
  const message = error instanceof Error ? error.message : 'unknown fault'
  if (fault === null) return new Error(`a fault in the store: ${message}`, { cause: error })
  return new StoreUnavailable(`the store cannot commit now: ${message}`, { cause: error })
}
