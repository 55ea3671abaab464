import type { Clock } from '../clock.ts'
import type { Channel, NewMessage, Outgoing } from '../messages/message.ts'
import type { AttemptRecord, FinalAnswer, Lease, Outbox, Settlement, State } from '../outbox/outbox.ts'
import { StoreUnavailable } from '../outbox/outbox.ts'
import type { Outcome, Provider } from '../providers/provider.ts'
import type { Breaker } from './breaker.ts'
import { createLane, type Job, type Lane } from './lane.ts'
import { settlementOf } from './retry.ts'
import type { Verdicts } from './verdicts.ts'

/** A message that was just accepted as `sending`, handed over from memory with its finished bytes. */
export interface Handover {
  readonly message: NewMessage
  readonly lease: Lease
  readonly groupKey?: string
  readonly outgoing: Outgoing
}

/** What delivery tells whoever counts and logs. Recipients only masked. */
export interface DeliveryObserver {
  attempt(event: {
    readonly message: NewMessage
    readonly provider: string
    readonly outcome: Outcome
    readonly attempts: number
    readonly tookMs: number
  }): void
  final(event: {
    readonly id: string
    readonly channel: Channel
    readonly kind: string
    readonly state: State
    readonly answer: FinalAnswer
    /** Arrival to end, ms; unknown for what the store settled by itself. */
    readonly tookMs?: number
    readonly providerId?: string
  }): void
  breaker(event: {
    readonly channel: Channel
    readonly provider: string
    readonly state: 'open' | 'closed'
    readonly reason: string
  }): void
  storeFailed(event: { readonly doing: string; readonly error: Error }): void
}

export interface LaneStatus {
  readonly channel: Channel
  readonly provider: string
  readonly inFlight: number
  readonly waiting: number
  readonly breaker: ReturnType<Breaker['state']>
  readonly breakerUntil: number | null
}

export interface DeliveryOptions {
  readonly outbox: Outbox
  readonly clock: Clock
  readonly random: () => number
  readonly verdicts: Verdicts
  readonly observer: DeliveryObserver
  readonly lanes: readonly {
    readonly provider: Provider
    readonly render: (message: NewMessage) => Outgoing
    readonly breaker: Breaker
  }[]
  /** How long a claim holds, ms; longer than `attemptLimitMs`. */
  readonly leaseMs: number
  /** The longest that a provider's attempt can take, ms; nothing begins that its lease would not outlive. */
  readonly attemptLimitMs: number
  /** How often a shared store is asked without a reason, ms (another replica may have put something there). */
  readonly pollMs: number
  readonly leaseToken: () => string
}

/** The loop that brings messages from the outbox to their providers, and the only one that settles them. */
export interface Delivery {
  /** A place in memory for a message that is about to be accepted; undefined: leave it to the store. */
  reserve(channel: Channel): Lease | undefined
  /** Gives back a place that was not used. */
  unreserve(channel: Channel): void
  /** Whether the channel's provider is being left alone: a message now has no verdict soon. */
  resting(channel: Channel): boolean
  /** Takes an accepted message over; its place was reserved. */
  begin(handover: Handover): void
  /** Something was stored as `queued` and is due. */
  nudge(channel: Channel): void
  status(): readonly LaneStatus[]
  start(): void
  /**
   * Ends: gives back what has not begun, lets what is in flight finish for `graceMs`, then aborts it and settles what
   * that became. Resolves when nothing is in flight or unsettled, or after another `abortMs`.
   */
  stop(graceMs: number, abortMs: number): Promise<void>
}

const CLAIM_LIMIT = 100
const STORE_RETRY_MS = 1000

