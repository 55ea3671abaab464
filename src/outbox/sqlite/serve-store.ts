import { randomBytes } from 'node:crypto'
import { backup, type DatabaseSync } from 'node:sqlite'
import type { MessagePort } from 'node:worker_threads'
import { packWords, quote } from '../../language/sentence.ts'
import { retry } from '../../runtime/retry.ts'
import { createLeaseTokens } from '../lease-tokens.ts'
import { StoreUnusable } from '../outbox.ts'
import { adviseOnOpenFailure, closeQuietly, openStore } from './open.ts'
import { SQLITE_SCHEMA } from './schema.ts'
import { createStore, type StoreSettings } from './store.ts'
import type { BatchReplies, MessageFromWorker, MessageToWorker } from './thread.ts'

/** Pages of a backup that are copied while calls wait: about a millisecond. */
const PAGES_A_STEP = 100

/** How often a backup begins, and how long it waits for the next commit to end, ms. */
const BACKUP_TRIES = 500
const BACKUP_PAUSE_MS = 5

/**
 * Opens the store, or says over the port why that fails, and answers the calls that come by it. Only code that is called from
 * here touches the file. It runs in a thread of its own, so that an fsync never holds up the service's event loop. While a
 * commit runs, calls gather at their caller; the next transaction takes all of them.
 */
export function serveStore(port: MessagePort, settings: StoreSettings): void {
  const opened = open(port, settings)
  if (opened === null) return
  const { db, store } = opened
  const runInBackground = (doing: string, work: () => void) => {
    try {
      work()
    } catch (error) {
      send(port, { is: 'background-failure', doing, message: messageOf(error) })
    }
  }
  let backingUp = Promise.resolve()
  const emptyWal = () => runInBackground('checkpoint', () => store.maintenance.emptyWal())
  const timer = setInterval(() => {
    emptyWal()
    runInBackground('look for its files', store.checkFiles)
  }, settings.emptyWalEveryMs)
  const end = () => {
    clearInterval(timer)
    emptyWal()
    store.close()
    closeQuietly(db)
    port.close()
  }
  send(port, { is: 'open', loss: store.loss })
  emptyWal()

  port.on('message', (message: MessageToWorker) => {
    if (message === 'close') {
      void backingUp.then(end)
      return
    }
    if ('backUpTo' in message) {
      const reply = (replies: BatchReplies) => send(port, { is: 'replies', batch: message.batch, replies })
      // The copy also has what is committed meanwhile.
      backingUp = copyStore(db, message.backUpTo).then(
        () => reply({ values: [], failures: [] }),
        (error: unknown) =>
          reply({ undone: { is: 'unavailable', message: packWords(quote(messageOf(error))) } }),
      )
      return
    }
    const started = performance.now()
    const { batch, calls } = message
    const commits = store.commits()
    const replies = store.runCalls(calls)
    const ms = performance.now() - started
    send(port, { is: 'replies', batch, replies, ...(store.commits() > commits && { ms }) })
    // When the disk is full, the log may be what fills it.
    if ('failures' in replies && replies.failures.some(([, { is }]) => is === 'unavailable')) emptyWal()
    runInBackground('prune', store.maintain)
  })
}

/** @returns null: it cannot be opened, as the port is told. */
function open(port: MessagePort, settings: StoreSettings) {
  const thread = randomBytes(8).toString('hex')
  let db: DatabaseSync | undefined
  try {
    db = openStore(settings.path, SQLITE_SCHEMA, settings.enterprise)
    return {
      db,
      store: createStore(
        db,
        settings,
        createLeaseTokens(() => thread),
      ),
    }
  } catch (error) {
    closeQuietly(db)
    const words = error instanceof StoreUnusable ? error.words : adviseOnOpenFailure(error, settings.path)
    send(port, { is: 'unusable', words: packWords(words), cause: (error as Error).cause ?? error })
    port.close()
    return null
  }
}

function send(port: MessagePort, message: MessageFromWorker): void {
  port.postMessage(message)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown fault'
}

/**
 * Copies the store into a file, some pages at a time, between commits. SQLite copies no first page while a commit runs, which it may in this thread at that moment;
 * of that, Node makes an error whose code says that there is none, and the copy begins again.
 */
export async function copyStore(db: DatabaseSync, path: string): Promise<void> {
  await retry(
    () => backup(db, path, { rate: PAGES_A_STEP }),
    (error, tries) => {
      if ((error as { errcode?: unknown }).errcode !== 0) return null
      if (tries === BACKUP_TRIES) throw new Error('commits leave no time to begin a backup', { cause: error })
      return BACKUP_PAUSE_MS
    },
  )
}
