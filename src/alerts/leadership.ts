/** Who of several replicas does what only one may do. */
export interface Leadership {
  start(): void
  /** Gives it up, so that another can take over at once. */
  stop(): Promise<void>
  leads(): boolean
}

export interface LeadershipOptions {
  /**
   * Takes or keeps the lead for `ttlMs`; 0 gives it up. False: another has it. Undefined: this store has one process
   * only, which always leads.
   */
  readonly lead: ((ttlMs: number) => Promise<boolean>) | undefined
  /** How long the lead lasts without being renewed, ms. */
  readonly ttlMs: number
  /** How often it is renewed, or asked for, ms. With `ttlMs` the longest time without a leader. */
  readonly everyMs: number
  /** ms since any origin, never going back. */
  readonly now: () => number
  readonly onChange: (leads: boolean) => void
  /** The store could not be asked. */
  readonly onTrouble: (error: Error) => void
}

/**
 * Holds a lease in the shared store. A replica that cannot reach the store leads on until its lease would have run out,
 * and not a moment longer: by then another may have it.
 */
export function createLeadership(options: LeadershipOptions): Leadership {
  const { lead, ttlMs, everyMs, now, onChange, onTrouble } = options
  let leads = false
  let until = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  let expiry: NodeJS.Timeout | undefined
  let asking: Promise<void> | undefined
  let stopped = true

  function set(next: boolean): void {
    if (next === leads) return
    leads = next
    onChange(leads)
  }

  function hold(from: number): void {
    until = from + ttlMs
    clearTimeout(expiry)
    expiry = setTimeout(() => set(false), Math.max(0, until - now()))
  }

  async function ask(): Promise<void> {
    if (lead === undefined) return
    // The lease counts from before the question: the store may have granted it at any time since.
    const asked = now()
    try {
      const granted = await lead(ttlMs)
      if (stopped) return
      if (granted) hold(asked)
      set(granted)
    } catch (error) {
      onTrouble(error instanceof Error ? error : new Error('unknown fault'))
      if (now() >= until) set(false)
    }
  }

  function tick(): void {
    asking = ask().finally(() => {
      if (!stopped) timer = setTimeout(tick, everyMs)
    })
  }

  return {
    start() {
      if (!stopped) return
      stopped = false
      if (lead === undefined) set(true)
      else tick()
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      clearTimeout(expiry)
      await asking
      const led = leads
      set(false)
      if (led && lead !== undefined) await lead(0).catch(onTrouble)
    },
    leads: () => leads,
  }
}
