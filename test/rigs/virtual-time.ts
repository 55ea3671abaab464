import promises from 'node:timers/promises'
import type { Test } from 'tap'
import { installTimers } from '../delivery/simulated-timers.ts'
import { createTimeline } from '../delivery/simulation.ts'

/** What was promised by now has come, and no time has passed. */
export const settled = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/** Timers that are set from now on go by this time until the test ends; sockets do not notice. */
export function enterVirtualTime(t: Test) {
  const time = createTimeline()
  const timers = installTimers(time)
  const { setTimeout: later } = promises
  Object.assign(promises, { setTimeout: pause })
  t.teardown(() => {
    timers.uninstall()
    Object.assign(promises, { setTimeout: later })
  })
  const tick = (ms: number): void => time.runUntil(time.now() + ms)
  return {
    now: time.now,
    /** Lets so many ms pass at once. */
    tick,
    /** Lets so many ms pass, and all that follows from a timer happen before the next one. */
    async pass(ms: number): Promise<void> {
      const end = time.now() + ms
      await settled()
      while (time.next() <= end) {
        time.runUntil(time.next())
        await settled()
      }
      time.runUntil(end)
    },
  }
}

function pause(ms: number, value: unknown, { signal }: { readonly signal?: AbortSignal } = {}) {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal?.reason)
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
    setTimeout(resolve, ms, value)
  })
}
