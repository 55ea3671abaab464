import { repeat } from './retry.ts'

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
 * Elects the one replica that does what only one may do.
 * Holds a lease in the shared store. A replica that cannot reach the store leads on until its lease would have run out,
 * and not a moment longer: by then another may have it.
 */
export function createLeadership(options: LeadershipOptions) {
  const { takeLease, ttlMs, renewEveryMs, now, onError } = options
  const term = createTerm(now, options.onChange)
  /** It says whether the store may have granted the lease: it has, or its answer was lost, or came after the stop. */
  let mayHold = false
  let stopping: AbortController | undefined
  let renewing: Promise<void> | undefined

  async function askForLease(ask: NonNullable<typeof takeLease>, signal: AbortSignal): Promise<number> {
    // The lease counts from before the question: the store may have granted it at any time since.
    const until = now() + ttlMs
    mayHold = true
    try {
      const granted = await ask(ttlMs)
      mayHold = granted
      if (granted && !signal.aborted) term.extend(until)
      else term.end()
    } catch (error) {
      onError(error instanceof Error ? error : new Error('unknown fault'))
    }
    return renewEveryMs
  }

  return {
    start(): void {
      if (stopping !== undefined) return
      stopping = new AbortController()
      const { signal } = stopping
      if (takeLease === undefined) term.extend(Number.POSITIVE_INFINITY)
      else renewing = repeat(() => askForLease(takeLease, signal), signal)
    },
    /** Gives the leadership up, so that another replica can take over at once. */
    async stop(): Promise<void> {
      stopping?.abort()
      stopping = undefined
      await renewing
      term.end()
      if (mayHold) await takeLease?.(0).catch(onError)
      mayHold = false
    },
    isLeader: term.isRunning,
  }
}

/** Keeps the time during which this replica leads. */
function createTerm(now: () => number, onChange: (isLeader: boolean) => void) {
  let isLeader = false
  /** When the term ends, by `now`. It is compared as well, since the timer of a busy process may come later. */
  let leadsUntil = 0
  let expiry: NodeJS.Timeout | undefined

  function setLeader(next: boolean): void {
    if (next === isLeader) return
    isLeader = next
    onChange(next)
  }

  function isRunning(): boolean {
    if (now() >= leadsUntil) setLeader(false)
    return isLeader
  }

  return {
    isRunning,
    /** Begins the term, or makes it longer. If it was over in between, its end is reported first; if `until` is past, none begins. */
    extend(until: number): void {
      isRunning()
      clearTimeout(expiry)
      leadsUntil = until
      if (until !== Number.POSITIVE_INFINITY) expiry = setTimeout(setLeader, until - now(), false)
      setLeader(now() < until)
    },
    end(): void {
      clearTimeout(expiry)
      setLeader(false)
    },
  }
}
