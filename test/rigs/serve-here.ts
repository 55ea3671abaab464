import { EventEmitter } from 'node:events'
import { MessageChannel } from 'node:worker_threads'
import { serveStore } from '../../src/outbox/sqlite/serve-store.ts'
import type { StoreSettings } from '../../src/outbox/sqlite/store.ts'
import type { StoreThread } from '../../src/outbox/sqlite/thread.ts'

/** The store's end of the port, in this thread: to start one takes ten times as long as most tests of the store. */
export function serveHere(settings: StoreSettings): StoreThread {
  const { port1, port2 } = new MessageChannel()
  const thread = new EventEmitter()
  port1.on('message', message => thread.emit('message', message))
  port1.once('close', () => thread.emit('exit', 0))
  serveStore(port2, settings)
  return Object.assign(thread, { postMessage: port1.postMessage.bind(port1) })
}