export function createDelivery(options: DeliveryOptions): Delivery {
  const { outbox, clock, random, verdicts, observer, leaseMs, attemptLimitMs, pollMs, leaseToken } = options
  const lanes = new Map<Channel, Lane>()
  const abort = new AbortController()
  let stopping = false
  let abandoned = false
  /** Ends of attempts that the store could not take yet; while there is one, nothing is claimed or begun. */
  let unsettled = 0
  let open = 0
  let quiet: (() => void) | undefined

  for (const spec of options.lanes) lanes.set(spec.provider.channel, createLane(spec))

  function laneOf(channel: Channel): Lane {
    const lane = lanes.get(channel)
    if (lane === undefined) throw new Error(`no provider for ${channel}`)
    return lane
  }

  function run(lane: Lane): void {
    while (!stopping && unsettled === 0 && lane.inFlight < lane.provider.concurrency) {
      const job = lane.next()
      if (job === undefined) break
      const now = clock.now()
      if (job.superseded) end(lane, job, { to: 'final', state: 'superseded', answer: null })
      else if (now >= job.message.expiresAt) end(lane, job, expiry(job))
      else if (job.lease.until - now < attemptLimitMs) giveBack(lane, job, now)
      else if (!lane.breaker.allows(now)) {
        giveBack(
          lane,
          job,
          Math.max(lane.breaker.openUntil() ?? now, now) + Math.round(random() * STORE_RETRY_MS),
        )
      } else void attempt(lane, job)
    }
    schedule(lane)
  }

  /** What was ambiguous before and has no time left is unknown, not expired: it may have been sent. */
  function expiry(job: Job): Settlement {
    return { to: 'final', state: job.ambiguous > 0 ? 'unknown' : 'expired', answer: null }
  }

  function giveBack(lane: Lane, job: Job, dueAt: number): void {
    verdicts.announce(job.message.id, { is: 'pending' })
    end(lane, job, { to: 'queued', dueAt, uncounted: true })
  }

  function end(lane: Lane, job: Job, settlement: Settlement): void {
    open += 1
    void settle(job, settlement, undefined).finally(() => {
      open -= 1
      if (open === 0) quiet?.()
      run(lane)
    })
  }

  async function attempt(lane: Lane, job: Job): Promise<void> {
    const { message } = job
    const startedAt = clock.now()
    const wasClosed = lane.breaker.state() === 'closed'
    lane.inFlight += 1
    open += 1
    try {
      const outcome = await send(lane, job)
      const now = clock.now()
      const tookMs = now - startedAt
      lane.breaker.record(outcome, now)
      noteBreaker(lane, wasClosed, outcome)
      observer.attempt({ message, provider: lane.provider.name, outcome, attempts: job.attempts, tookMs })
      const record: AttemptRecord = {
        at: startedAt,
        tookMs,
        provider: lane.provider.name,
        outcome: outcome.is,
        code: outcome.is === 'sent' ? '' : outcome.code,
        reply: outcome.reply,
      }
      const settlement: Settlement =
        stopping && outcome.is === 'retry' && outcome.untouched === true
          ? { to: 'queued', dueAt: now, uncounted: true }
          : settlementOf(
              outcome,
              { ...job, purpose: message.purpose, expiresAt: message.expiresAt },
              now,
              random,
              record,
            )
      // A verdict of the provider may be answered before it is settled: the message itself is committed already, and
      // a crash in between makes it ambiguous, which is what it then is.
      if (settlement.to === 'final') {
        verdicts.announce(message.id, { is: 'final', state: settlement.state, answer: settlement.answer })
      } else verdicts.announce(message.id, { is: 'pending' })
      lane.inFlight -= 1
      run(lane)
      await settle(job, settlement, startedAt)
    } finally {
      open -= 1
      if (open === 0) quiet?.()
      run(lane)
    }
  }

  async function send(lane: Lane, job: Job): Promise<Outcome> {
    let outgoing: Outgoing
    try {
      outgoing = job.outgoing ?? lane.render(job.message)
    } catch (error) {
      const reply = `cannot be rendered: ${error instanceof Error ? error.name : 'unknown fault'}; look at the templates`
      return { is: 'retry', whose: 'ours', code: 'RENDER', reply }
    }
    try {
      return await lane.provider.send(outgoing, abort.signal)
    } catch (error) {
      // A bug in a provider. Nobody knows what it did before it threw.
      observer.storeFailed({
        doing: 'send',
        error: error instanceof Error ? error : new Error('unknown fault'),
      })
      return { is: 'ambiguous', code: 'FAULT', reply: 'an unexpected fault in the provider' }
    }
  }

  function noteBreaker(lane: Lane, wasClosed: boolean, outcome: Outcome): void {
    const isClosed = lane.breaker.state() === 'closed'
    if (isClosed === wasClosed) return
    const { channel, name } = lane.provider
    observer.breaker({ channel, provider: name, state: isClosed ? 'closed' : 'open', reason: outcome.reply })
    if (isClosed) lane.dueAt = clock.now()
  }

  async function settle(job: Job, settlement: Settlement, startedAt: number | undefined): Promise<void> {
    const { id, channel, kind, arrivedAt } = job.message
    for (let wait = 50, failed = false; ; wait = Math.min(wait * 2, STORE_RETRY_MS)) {
      try {
        const settled = await outbox.settle(id, job.lease, settlement)
        if (failed) recovered()
        if (settled.state === 'lost') return
        if (settled.state === 'queued') {
          const lane = laneOf(channel)
          const dueAt = settlement.to === 'queued' ? settlement.dueAt : clock.now()
          lane.dueAt = lane.dueAt === null ? dueAt : Math.min(lane.dueAt, dueAt)
          return
        }
        if (settled.state === 'sending') return
        verdicts.announce(id, { is: 'final', state: settled.state, answer: settled.answer })
        observer.final({
          id,
          channel,
          kind,
          state: settled.state,
          answer: settled.answer,
          ...(startedAt === undefined ? {} : { tookMs: clock.now() - arrivedAt }),
          ...(settlement.to === 'final' && settlement.providerId !== undefined
            ? { providerId: settlement.providerId }
            : {}),
        })
        return
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        if (!failed) {
          failed = true
          unsettled += 1
          observer.storeFailed({ doing: 'settle', error })
        }
        if (abandoned) return
        await new Promise(resolve => setTimeout(resolve, wait))
      }
    }
  }

  function recovered(): void {
    unsettled -= 1
    if (unsettled === 0) for (const lane of lanes.values()) run(lane)
  }

  /** Claims from the store when memory has room and something is due; otherwise sets the timer for it. */
  function schedule(lane: Lane): void {
    if (stopping || lane.claiming || unsettled > 0 || lane.room() < lane.memory / 2) return
    clearTimeout(lane.timer)
    const now = clock.now()
    const rest = lane.breaker.openUntil()
    const dueAt = lane.dueAt === null ? now + pollMs : rest === null ? lane.dueAt : Math.max(lane.dueAt, rest)
    if (lane.dueAt !== null && dueAt <= now) {
      void refill(lane)
      return
    }
    lane.timer = setTimeout(
      () => {
        if (lane.dueAt === null) lane.dueAt = clock.now()
        schedule(lane)
      },
      Math.min(Math.max(dueAt - now, 1), pollMs),
    )
  }

  async function refill(lane: Lane): Promise<void> {
    const { channel } = lane.provider
    // An open breaker is tried by one message, not by a hundred.
    const limit = lane.breaker.state() === 'closed' ? Math.min(lane.room(), CLAIM_LIMIT) : 1
    lane.claiming = true
    lane.dueAt = null
    try {
      const claim = await outbox.claim(channel, limit, leaseMs)
      for (const { id, state, kind } of claim.settled) {
        verdicts.announce(id, { is: 'final', state, answer: null })
        observer.final({ id, channel, kind, state, answer: null })
      }
      for (const { lease, attempts, ambiguous, groupKey, ...message } of claim.messages) {
        lane.add({
          message,
          lease,
          attempts,
          ambiguous,
          superseded: false,
          ...(groupKey === undefined ? {} : { groupKey }),
        })
      }
      const again = claim.messages.length === limit ? clock.now() : claim.nextDueAt
      if (again !== null) lane.dueAt = lane.dueAt === null ? again : Math.min(lane.dueAt, again)
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      observer.storeFailed({ doing: 'claim', error })
      lane.dueAt = clock.now() + STORE_RETRY_MS
    } finally {
      lane.claiming = false
    }
    // Claimed while we were told to end: hand it back.
    if (stopping) releaseAll(lane)
    else run(lane)
  }

  function releaseAll(lane: Lane): void {
    for (let job = lane.next(); job !== undefined; job = lane.next()) giveBack(lane, job, clock.now())
  }

  return {
    reserve(channel) {
      const lane = lanes.get(channel)
      if (
        lane === undefined ||
        stopping ||
        unsettled > 0 ||
        lane.room() < 1 ||
        lane.breaker.state() !== 'closed'
      )
        return undefined
      lane.reserved += 1
      return { token: leaseToken(), until: clock.now() + leaseMs }
    },
    unreserve(channel) {
      const lane = laneOf(channel)
      lane.reserved -= 1
      schedule(lane)
    },
    resting: channel => laneOf(channel).breaker.state() !== 'closed',
    begin({ message, lease, groupKey, outgoing }) {
      const lane = laneOf(message.channel)
      lane.reserved -= 1
      const job: Job = {
        message,
        lease,
        attempts: 1,
        ambiguous: 0,
        outgoing,
        superseded: false,
        ...(groupKey === undefined ? {} : { groupKey }),
      }
      lane.supersede(job)
      lane.add(job)
      if (stopping) releaseAll(lane)
      else run(lane)
    },
    nudge(channel) {
      const lane = laneOf(channel)
      lane.dueAt = clock.now()
      schedule(lane)
    },
    status: () =>
      [...lanes.values()].map(lane => ({
        channel: lane.provider.channel,
        provider: lane.provider.name,
        inFlight: lane.inFlight,
        waiting: lane.waiting(),
        breaker: lane.breaker.state(),
        breakerUntil: lane.breaker.openUntil(),
      })),
    start() {
      for (const lane of lanes.values()) {
        lane.dueAt = clock.now()
        schedule(lane)
      }
    },
    async stop(graceMs, abortMs) {
      stopping = true
      for (const lane of lanes.values()) {
        clearTimeout(lane.timer)
        releaseAll(lane)
      }
      const settled = (ms: number) =>
        new Promise<void>(resolve => {
          if (open === 0) return resolve()
          const timer = setTimeout(resolve, ms)
          quiet = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      await settled(graceMs)
      abort.abort()
      await settled(abortMs)
      abandoned = true
    },
  }
}
