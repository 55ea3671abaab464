import timers from 'node:timers/promises'

/**
 * Runs `step` again and again until the signal aborts, each time after the pause that it asked for, ms. A step that throws ends it.
 */
export async function repeat(step: () => Promise<number>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) await pause(await step(), signal)
}

/**
 * Calls again until the call succeeds.
 * @param waitAfter the pause after a failed try, ms; null: this error is not one that passes, and is thrown.
 * @param signal from its abort on nothing is tried again: the last error is thrown.
 */
export async function retry<T>(
  call: () => Promise<T>,
  waitAfter: (error: unknown, tries: number) => number | null,
  signal?: AbortSignal,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call()
    } catch (error) {
      const waitMs = waitAfter(error, tries)
      if (waitMs === null) throw error
      await pause(waitMs, signal)
      if (signal?.aborted) throw error
    }
  }
}

/** Waits; an abort ends the wait. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await timers.setTimeout(ms, undefined, { signal }).catch(() => undefined)
}
