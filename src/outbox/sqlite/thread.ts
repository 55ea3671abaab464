import { type EventEmitter, once } from 'node:events'
import { unpackWords, wordsOf } from '../../language/sentence.ts'
import { createGroupCommit } from '../group-commit.ts'
import { type CallStore, type OperationName, type Takes, ValuesRefused } from '../operations.ts'
import { BacklogFull, type StoreLoss, type StoreOptions, StoreUnavailable } from '../outbox.ts'

/** The messages between the service's thread and the store's: plain data, copied; many calls in one message each way. */
export type MessageToWorker =
  | { readonly batch: number; readonly calls: readonly StoreCall[] }
  | { readonly batch: number; readonly backUpTo: string }
  | 'close'

export type MessageFromWorker =
  | { readonly is: 'open'; readonly loss: StoreLoss | null }
  | { readonly is: 'unusable'; readonly words: string; readonly cause?: unknown }
  /** The end of a batch, and how long it took with its synced commit, ms, if it had one; or of a backup. */
  | { readonly is: 'replies'; readonly batch: number; readonly replies: BatchReplies; readonly ms?: number }
  /** A failure that concerns no call: of a checkpoint or of pruning. */
  | { readonly is: 'background-failure'; readonly doing: string; readonly message: string }

/** A call on its way: what is called, with what. */
export type StoreCall = { [N in OperationName]: readonly [N, Takes<N>] }[OperationName]

/** The failure of a call. `unavailable`: nothing was written; `refused`: values of its own; `fault`: a bug. */
export interface CallFailure {
  readonly is: 'unavailable' | 'backlog' | 'refused' | 'fault'
  readonly message: string
  readonly cause?: unknown
}

/** What each call of a batch gives, and the failures of some by their place; or why all of them were undone, for one's fault. */
export type BatchReplies =
  | { readonly values: readonly unknown[]; readonly failures: readonly (readonly [number, CallFailure])[] }
  | { readonly undone: CallFailure }

/** The thread that serves the store (serve-store.ts), as its caller sees it. */
export type StoreThread = EventEmitter & {
  postMessage(message: MessageToWorker, transfer: readonly []): void
}

/** The most calls in one transaction, so that the first callers do not wait for all who came later. */
const MOST_TOGETHER = 1000

/** Calls into the store's thread. All throw StoreUnavailable once it has ended. */
export function createThreadCalls(
  worker: StoreThread,
  { log, onCommit }: Pick<StoreOptions, 'log' | 'onCommit'>,
) {
  const batches = new Map<number, PromiseWithResolvers<BatchReplies>>()
  let isBackingUp = false
  let sent = 0
  let ended: StoreUnavailable | undefined

  const commits = createGroupCommit<StoreCall, unknown>({
    max: MOST_TOGETHER,
    run: calls => ask({ calls }),
  })

  async function ask(
    what: { readonly calls: readonly StoreCall[] } | { readonly backUpTo: string },
  ): Promise<readonly unknown[]> {
    if (ended !== undefined) throw ended
    sent += 1
    const answered = Promise.withResolvers<BatchReplies>()
    batches.set(sent, answered)
    worker.postMessage({ batch: sent, ...what }, [])
    return valuesOf(await answered.promise)
  }

  function end(reason: Error): void {
    ended ??= new StoreUnavailable(wordsOf(reason), { cause: reason })
    for (const { reject } of batches.values()) reject(ended)
    batches.clear()
  }

  worker.on('message', (message: MessageFromWorker) => {
    if (message.is === 'replies') {
      const { batch, replies, ms } = message
      batches.get(batch)?.resolve(replies)
      batches.delete(batch)
      if ('values' in replies && ms !== undefined) onCommit?.({ ms, calls: replies.values.length })
    } else if (message.is === 'background-failure') log?.({ doing: message.doing, message: message.message })
  })
  worker.on('error', error => {
    end(new Error("the store's thread failed", { cause: error }))
    // This is a bug, and without its store the service is of no use: it ends, and is started again.
    throw new Error("the store's thread failed", { cause: error })
  })
  worker.on('exit', () => end(new Error('the store is closed')))

  const call = ((name: OperationName, takes: Takes<OperationName>) =>
    commits.call([name, takes] as StoreCall)) as CallStore
  return {
    call,
    /** Makes a backup; a second one at the same time is refused. */
    async backUp(file: string): Promise<void> {
      if (isBackingUp) throw new StoreUnavailable('a backup is being made already')
      isBackingUp = true
      await ask({ backUpTo: file }).finally(() => {
        isBackingUp = false
      })
    },
    /** Waits for what has gathered, and for the thread to end. */
    async close(): Promise<void> {
      await commits.idle()
      if (ended !== undefined) return
      const exited = once(worker, 'exit')
      worker.postMessage('close', [])
      await exited
    },
  }
}

/** Puts the failures of single calls in their places. @throws the failure that undid the whole batch. */
function valuesOf(replies: BatchReplies): readonly unknown[] {
  if ('undone' in replies) throw toError(replies.undone)
  const { values, failures } = replies
  if (failures.length === 0) return values
  const own = new Map(failures)
  return values.map((value, at) => {
    const failure = own.get(at)
    return failure === undefined ? value : toError(failure)
  })
}

function toError({ is, message, cause }: CallFailure): Error {
  if (is === 'backlog') return new BacklogFull(message)
  if (is === 'refused') return new ValuesRefused(message)
  if (is === 'unavailable') return new StoreUnavailable(unpackWords(message), { cause })
  return new Error(`a fault in the store: ${message}`, { cause })
}
