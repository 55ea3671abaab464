import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Clock } from '../../runtime/clock.ts'
import type {
  CallArguments,
  CallFailure,
  CallName,
  CallResult,
  MessageFromWorker,
  StoreCall,
  StoreReply,
} from '../calls.ts'
import type { StoreKeys } from '../encryption.ts'
import { BacklogFull, type Outbox, StoreUnavailable, StoreUnusable } from '../outbox.ts'
import { syncDirectory } from '../store-secret.ts'
import type { StoreSettings } from './worker.ts'

export interface SqliteOutboxOptions {
  /** The database file; its directory is made when it does not exist. */
  readonly path: string
  readonly clock: Clock
  readonly storeKeys: Pick<StoreKeys, 'payloadKey'>
  /** Live messages from which on no more are accepted. */
  readonly maxBacklog: number
  /** How long the facts of a final message stay. */
  readonly retentionDays: number
  /** Hears of faults that concern no call, such as a checkpoint that failed. Never a secret or a recipient. */
  readonly log?: (event: { readonly doing: string; readonly message: string }) => void
  /** Hears of every commit: how long it took, ms, and how many calls shared it. */
  readonly committed?: (event: { readonly ms: number; readonly calls: number }) => void
  /** How often the WAL is emptied, ms; a minute unless given. */
  readonly emptyWalEveryMs?: number
}

/** Without calls, the store is asked so often to prune, ms. */
const TEND_EVERY_MS = 60_000

/**
 * The embedded outbox: one SQLite file, held for the process's life, in a thread of its own.
 *
 * @throws StoreUnusable when it is held by another process, damaged, cannot be written, or was written with another
 *   secret; its message says what to do.
 */
export async function createSqliteOutbox(options: SqliteOutboxOptions): Promise<Outbox> {
  const { path, clock, storeKeys, maxBacklog, retentionDays, emptyWalEveryMs = 60_000 } = options
  await makeDirectory(dirname(path))
  const settings: StoreSettings = {
    path,
    payloadKey: storeKeys.payloadKey,
    maxBacklog,
    retentionDays,
    now: clock.now(),
    emptyWalEveryMs,
  }
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    workerData: settings,
    execArgv: [],
  })
  await opened(worker)
  const calls = createCalls(worker, options.log ?? (() => {}), options.committed)
  const { call } = calls
  const timer = setInterval(
    () => void call('tend', { now: clock.now() }).catch(() => {}),
    TEND_EVERY_MS,
  ).unref()

  return {
    accept: messages => call('accept', { now: clock.now(), messages }),
    claim: (channel, limit, leaseMs) => call('claim', { now: clock.now(), channel, limit, leaseMs }),
    settle: (id, { token }, settlement) => call('settle', { now: clock.now(), id, token, settlement }),
    writeReceipt: (channel, providerId, status, errorCode, at) =>
      call('receipt', { channel, providerId, status, errorCode, at }),
    memos: { readMemos: names => call('notes', { names }) },
    queries: {
      readSummary: (since, stepMs) => call('summary', { since, stepMs }),
      listMessages: filter => call('list', { filter }),
      findMessage: id => call('find', { id }),
      retryMessage: id => call('retry', { now: clock.now(), id }),
      cancelMessage: id => call('cancel', { now: clock.now(), id }),
      probeCommit: () =>
        call('probe', { now: clock.now() }).catch((error: unknown) => {
          if (error instanceof StoreUnavailable) return false
          throw error
        }),
    },
    async close() {
      clearInterval(timer)
      await calls.close()
    },
  }
}

async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true })
    await syncDirectory(path)
  } catch (error) {
    throw new StoreUnusable(
      `the store's directory ${path} cannot be made or written: create it for the service's user`,
      {
        cause: error,
      },
    )
  }
}

function opened(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) =>
      reject(new StoreUnusable("the store's thread did not start", { cause: error }))
    const hear = (message: MessageFromWorker) => {
      if (message.is === 'unusable') reject(new StoreUnusable(message.message, { cause: message.cause }))
      if (message.is !== 'open') return
      worker.off('message', hear)
      worker.off('error', fail)
      resolve()
    }
    worker.on('message', hear)
    worker.once('error', fail)
  })
}

interface Pending {
  resolve(value: unknown): void
  reject(error: Error): void
}

/** One message for the thread to work on, and one that waits for it there. */
const MOST_UNDER_WAY = 2

/**
 * Calls into the store's thread. Those of one turn of the event loop travel in one message; while the thread has
 * enough to do, more of them gather here, since each message wakes a thread and that costs more than a call.
 */
function createCalls(
  worker: Worker,
  log: NonNullable<SqliteOutboxOptions['log']>,
  committed: SqliteOutboxOptions['committed'],
) {
  /** By the number of the call; a number whose call is answered is given again. */
  let pending: (Pending | undefined)[] = []
  let free: number[] = []
  let queue: StoreCall[] = []
  let underWay = 0
  let ended: Error | undefined

  function flush(): void {
    if (queue.length === 0 || underWay >= MOST_UNDER_WAY || ended !== undefined) return
    const batch = queue
    queue = []
    underWay += 1
    worker.postMessage(batch, [])
  }

  function call<N extends CallName>(name: N, takes: CallArguments<N>): Promise<CallResult<N>> {
    return new Promise((resolve, reject) => {
      if (ended !== undefined) {
        reject(new StoreUnavailable(ended.message, { cause: ended }))
        return
      }
      const number = free.pop() ?? pending.length
      pending[number] = { resolve: value => resolve(value as CallResult<N>), reject }
      queue.push([number, name, takes] as unknown as StoreCall)
      if (queue.length === 1) setImmediate(flush)
    })
  }

  function answer([number, value, failure]: StoreReply): void {
    const waiting = pending[number]
    pending[number] = undefined
    free.push(number)
    if (failure === undefined) waiting?.resolve(value)
    else waiting?.reject(errorOf(failure))
  }

  function end(reason: Error): void {
    ended ??= reason
    for (const waiting of pending) waiting?.reject(new StoreUnavailable(ended.message, { cause: ended }))
    pending = []
    free = []
  }

  worker.on('message', (message: MessageFromWorker) => {
    if (message.is === 'replies') {
      underWay -= message.taken
      flush()
      for (const reply of message.replies) answer(reply)
      committed?.({ ms: message.ms, calls: message.replies.length })
    } else if (message.is === 'trouble') log({ doing: message.doing, message: message.message })
  })
  worker.on('error', error => {
    end(new Error("the store's thread failed", { cause: error }))
    // A bug, and without its store the service is of no use: it ends, and is started again.
    throw new Error("the store's thread failed", { cause: error })
  })
  worker.on('exit', () => end(new Error('the store is closed')))

  return {
    call,
    async close(): Promise<void> {
      underWay = 0
      flush()
      if (ended !== undefined) return
      const gone = new Promise<void>(resolve => worker.once('exit', () => resolve()))
      worker.postMessage('close', [])
      await gone
    },
  }
}

function errorOf({ is, message, cause }: CallFailure): Error {
  if (is === 'backlog') return new BacklogFull(message)
  if (is === 'unavailable') return new StoreUnavailable(message, { cause })
  return new Error(`a fault in the store: ${message}`, { cause })
}
