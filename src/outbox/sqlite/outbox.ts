import type { EventEmitter } from 'node:events'
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
  MessageToWorker,
  StoreCall,
  StoreReply,
} from '../calls.ts'
import type { StoreKeys } from '../encryption.ts'
import {
  BacklogFull,
  type EventQueue,
  type Outbox,
  type Settlement,
  type StoreLoss,
  StoreUnavailable,
  StoreUnusable,
} from '../outbox.ts'
import { acceptEach, settleWithoutRefused, ValuesRefused, writeReceiptIfTaken } from '../refused-values.ts'
import { syncDirectory } from '../store-secret.ts'
import { type AttemptJournal, journalPath, openAttemptJournal } from './attempt-journal.ts'
import type { StoreSettings } from './serve-store.ts'
import { LOSS_SHOWN_MS } from './watermark.ts'

export interface SqliteOutboxOptions {
  /** The database file; its directory is made when it does not exist. */
  readonly path: string
  readonly clock: Clock
  readonly storeKeys: Pick<StoreKeys, 'payloadKeys'>
  /** Live messages from which on no more are accepted. */
  readonly maxBacklog: number
  /** How long the facts of a final message stay. */
  readonly retentionDays: number
  /** Whether other machines are to be told what becomes of messages; false unless given. */
  readonly keepsEvents?: boolean | undefined
  /** Is told of failures that concern no call, such as a checkpoint that failed. Never a secret or a recipient. */
  readonly log?: (event: { readonly doing: string; readonly message: string }) => void
  /** Is told of every commit: how long it took, ms, and how many calls shared it. */
  readonly committed?: (event: { readonly ms: number; readonly calls: number }) => void
  /** How often the WAL is emptied, ms; a minute unless given. */
  readonly emptyWalEveryMs?: number
  /** Starts what serves the store; a thread unless given. */
  readonly startThread?: (settings: StoreSettings) => StoreThread
}

/** The thread that serves the store, as its caller sees it: see serve-store.ts. */
export type StoreThread = Pick<EventEmitter, 'on' | 'once' | 'off'> & {
  postMessage(message: MessageToWorker, transfer: readonly []): void
}

function startWorker(settings: StoreSettings): StoreThread {
  return new Worker(new URL('./worker.ts', import.meta.url), { workerData: settings, execArgv: [] })
}

/** How often the store is asked to prune when no other call comes, ms. */
const PRUNE_EVERY_MS = 60_000

/**
 * The embedded outbox: one SQLite file, held for the process's life, in a thread of its own.
 *
 * @throws StoreUnusable when it is held by another process, damaged, cannot be written, or was written with another
 *   secret; its message says what to do.
 */
export async function createSqliteOutbox(options: SqliteOutboxOptions): Promise<Outbox> {
  const { path, clock, storeKeys, maxBacklog, retentionDays, keepsEvents = false } = options
  const { emptyWalEveryMs = 60_000, startThread = startWorker } = options
  await makeDirectory(dirname(path))
  const settings: StoreSettings = {
    path,
    payloadKeys: storeKeys.payloadKeys,
    maxBacklog,
    retentionDays,
    keepsEvents,
    now: clock.now(),
    emptyWalEveryMs,
  }
  const worker = startThread(settings)
  const loss = await awaitOpen(worker)
  const journal = openJournal(path)
  const log = options.log ?? (() => {})
  const calls = createCalls(worker, log, options.committed)
  const { call } = calls
  const timer = setInterval(
    () => void call('prune', { now: clock.now() }).catch(() => {}),
    PRUNE_EVERY_MS,
  ).unref()

  return {
    accept: given => acceptEach(given, messages => call('accept', { now: clock.now(), messages }), log),
    claim: (channel, limit, leaseMs) => call('claim', { now: clock.now(), channel, limit, leaseMs }),
    beginAttempt: (id, _lease, provider) => journal.begin(id, provider),
    async settle(id, { token }, given) {
      const settle = (settlement: Settlement) => call('settle', { now: clock.now(), id, token, settlement })
      const settled = await settleWithoutRefused(id, given, settle, log)
      journal.end(id)
      return settled
    },
    writeReceipt: report => writeReceiptIfTaken(() => call('writeReceipt', report), log),
    quotas: {
      chargeUse: charges => call('chargeUse', { now: clock.now(), charges }),
      refundUse: async windows => void (await call('refundUse', { now: clock.now(), windows })),
      readUse: charges => call('readUse', { now: clock.now(), charges }),
    },
    memos: { readMemos: names => call('readMemos', { names }) },
    ...(keepsEvents && { events: eventQueue(call) }),
    queries: {
      readSummary: (since, stepMs) => call('readSummary', { since, stepMs }),
      listMessages: filter => call('listMessages', { filter }),
      findMessage: id => call('findMessage', { id }),
      probeCommit: () =>
        call('probeCommit', { now: clock.now() }).catch((error: unknown) => {
          if (error instanceof StoreUnavailable) return false
          throw error
        }),
    },
    actions: {
      retryMessage: id => call('retryMessage', { now: clock.now(), id }),
      cancelMessage: id => call('cancelMessage', { now: clock.now(), id }),
    },
    loss: () => (loss !== null && clock.now() - loss.noticedAt < LOSS_SHOWN_MS ? loss : null),
    backUp: file => calls.backUp(file),
    async close() {
      clearInterval(timer)
      await calls.close()
      journal.close()
    },
  }
}

