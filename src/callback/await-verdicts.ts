/** What a waiting callback learns of one message. */
export type WaitVerdict =
  | {
      readonly is: 'final'
      readonly state: string
      readonly answer: 'recipient' | 'content' | 'country' | null
    }
  | { readonly is: 'pending' }

/** Hears the verdict on one message, from the moment on that it was made. */
export interface VerdictSubscription {
  /** Never settles when it is stopped before. */
  readonly verdict: Promise<WaitVerdict>
  stop(): void
}

/** A message whose end is waited for; what is known of it already; null: there is none. */
export type AwaitedVerdict = VerdictSubscription | WaitVerdict | null

/**
 * Begins to listen. That has to be before the message can have a verdict: one that is pending is said once, and not
 * again to who comes later.
 * @param wait calls back once, with the verdict; at once when it is known already. Returns how to stop waiting.
 */
export function subscribe(
  id: string,
  wait: (id: string, heard: (verdict: WaitVerdict) => void) => () => void,
): VerdictSubscription {
  const { promise, resolve } = Promise.withResolvers<WaitVerdict>()
  return { verdict: promise, stop: wait(id, resolve) }
}

/** Waits for every verdict, at most `ms`; what is not known then is `pending`. */
export function awaitVerdicts(
  waits: readonly AwaitedVerdict[],
  ms: number,
): Promise<readonly (WaitVerdict | null)[]> {
  return new Promise(resolve => {
    const heard = waits.map((each): WaitVerdict | null => (isOpen(each) ? { is: 'pending' } : each))
    let missing = waits.filter(isOpen).length
    const timer = setTimeout(
      () => {
        unsubscribeAll(waits)
        resolve(heard)
      },
      Math.max(ms, 0),
    )
    const answerIfAll = () => {
      if (missing > 0) return
      clearTimeout(timer)
      resolve(heard)
    }
    waits.forEach((each, at) => {
      if (!isOpen(each)) return
      void each.verdict.then(verdict => {
        heard[at] = verdict
        missing -= 1
        answerIfAll()
      })
    })
    answerIfAll()
  })
}

/** Listens no more: nobody is there any longer to be told. */
export function unsubscribeAll(waits: readonly AwaitedVerdict[]): void {
  for (const each of waits) if (isOpen(each)) each.stop()
}

function isOpen(wait: AwaitedVerdict): wait is VerdictSubscription {
  return wait !== null && 'verdict' in wait
}
