import type { EventEmitter } from 'node:events'
import type {
  CallArguments,
  CallFailure,
  CallName,
  CallResult,
  MessageFromWorker,
  MessageToWorker,
  StoreCall,
  StoreReply,
} from '../calls.ts'
import { BacklogFull, type StoreOptions, StoreUnavailable } from '../outbox.ts'
import { ValuesRefused } from '../refused-values.ts'

/** The thread that serves the store (serve-store.ts), as its caller sees it. */
export type StoreThread = Pick<EventEmitter, 'on' | 'once' | 'off'> & {
  postMessage(message: MessageToWorker, transfer: readonly []): void
}

export type ThreadCalls = ReturnType<typeof createThreadCalls>

/** The thread works on one batch, and has the next one waiting. */
const MAX_BATCHES_IN_FLIGHT = 2

/** Calls into the store's thread. All throw StoreUnavailable once it has ended. */
export function createThreadCalls(
  worker: StoreThread,
  { log, onCommit }: Pick<StoreOptions, 'log' | 'onCommit'>,
) {
  const batches = createBatches(worker)
  const pending = createPendingCalls()
  const backups = createBackups(worker)
  let ended: Error | undefined

  function end(reason: Error): void {
    ended ??= reason
    batches.clear()
    pending.failAll(ended)
    backups.fail(ended)
  }

  worker.on('message', (message: MessageFromWorker) => {
    if (message.is === 'replies') {
      batches.noteReplied(message.batches)
      for (const reply of message.replies) pending.settle(reply)
      onCommit?.({ ms: message.ms, calls: message.replies.length })
    } else if (message.is === 'backed-up') backups.settle(message.failure)
    else if (message.is === 'background-failure') log?.({ doing: message.doing, message: message.message })
  })
  worker.on('error', error => {
    end(new Error("the store's thread failed", { cause: error }))
    // This is a bug, and without its store the service is of no use: it ends, and is started again.
    throw new Error("the store's thread failed", { cause: error })
  })
  worker.on('exit', () => end(new Error('the store is closed')))

  return {
    call: <N extends CallName>(name: N, takes: CallArguments<N>) =>
      new Promise<CallResult<N>>((resolve, reject) => {
        if (ended !== undefined) {
          reject(new StoreUnavailable(ended.message, { cause: ended }))
          return
        }
        const number = pending.add(value => resolve(value as CallResult<N>), reject)
        batches.add([number, name, takes] as unknown as StoreCall)
      }),
    /** Makes a backup; a second one at the same time is refused. */
    async backUp(file: string): Promise<void> {
      if (ended !== undefined) throw new StoreUnavailable(ended.message, { cause: ended })
      await backups.begin(file)
    },
    /** Sends what has gathered, and waits for the thread to end. */
    async close(): Promise<void> {
      batches.sendAll()
      if (ended !== undefined) return
      const exited = new Promise<void>(resolve => worker.once('exit', () => resolve()))
      worker.postMessage('close', [])
      await exited
    },
  }
}

/**
 * Sends the calls of one turn of the event loop in one batch. While the thread has enough to do, more calls gather here, since
 * each batch wakes a thread, which costs more than a call.
 */
function createBatches(worker: StoreThread) {
  let queue: StoreCall[] = []
  let inFlight = 0

  function flush(): void {
    if (queue.length === 0 || inFlight >= MAX_BATCHES_IN_FLIGHT) return
    const batch = queue
    queue = []
    inFlight += 1
    worker.postMessage(batch, [])
  }

  return {
    add(call: StoreCall): void {
      queue.push(call)
      if (queue.length === 1) setImmediate(flush)
    },
    noteReplied(count: number): void {
      inFlight -= count
      flush()
    },
    sendAll(): void {
      inFlight = 0
      flush()
    },
    clear(): void {
      queue = []
    },
  }
}

/** Keeps the calls that wait for their replies, by number; the number of an answered call is used again. */
function createPendingCalls() {
  let waiting: ({ resolve(value: unknown): void; reject(error: Error): void } | undefined)[] = []
  let free: number[] = []
  return {
    add(resolve: (value: unknown) => void, reject: (error: Error) => void): number {
      const number = free.pop() ?? waiting.length
      waiting[number] = { resolve, reject }
      return number
    },
    settle([number, value, failure]: StoreReply): void {
      const caller = waiting[number]
      waiting[number] = undefined
      free.push(number)
      if (failure === undefined) caller?.resolve(value)
      else caller?.reject(toError(failure))
    },
    failAll(reason: Error): void {
      for (const caller of waiting) caller?.reject(new StoreUnavailable(reason.message, { cause: reason }))
      waiting = []
      free = []
    },
  }
}

/** Keeps the backup that the thread is making; there is one at a time. */
function createBackups(worker: StoreThread) {
  let running: PromiseWithResolvers<void> | undefined
  return {
    begin(file: string): Promise<void> {
      if (running !== undefined) throw new StoreUnavailable('a backup is being made already')
      running = Promise.withResolvers()
      worker.postMessage({ backUpTo: file }, [])
      return running.promise
    },
    settle(failure: string | undefined): void {
      if (failure === undefined) running?.resolve()
      else running?.reject(new StoreUnavailable(failure))
      running = undefined
    },
    fail: (reason: Error): void => running?.reject(reason),
  }
}

function toError({ is, message, cause }: CallFailure): Error {
  if (is === 'backlog') return new BacklogFull(message)
  if (is === 'refused') return new ValuesRefused(message)
  if (is === 'unavailable') return new StoreUnavailable(message, { cause })
  return new Error(`a fault in the store: ${message}`, { cause })
}