function eventQueue(call: ReturnType<typeof createCalls>['call']): EventQueue {
  return {
    addEvent: async event => void (await call('addEvent', event)),
    readEvents: limit => call('readEvents', { limit }),
    removeEvents: async seqs => void (await call('removeEvents', { seqs })),
    dropEvents: (most, before) => call('dropEvents', { most, before }),
  }
}

function openJournal(databasePath: string): AttemptJournal {
  try {
    return openAttemptJournal(journalPath(databasePath))
  } catch (error) {
    throw new StoreUnusable(
      `${journalPath(databasePath)} cannot be written: make its directory writable for the service's user`,
      { cause: error },
    )
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

/** @returns what the store lost. */
function awaitOpen(worker: StoreThread): Promise<StoreLoss | null> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) =>
      reject(new StoreUnusable("the store's thread did not start", { cause: error }))
    const onMessage = (message: MessageFromWorker) => {
      if (message.is === 'unusable') reject(new StoreUnusable(message.message, { cause: message.cause }))
      if (message.is !== 'open') return
      worker.off('message', onMessage)
      worker.off('error', fail)
      resolve(message.loss)
    }
    worker.on('message', onMessage)
    worker.once('error', fail)
  })
}

interface Pending {
  resolve(value: unknown): void
  reject(error: Error): void
}

/** One batch for the thread to work on, and one that waits for it there. */
const MAX_BATCHES_IN_FLIGHT = 2

/**
 * Calls into the store's thread. Those of one turn of the event loop travel in one batch; while the thread has enough
 * to do, more of them gather here, since each batch wakes a thread and that costs more than a call.
 */
function createCalls(
  worker: StoreThread,
  log: NonNullable<SqliteOutboxOptions['log']>,
  committed: SqliteOutboxOptions['committed'],
) {
  /** Calls by their number; the number of an answered call is given again. */
  let pending: (Pending | undefined)[] = []
  let free: number[] = []
  let queue: StoreCall[] = []
  let batchesInFlight = 0
  let ended: Error | undefined
  let backup: { resolve(): void; reject(error: Error): void } | undefined

  function flush(): void {
    if (queue.length === 0 || batchesInFlight >= MAX_BATCHES_IN_FLIGHT || ended !== undefined) return
    const batch = queue
    queue = []
    batchesInFlight += 1
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

  function settleCall([number, value, failure]: StoreReply): void {
    const caller = pending[number]
    pending[number] = undefined
    free.push(number)
    if (failure === undefined) caller?.resolve(value)
    else caller?.reject(errorOf(failure))
  }

  function failAll(reason: Error): void {
    ended ??= reason
    for (const caller of pending) caller?.reject(new StoreUnavailable(ended.message, { cause: ended }))
    pending = []
    free = []
    backup?.reject(ended)
  }

  worker.on('message', (message: MessageFromWorker) => {
    if (message.is === 'replies') {
      batchesInFlight -= message.batches
      flush()
      for (const reply of message.replies) settleCall(reply)
      committed?.({ ms: message.ms, calls: message.replies.length })
    } else if (message.is === 'backed-up') {
      if (message.failure === undefined) backup?.resolve()
      else backup?.reject(new StoreUnavailable(message.failure))
      backup = undefined
    } else if (message.is === 'background-failure') log({ doing: message.doing, message: message.message })
  })
  worker.on('error', error => {
    failAll(new Error("the store's thread failed", { cause: error }))
    // A bug, and without its store the service is of no use: it ends, and is started again.
    throw new Error("the store's thread failed", { cause: error })
  })
  worker.on('exit', () => failAll(new Error('the store is closed')))

  return {
    call,
    async backUp(backUpTo: string): Promise<void> {
      if (ended !== undefined) throw new StoreUnavailable(ended.message, { cause: ended })
      if (backup !== undefined) throw new StoreUnavailable('a backup is being made already')
      const done = Promise.withResolvers<void>()
      backup = done
      worker.postMessage({ backUpTo }, [])
      await done.promise
    },
    async close(): Promise<void> {
      batchesInFlight = 0
      flush()
      if (ended !== undefined) return
      const exited = new Promise<void>(resolve => worker.once('exit', () => resolve()))
      worker.postMessage('close', [])
      await exited
    },
  }
}

function errorOf({ is, message, cause }: CallFailure): Error {
  if (is === 'backlog') return new BacklogFull(message)
  if (is === 'refused') return new ValuesRefused(message)
  if (is === 'unavailable') return new StoreUnavailable(message, { cause })
  return new Error(`a fault in the store: ${message}`, { cause })
}
