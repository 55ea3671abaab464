import type { Verdict, Verdicts } from '../delivery/port.ts'

export type AwaitedVerdicts = ReturnType<typeof createAwaitedVerdicts>

/**
 * The verdicts on the messages of one callback, each in its place.
 * @param count how many places there are.
 */
export function createAwaitedVerdicts(verdicts: Pick<Verdicts, 'wait'>, count: number) {
  const places: (Verdict | null | undefined)[] = Array.from({ length: count })
  const subscriptions: ((() => void) | undefined)[] = []
  const filled = Promise.withResolvers<void>()

  const checkFilled = () => {
    if (!places.includes(undefined)) filled.resolve()
  }
  const stop = () => {
    for (const unsubscribe of subscriptions) unsubscribe?.()
  }
  return {
    /**
     * Waits in place `at` for the verdict on message `id` instead of any other. A message's own has to be subscribed to
     * before it is stored: a pending verdict is announced once, and not repeated to a later subscriber.
     */
    subscribe(at: number, id: string): void {
      subscriptions[at]?.()
      subscriptions[at] = verdicts.wait(id, verdict => {
        places[at] = verdict
        checkFilled()
      })
    },
    /** Fills place `at` without waiting. @param verdict null: there will be none. */
    fillPlace(at: number, verdict: Verdict | null): void {
      subscriptions[at]?.()
      places[at] = verdict
    },
    /** Resolves when every place is filled, or after `ms`: then the places that are not are pending. */
    async awaitAll(ms: number): Promise<readonly (Verdict | null)[]> {
      const timer = setTimeout(filled.resolve, Math.max(ms, 0))
      checkFilled()
      await filled.promise
      clearTimeout(timer)
      stop()
      return places.map(verdict => (verdict === undefined ? { is: 'pending' } : verdict))
    },
    /** Ends all subscriptions. */
    stop,
  }
}
