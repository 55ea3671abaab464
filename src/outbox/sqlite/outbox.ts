import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { say, unpackWords } from '../../language/sentence.ts'
import { type Outbox, type StoreOptions, StoreUnusable } from '../outbox.ts'
import { createPort } from '../port.ts'
import { syncDirectory } from '../store-secret.ts'
import type { StoreSettings } from './store.ts'
import { createThreadCalls, type MessageFromWorker, type StoreThread } from './thread.ts'
import { LOSS_SHOWN_MS } from './watermark.ts'

export interface SqliteOutboxOptions extends StoreOptions {
  /** The database file; its directory is made when it does not exist. */
  readonly path: string
  /** How often the WAL is emptied, ms; a minute unless given. */
  readonly emptyWalEveryMs?: number
  /** Starts the thread that serves the store; tests give another one. */
  readonly startThread?: (settings: StoreSettings) => StoreThread
}

function startWorker(settings: StoreSettings): StoreThread {
  return new Worker(new URL('./worker.ts', import.meta.url), { workerData: settings, execArgv: [] })
}

/**
 * The embedded outbox: one SQLite file, held for the process's life, in a thread of its own.
 *
 * @throws StoreUnusable when it is held by another process, damaged, cannot be written, or was written with another
 *   secret; its message says what to do.
 */
export async function createSqliteOutbox(options: SqliteOutboxOptions): Promise<Outbox> {
  const { path, enterprise, clock, storeKeys, maxBacklog, retentionDays } = options
  const { keepsEvents = false, emptyWalEveryMs = 60_000, startThread = startWorker } = options
  await mkdir(dirname(path), { recursive: true })
    .then(() => syncDirectory(dirname(path)))
    .catch((error: unknown) => {
      throw new StoreUnusable(
        say("the store's directory {path} cannot be made or written: create it for the service's user", {
          path: dirname(path),
        }),
        { cause: error },
      )
    })
  const settings: StoreSettings = {
    path,
    enterprise,
    payloadKeys: storeKeys.payloadKeys,
    maxBacklog,
    retentionDays,
    keepsEvents,
    now: clock.now(),
    emptyWalEveryMs,
  }
  const worker = startThread(settings)
  const { loss } = await awaitOpen(worker)
  const thread = createThreadCalls(worker, options)
  return {
    ...createPort(thread.call, options),
    loss: () => (loss !== null && clock.now() - loss.noticedAt < LOSS_SHOWN_MS ? loss : null),
    backUp: thread.backUp,
    close: thread.close,
  }
}

/** Waits until the thread has opened the store, which its first message says. @throws StoreUnusable */
async function awaitOpen(worker: StoreThread) {
  const [message] = (await once(worker, 'message').catch((cause: unknown) => {
    throw new StoreUnusable("the store's thread did not start", { cause })
  })) as [Extract<MessageFromWorker, { readonly is: 'open' | 'unusable' }>]
  if (message.is === 'unusable') throw new StoreUnusable(unpackWords(message.words), { cause: message.cause })
  return message
}
