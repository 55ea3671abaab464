export type InFlight = ReturnType<typeof createInFlight>

/**
 * Attempts, settlements and claims that have begun and not ended. A drain waits for them.
 * @param alsoIdle whether nothing else is awaited either.
 */
export function createInFlight(alsoIdle: () => boolean) {
  let working = 0
  let onIdle: (() => void) | undefined

  function checkIdle(): void {
    if (onIdle !== undefined && working === 0 && alsoIdle()) onIdle()
  }

  return {
    /** Counts a task until it has ended. @param afterwards runs then, before a drain learns that nothing is left. */
    add(task: Promise<unknown>, afterwards?: () => void): void {
      working += 1
      void task.finally(() => {
        working -= 1
        afterwards?.()
        checkIdle()
      })
    },
    /** Called when something else has ended that a drain waits for. */
    checkIdle,
    /** Resolves when nothing is under way, or after `ms`. */
    idleWithin: (ms: number): Promise<void> =>
      new Promise(resolve => {
        const timer = setTimeout(resolve, ms)
        onIdle = () => {
          clearTimeout(timer)
          resolve()
        }
        checkIdle()
      }),
  }
}
