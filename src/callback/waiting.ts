/** What a waiting callback learns of one message. */
export type WaitVerdict =
  | {
      readonly is: 'final'
      readonly state: string
      readonly answer: 'recipient' | 'content' | 'country' | null
    }
  | { readonly is: 'pending' }

/** A message whose end is waited for; what is known of it already; null: there is none. */
export type Wait = { readonly id: string } | WaitVerdict | null

/**
 * Waits for every verdict, at most `ms`; what is not known then is `pending`.
 * @param wait calls back once, with the verdict; at once when it is known already. Returns how to stop waiting.
 */
export function collectVerdicts(
  waits: readonly Wait[],
  ms: number,
  wait: (id: string, heard: (verdict: WaitVerdict) => void) => () => void,
): Promise<readonly (WaitVerdict | null)[]> {
  return new Promise(resolve => {
    const heard = waits.map((each): WaitVerdict | null => (isOpen(each) ? { is: 'pending' } : each))
    const stops: (() => void)[] = []
    // Counted before the first wait: one that is known already is heard at once.
    let missing = waits.filter(isOpen).length
    const timer = setTimeout(
      () => {
        for (const stop of stops) stop()
        resolve(heard)
      },
      Math.max(ms, 0),
    )
    const done = () => {
      if (missing > 0) return
      clearTimeout(timer)
      resolve(heard)
    }
    waits.forEach((each, at) => {
      if (!isOpen(each)) return
      stops.push(
        wait(each.id, verdict => {
          heard[at] = verdict
          missing -= 1
          done()
        }),
      )
    })
    done()
  })
}

function isOpen(wait: Wait): wait is { readonly id: string } {
  return wait !== null && 'id' in wait
}
