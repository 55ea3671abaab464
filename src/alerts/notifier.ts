import type { DdqMessage } from '../ddq/message.ts'
import { createDispatch, type DispatchOptions } from './dispatch.ts'
import { occurrencesOf } from './occurrence.ts'
import { createRetry } from './retry.ts'
import { createRouting, type Notification } from './routing.ts'

export interface NotifierOptions extends DispatchOptions {
  /** Pause after the store could not take something, ms. Default 1000. */
  readonly retryMs?: number
}

/** Turns messages of DDQ into messages of the outbox. */
export interface Notifier {
  /**
   * Takes a message; its notifications are stored soon. Gives a promise when so many wait already that no more should
   * come until it is settled.
   */
  take(message: DdqMessage): void | Promise<void>
  /** Ends: takes nothing more, and stores what waits, unless the store cannot take it. */
  stop(): Promise<void>
}

/** Notifications that share a commit. */
const MAX_BATCH = 100
/** Notifications in memory, from which on the platform is slowed down. */
const MAX_WAITING = 500

/** Notifies people by way of the outbox, in the order in which messages came. */
export function createNotifier(options: NotifierOptions): Notifier {
  const routing = createRouting(options.rows, options.keys.memoName)
  const retry = createRetry(options.retryMs ?? 1000, (doing, error) =>
    options.emit({ type: 'alert-store-failed', doing, error }),
  )
  const dispatch = createDispatch(options, retry)
  let waiting: readonly Notification[] = []
  let draining: Promise<void> | undefined
  let backpressure: PromiseWithResolvers<void> | undefined
  let stopped = false

  async function drain(): Promise<void> {
    // Messages of the same turn of the event loop are decided on together.
    await new Promise(resolve => setImmediate(resolve))
    while (waiting.length > 0) {
      const done = await dispatch(waiting.slice(0, MAX_BATCH))
      // The process ends and the store did not take them: they are lost, as after a crash.
      waiting = done === 'given-up' ? [] : waiting.slice(done)
      if (waiting.length < MAX_WAITING) releaseBackpressure()
    }
    draining = undefined
  }

  function releaseBackpressure(): void {
    backpressure?.resolve()
    backpressure = undefined
  }

  return {
    take(message) {
      if (stopped || !routing.isRouted(message)) return
      waiting = [...waiting, ...occurrencesOf(message).flatMap(routing.notificationsFor)]
      if (waiting.length > 0) draining ??= drain()
      if (waiting.length < MAX_WAITING) return
      backpressure ??= Promise.withResolvers<void>()
      return backpressure.promise
    },
    async stop() {
      stopped = true
      retry.stop()
      releaseBackpressure()
      await draining
    },
  }
}
