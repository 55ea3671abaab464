/** What has begun and has not ended: attempts, settlements and claims. Ending waits for it. */
export interface UnderWay {
  /** Counts a task until it has ended. @param afterwards runs then, before anybody hears that all is at rest. */
  add(task: Promise<unknown>, afterwards?: () => void): void
  /** To be called when something else has ended that rest depends on. */
  look(): void
  /** Resolves when nothing is under way, or after `ms`. */
  atRestWithin(ms: number): Promise<void>
}

/** @param alsoAtRest whether nothing else is awaited either. */
export function createUnderWay(alsoAtRest: () => boolean): UnderWay {
  let working = 0
  let quiet: (() => void) | undefined

  function look(): void {
    if (quiet !== undefined && working === 0 && alsoAtRest()) quiet()
  }

  return {
    add(task, afterwards) {
      working += 1
      void task.finally(() => {
        working -= 1
        afterwards?.()
        look()
      })
    },
    look,
    atRestWithin: ms =>
      new Promise(resolve => {
        const timer = setTimeout(resolve, ms)
        quiet = () => {
          clearTimeout(timer)
          resolve()
        }
        look()
      }),
  }
}
