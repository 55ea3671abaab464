/** Elects the one replica that does what only one may do. */
export interface Leadership {
  start(): void
  /** Gives the leadership up, so that another replica can take over at once. */
  stop(): Promise<void>
  isLeader(): boolean
}

export interface LeadershipOptions {
  /**
   * Takes or keeps the lease for `ttlMs`; 0 gives it up. False: another replica has it. Undefined: this store has one
   * process only, which always leads.
   */
  readonly takeLease: ((ttlMs: number) => Promise<boolean>) | undefined
  /** How long the lease lasts without being renewed, ms. */
  readonly ttlMs: number
  /** How often it is renewed, or asked for, ms. With `ttlMs` the longest time without a leader. */
  readonly renewEveryMs: number
  /** ms since any origin, never going back. */
  readonly now: () => number
  readonly onChange: (isLeader: boolean) => void
  /** The store could not be asked. */
  readonly onError: (error: Error) => void
}

/**
 * Holds a lease in the shared store. A replica that cannot reach the store leads on until its lease would have run out,
 * and not a moment longer: by then another may have it.
 */
export function createLeadership(options: LeadershipOptions): Leadership {
  const { takeLease, ttlMs, renewEveryMs, now, onChange, onError } = options
  let isLeader = false
  /** When the lease runs out, by `now`: a timer of a busy process may come later. */
  let leadsUntil = takeLease === undefined ? Number.POSITIVE_INFINITY : 0
  /** The store may have granted it: it has, or its answer was lost or came when nobody wanted it any more. */
  let mayHold = false
  let stopped = true
  let renewal: NodeJS.Timeout | undefined
  let expiry: NodeJS.Timeout | undefined
  let asking: Promise<void> | undefined

  function setLeader(next: boolean): void {
    if (next === isLeader) return
    isLeader = next
    onChange(next)
  }

  function stepDownWhenOver(): void {
    if (now() >= leadsUntil) setLeader(false)
  }

  async function askForLease(ask: NonNullable<typeof takeLease>): Promise<void> {
    // The lease counts from before the question: the store may have granted it at any time since.
    const until = now() + ttlMs
    mayHold = true
    try {
      const granted = await ask(ttlMs)
      mayHold = granted
      if (stopped) return
      // An answer that took longer than the lease holds says nothing any more.
      const leads = granted && now() < until
      stepDownWhenOver()
      if (leads) {
        leadsUntil = until
        clearTimeout(expiry)
        expiry = setTimeout(setLeader, until - now(), false)
      }
      setLeader(leads)
    } catch (error) {
      onError(error instanceof Error ? error : new Error('unknown fault'))
    }
  }

  function renew(ask: NonNullable<typeof takeLease>): void {
    asking = askForLease(ask).finally(() => {
      if (!stopped) renewal = setTimeout(renew, renewEveryMs, ask)
    })
  }

  return {
    start() {
      if (!stopped) return
      stopped = false
      if (takeLease === undefined) setLeader(true)
      else renew(takeLease)
    },
    async stop() {
      stopped = true
      clearTimeout(renewal)
      clearTimeout(expiry)
      await asking
      setLeader(false)
      if (mayHold) await takeLease?.(0).catch(onError)
      mayHold = false
    },
    isLeader() {
      stepDownWhenOver()
      return isLeader
    },
  }
}
