import { StoreUnavailable } from './outbox.ts'

export interface GroupCommitOptions<Call, Value> {
  /**
   * Runs calls in one transaction; gives each its value, or an error that is its own.
   * Rejects when none of them was committed: with StoreUnavailable, or with what one of them is to blame for.
   */
  readonly run: (calls: readonly Call[]) => Promise<readonly (Value | Error)[]>
  /** Says how many messages a call holds; 1 unless given. */
  readonly weight?: (call: Call) => number
  /** Messages in one transaction at most, unless a single call has more. */
  readonly max: number
}

export interface GroupCommit<Call, Value> {
  call(call: Call): Promise<Value>
  /** Resolves when nothing waits or is under way. */
  idle(): Promise<void>
}

type Waiting<Call, Value> = Omit<PromiseWithResolvers<Value>, 'promise'> & { readonly call: Call }

/**
 * Shares commits: the calls of one turn of the event loop go into one transaction, and those that come while one
 * is under way go into the next one together.
 *
 * A call that fails by its own fault (a bug, or values that are refused) must not make the others fail. It should never happen, so
 * nothing is prepared for it: the calls are run again instead, in halves, until it is alone.
 */
export function createGroupCommit<Call, Value>(
  options: GroupCommitOptions<Call, Value>,
): GroupCommit<Call, Value> {
  const { run, max, weight } = options
  let queue: Waiting<Call, Value>[] = []
  let isUnderWay = false
  let whenIdle: (() => void)[] = []

  function flush(): void {
    if (isUnderWay || queue.length === 0) return
    // At least one call, and as many more as find room.
    let together = 0
    for (let room = max; together < queue.length; together += 1) {
      room -= weight?.((queue[together] as Waiting<Call, Value>).call) ?? 1
      if (room < 0 && together > 0) break
    }
    const batch = queue.slice(0, together)
    queue = queue.slice(batch.length)
    isUnderWay = true
    void runBatch(batch).then(noteDone)
  }

  function noteDone(): void {
    isUnderWay = false
    flush()
    if (isUnderWay) return
    for (const resolve of whenIdle) resolve()
    whenIdle = []
  }

  async function runBatch(batch: readonly Waiting<Call, Value>[]): Promise<void> {
    try {
      const calls: Call[] = []
      for (const { call } of batch) calls.push(call)
      const values = await run(calls)
      for (const [at, { resolve, reject }] of batch.entries()) {
        const value = values[at]
        if (value instanceof Error) reject(value)
        else resolve(value as Value)
      }
    } catch (error) {
      if (!(error instanceof StoreUnavailable) && batch.length > 1) {
        const half = Math.ceil(batch.length / 2)
        await runBatch(batch.slice(0, half))
        await runBatch(batch.slice(half))
        return
      }
      for (const each of batch) each.reject(error)
    }
  }

  return {
    call(call) {
      const { promise, resolve, reject } = Promise.withResolvers<Value>()
      queue.push({ call, resolve, reject })
      if (queue.length === 1) setImmediate(flush)
      return promise
    },
    async idle() {
      flush()
      if (isUnderWay) await new Promise<void>(resolve => whenIdle.push(resolve))
    },
  }
}
