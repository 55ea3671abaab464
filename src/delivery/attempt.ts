import type { Emit } from '../events/events.ts'
import { listWords, packWords, say, tell, type Words } from '../language/sentence.ts'
import type { Channel, NewMessage, Outgoing } from '../messages/message.ts'
import {
  type AttemptRecord,
  type ClaimOfMessage,
  type Outbox,
  type Settlement,
  StoreUnavailable,
} from '../outbox/outbox.ts'
import { mayGoOn } from '../outbox/rules.ts'
import { isOperatorFault, type LookUp, type Outcome, type Provider } from '../providers/provider.ts'
import { type CarrierReports, type Demotion, putLast } from '../reports/carrier-reports.ts'
import type { Clock } from '../runtime/clock.ts'
import { createObjectSet } from '../runtime/collections.ts'
import {
  type Carrier,
  describeRenderFault,
  findMisfit,
  LEFT_ALONE,
  type Obstacle,
  PART_REFUSED_CODE,
} from './carrier.ts'
import { type HealthChange, NO_CARRIER_FITS, NOT_KNOWN_YET, OVERDUE, wasStopped } from './health.ts'
import { combineOutcomes, decideSettlement, dueBeforeEnd, GIVE_UP_MS, mayAskNext } from './retry.ts'

/** A claimed message in memory, before or during its attempt. */
export interface Job extends ClaimOfMessage {
  readonly message: NewMessage
  /** The finished bytes, while the message is fresh; a claimed one is rendered again. */
  readonly outgoing?: Outgoing
}

/** A job that waits or is under way. */
export interface RoutedJob extends Job {
  /** The carriers that an attempt may ask, in order. */
  readonly carriers: readonly Carrier[]
  /** The first of them, when it may have the latest copy: it is asked what became of it, and no other one until it surely has none. */
  readonly holder?: Carrier | undefined
  /** The carriers that are not asked in the order of the route, and why. */
  readonly demotions?: readonly Demotion[]
}

/** The carriers that a message may go to, in the order in which they are asked; often there is one. */
export type Route = (message: NewMessage) => readonly Carrier[]

/** All carriers of a destination are left alone. */
export interface Rest {
  /** The end of it, ms since the epoch. */
  readonly until: number
  readonly reply: Words
}

/** What an attempt came to. */
export interface AttemptResult {
  readonly settlement: Settlement
  /** Whether it came to an outcome; otherwise the message only waited. */
  readonly ran: boolean
  /** Nobody may be asked for its destination now. It is due all that time. */
  readonly rest?: Rest
}

/** What serves one channel. */
export interface ChannelSpec {
  readonly channel: Channel
  /** All carriers of the channel; none: it is switched off. */
  readonly carriers: readonly Carrier[]
  readonly route: Route
  /** Says who is asked second for their delivery reports; absent: nobody is. */
  readonly reports?: CarrierReports
}

export interface AttemptsOptions {
  readonly outbox: Outbox
  readonly clock: Clock
  readonly random: () => number
  readonly emit: Emit
  readonly render: (message: NewMessage) => Outgoing
  /**
   * The longest that a call to a provider may take, ms. Providers have limits of their own, which are shorter: this one is for
   * a provider that has lost one of its calls, which must not outlive its lease unnoticed.
   */
  readonly attemptWithinMs: number
  /** Pauses before a message goes out again that may have been sent, ms, when not the usual ones; see retry.ts. */
  readonly repeatPausesMs?: readonly number[] | undefined
  /** Whether the process was told to end: then no further carrier is asked. */
  readonly run: { readonly isStopping: boolean }
}

/** Messages that are given back because a part of their carrier is left alone come due again at different moments, within so long, ms. */
const RETURN_SPREAD_MS = 1000
const NOT_ASKED: LookUp = { is: 'unreachable', reply: OVERDUE.reply }
const FAULT = 'an unexpected fault in the provider'

/**
 * Makes the attempts of one channel: decides who is asked in which order, and asks.
 * @param onFreed called when a carrier's part of an attempt has ended, or has lasted longer than it may: its place may be another
 *   message's, though the attempt may go on.
 */
export function createAttempts(
  { channel, carriers, route, reports }: ChannelSpec,
  options: AttemptsOptions,
  onFreed: (change: HealthChange) => void,
) {
  const { clock, random, emit, render, attemptWithinMs } = options
  const calls = createBoundedCalls(attemptWithinMs, emit)

  const giveBack = (dueAt: number, records?: readonly AttemptRecord[]): AttemptResult => ({
    settlement: { to: 'queued', dueAt, uncounted: true, ...(records && { records }) },
    ran: false,
  })

  /** Gives back a message that nobody may be asked for now. With all obstacles of its destination, whatever goes there waits as it does. */
  function letWait(
    { message, holder }: RoutedJob,
    obstacles: readonly Obstacle[],
    until: number,
    records: readonly AttemptRecord[],
  ): AttemptResult {
    const now = clock.now()
    // Why it waits is said when that is about this message.
    const lines = obstacles.some(({ code }) => code === PART_REFUSED_CODE) ? records : undefined
    const isShared = holder === undefined && obstacles.every(each => each.isOfDestination === true)
    if (isShared) return { ...giveBack(now, lines), rest: { until, reply: obstacles.at(-1)?.reply ?? '' } }
    const dueAt = until + Math.round(random() * RETURN_SPREAD_MS)
    return giveBack(dueBeforeEnd(dueAt, message.expiresAt, now), lines)
  }

  /** Ends an attempt in which no carrier was asked, because none can send the message. */
  function endUnasked(job: RoutedJob, outcome: Outcome, records: readonly AttemptRecord[]): AttemptResult {
    const provider = (job.carriers[0] ?? carriers[0])?.provider.name ?? ''
    emit({ type: 'attempt', message: job.message, provider, outcome, attempts: job.attempts, tookMs: 0 })
    return settle(job, outcome, records)
  }

  function settle(
    { message, attempts, ambiguous }: RoutedJob,
    outcome: Outcome,
    records: readonly AttemptRecord[],
    asked?: Carrier,
    overdueAt?: number,
  ): AttemptResult {
    const now = clock.now()
    // We stopped the attempt before anything was written, so it does not count.
    if (options.run.isStopping && outcome.is === 'retry' && outcome.untouched === true)
      return { settlement: { to: 'queued', dueAt: now, uncounted: true }, ran: true }
    const { purpose, expiresAt } = message
    const canBeAsked = asked?.provider.lookUp !== undefined
    const attempted = { purpose, expiresAt, attempts, ambiguous, canBeAsked, overdueAt }
    const settlement = decideSettlement(outcome, attempted, now, random, options.repeatPausesMs)
    return { settlement: { ...settlement, records }, ran: true }
  }

  /**
   * Sends a message by a carrier. A mail whose server hangs is given up for one that may be asked now.
   * @param whenOverdue has a function called when the attempt has waited for longer than it may.
   */
  async function send(
    { provider }: Carrier,
    whenOverdue: (tell: () => void) => void,
    { purpose, expiresAt }: NewMessage,
    outgoing: Outgoing,
    others: readonly Carrier[],
  ): Promise<{ readonly said: Outcome; readonly overdueAt: number | undefined }> {
    let isHandedOver = false
    let overdueAt: number | undefined
    const said = await calls.run<Outcome>(
      (signal, endWithin) => {
        whenOverdue(() => {
          const now = clock.now()
          // What may have been sent has as long as its server takes; of a code a copy is worth more.
          if (channel !== 'email' || (isHandedOver && purpose !== 'code')) return
          if (others.every(each => each.mayAsk(outgoing, now) !== null)) return
          overdueAt = now
          endWithin(isHandedOver ? Math.min(GIVE_UP_MS, (expiresAt - now) / 2) : 0)
        })
        return provider.send(outgoing, signal, () => {
          isHandedOver = true
        })
      },
      OVERDUE,
      { is: 'ambiguous', code: 'FAULT', reply: FAULT },
    )
    const isGivenUp = overdueAt !== undefined && wasStopped(said)
    if (!isGivenUp || (said.is !== 'retry' && said.is !== 'ambiguous')) return { said, overdueAt }
    return { said: { ...said, code: OVERDUE.code, reply: OVERDUE.reply }, overdueAt }
  }

  /** Asks a provider what became of the latest copy of a message. */
  function lookUp({ provider }: Carrier, outgoing: Outgoing, { arrivedAt }: NewMessage): Promise<LookUp> {
    const ask = async (signal: AbortSignal) =>
      (await provider.lookUp?.(outgoing, arrivedAt, signal)) ?? NOT_ASKED
    return calls.run(ask, NOT_ASKED, { is: 'unreachable', reply: FAULT })
  }

  return {
    /**
     * Decides who is asked for a message, in which order: those of its route, but behind the others who reports badly, and last whom a
     * code before it may not have come by. An SMS that may have been sent is sent again by its carrier and by no other; a mail, whose
     * second copy harms nobody, goes another way, unless its server can be asked. A carrier that is not configured any more cannot be
     * asked. A process that died without a note is taken to have asked the first one of the route.
     */
    route(job: Job): RoutedJob {
      const inOrder = route(job.message)
      const { carriers: usual, demotions } = reports?.order(inOrder, job.message) ?? {
        carriers: inOrder,
        demotions: [],
      }
      const name = job.ambiguousAt || inOrder[0]?.provider.name
      const before = job.ambiguous === 0 ? undefined : carriers.find(({ provider }) => provider.name === name)
      if (before === undefined) return { ...job, carriers: usual, demotions }
      if (channel === 'email' && before.provider.lookUp === undefined)
        return { ...job, carriers: putLast(before.provider.name, usual), demotions }
      return { ...job, carriers: [before, ...usual.filter(each => each !== before)], holder: before }
    },
    /**
     * Makes one attempt of a message: its carriers are asked one after the other, until one took it, may have taken it, or refused
     * it for good. The holder is asked first what became of its copy.
     */
    async run(job: RoutedJob): Promise<AttemptResult> {
      const { message, attempts, holder, carriers: inOrder } = job
      const timeline = createTimeline(clock)
      let outgoing: Outgoing
      try {
        outgoing = job.outgoing ?? render(message)
      } catch (error) {
        const fault = { is: 'retry', whose: 'ours', ...describeRenderFault(error) } as const
        timeline.add(carriers[0]?.provider.name ?? '', fault)
        return endUnasked(job, fault, timeline.records)
      }
      if (!mayGoOn(channel, job.ambiguous, holder?.provider.lookUp !== undefined))
        return { settlement: { to: 'final', state: 'unknown', answer: null }, ran: false }
      let { ambiguous } = job
      let asked: Carrier | undefined
      let overdueAt: number | undefined
      const outcomes: Outcome[] = []
      for (const each of job.demotions ?? []) timeline.add(each.provider, { is: 'skipped', ...each })
      /** Why carriers were not asked, in their order. */
      const obstacles: (Obstacle & { readonly provider: string })[] = []

      for (const carrier of inOrder) {
        const { provider } = carrier
        const now = clock.now()
        // A carrier that may have taken it is asked what became of it, even when nothing fits any more.
        const isHolder = carrier === holder
        const obstacle = carrier.mayAsk(isHolder ? undefined : outgoing, now)
        if (obstacle !== null) {
          timeline.add(provider.name, { is: 'skipped', ...obstacle })
          obstacles.push({ ...obstacle, provider: provider.name })
          if (isHolder) break
          continue
        }
        const notNow = { ...LEFT_ALONE, until: now, provider: provider.name }
        // Who was sent on by another carrier needs no place, but a connection.
        if (asked !== undefined && carrier.places.isFull(now)) {
          obstacles.push(notNow)
          continue
        }

        let tellOverdue: (() => void) | undefined
        const attempt = carrier.begin(now, message, outgoing, change => {
          emitHealthChange(emit, provider, change, OVERDUE.reply)
          onFreed(change)
          tellOverdue?.()
        })
        // With one provider its name is not needed. With several, a restart may bring other routes and templates, so it is noted.
        if (!(await markBegun(options, job, carriers.length > 1 ? provider.name : undefined))) {
          attempt.forget()
          if (asked === undefined) return giveBack(clock.now())
          obstacles.push(notNow)
          break
        }
        attempt.start()
        asked = carrier
        reports?.noteAsked(message, provider.name)

        let said: Outcome | null = null
        if (isHolder && provider.lookUp !== undefined) {
          const askedAt = clock.now()
          const found = await lookUp(carrier, outgoing, message)
          timeline.add(provider.name, { is: 'looked-up', code: found.is, reply: found.reply }, askedAt)
          said = outcomeOfLookUp(found, !mayGoOn(channel, ambiguous, false))
          if (said === null && found.is === 'absent') ambiguous = 0
          const misfit = said === null ? findMisfit(provider, outgoing) : null
          if (misfit !== null) said = { is: 'retry', whose: 'ours', ...misfit, untouched: true }
        }
        const sendingAt = clock.now()
        if (said === null) {
          const others = inOrder.filter(each => each !== carrier)
          const whenOverdue = (tell: () => void) => void (tellOverdue = tell)
          const sent = await send(carrier, whenOverdue, message, outgoing, others)
          said = sent.said
          overdueAt = sent.overdueAt
        }

        timeline.add(provider.name, said, sendingAt)
        const end = attempt.end(said)
        const { outcome, tookMs } = end
        emitHealthChange(emit, provider, end, outcome.reply)
        emit({ type: 'attempt', message, provider: provider.name, outcome, attempts, tookMs })
        reports?.noteEnd(message, provider.name, outcome, ambiguous > 0)
        onFreed(end)
        outcomes.push(outcome)
        // A second SMS is paid for; a mail that arrives twice harms nobody.
        if ((ambiguous > 0 && channel === 'sms') || !mayAskNext(outcome, channel)) break
        if (options.run.isStopping && carrier !== inOrder.at(-1)) {
          obstacles.push(notNow)
          break
        }
      }

      /** When those that it fits and that were not asked may be, ms since the epoch. */
      const askableAt = obstacles.flatMap(({ until }) => until ?? [])
      const last = outcomes.at(-1)
      if (last !== undefined) {
        const now = clock.now()
        // A carrier that could not be asked now may take the message later, whatever the others said.
        const pauses = askableAt.map((at): Outcome => ({ ...CAN_WAIT, retryAfterMs: Math.max(at - now, 0) }))
        const outcome = mayAskNext(last, channel) ? combineOutcomes([...outcomes, ...pauses]) : last
        return settle({ ...job, ambiguous }, outcome, timeline.records, asked, overdueAt)
      }
      if (askableAt.length > 0) return letWait(job, obstacles, Math.min(...askableAt), timeline.records)
      return endUnasked(job, outcomeWhenNobodyFits(obstacles), timeline.records)
    },
    /** Aborts those that run. */
    abort: calls.abort,
  }
}

/** Tells what has changed with the health of a provider. */
function emitHealthChange(
  emit: Emit,
  { channel, name: provider }: Provider,
  { circuit, faults }: HealthChange,
  reason: Words,
): void {
  if (circuit !== null) emit({ type: 'breaker', channel, provider, state: circuit, reason })
  // Domains are told to who looks, and not to log and metrics: anybody may invent some.
  for (const { is, fault } of faults)
    if (fault.scope !== 'domain') emit({ type: 'partial-fault', channel, provider, is, ...fault })
}

/** How long an aborted provider has to say how far it came, ms. */
const LAST_WORD_MS = 500

/** Calls to providers, none of which runs for ever or throws. */
function createBoundedCalls(limitMs: number, emit: Emit) {
  const running = createObjectSet<AbortController>()
  return {
    /**
     * Runs one call to a provider.
     * @param call may shorten the time that it has.
     * @param overdue is its result when the provider does not come back.
     * @param afterFault is its result after a bug of the provider's: nobody knows what it did before it threw.
     */
    async run<T>(
      call: (signal: AbortSignal, endWithin: (ms: number) => void) => Promise<T>,
      overdue: T,
      afterFault: T,
    ): Promise<T> {
      const controller = new AbortController()
      const { promise: limit, resolve } = Promise.withResolvers<T>()
      let timer: NodeJS.Timeout | undefined
      const endWithin = (ms: number): void => {
        clearTimeout(timer)
        timer = setTimeout(() => {
          controller.abort()
          timer = setTimeout(() => resolve(overdue), LAST_WORD_MS).unref()
        }, ms).unref()
      }
      endWithin(limitMs)
      const remove = running.add(controller)
      try {
        return await Promise.race([call(controller.signal, endWithin), limit])
      } catch (error) {
        emit({ type: 'fault', error: error instanceof Error ? error : new Error('unknown fault') })
        return afterFault
      } finally {
        clearTimeout(timer)
        remove()
      }
    },
    /** Aborts those that run. */
    abort(): void {
      for (const controller of running) controller.abort()
    },
  }
}

/**
 * Notes in the store that the attempt begins, so that after a crash it is known which messages may have been sent.
 * @param provider whom it goes to, when there are several.
 * @returns false when that could not be noted, or a newer code came to another process: then nothing may be sent.
 */
async function markBegun(
  { outbox, emit }: AttemptsOptions,
  { message, lease }: Job,
  provider: string | undefined,
): Promise<boolean> {
  try {
    const marked = outbox.beginAttempt(message.id, lease, provider)
    return marked === undefined || (await marked) !== 'outdated'
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    emit({ type: 'store-failed', doing: 'begin', error })
    return false
  }
}

/** Makes the outcome of a look-up; null: the message is to be sent. @param isLastCopy no further copy may go out. */
function outcomeOfLookUp({ is, ...found }: LookUp, isLastCopy: boolean): Outcome | null {
  switch (is) {
    case 'accepted':
      return { is: 'sent', ...found }
    case 'absent':
      return null
    case 'not-known':
      return isLastCopy ? NOT_KNOWN_YET : null
    case 'unreachable':
      // Nothing was sent, and the failed look-up counts as a failure of the provider.
      return { is: 'retry', whose: 'later', code: 'look-up', ...found, untouched: true }
  }
}

const CAN_WAIT = { is: 'retry', whose: 'later', ...LEFT_ALONE, untouched: true } as const

/** Makes the outcome when no carrier can send the message before the operator has mended something. */
function outcomeWhenNobodyFits(obstacles: readonly (Obstacle & { readonly provider: string })[]): Outcome {
  const isUnrendered = obstacles.length > 0 && obstacles.every(each => each.code === 'RENDER')
  const code = isUnrendered ? 'RENDER' : NO_CARRIER_FITS
  const said = obstacles.map(each => say('{about}: {what}', { about: each.provider, what: tell(each.reply) }))
  const reply = said.length === 0 ? 'no route leads to its country' : listWords(said, '; ')
  return { is: 'retry', whose: 'ours', code, reply, untouched: true }
}

/** Collects one attempt's lines for the timeline. */
function createTimeline(clock: Clock) {
  const records: AttemptRecord[] = []
  return {
    records,
    /**
     * Adds what a carrier said, as it has redacted that, or why it was not asked, which is why the next one was.
     * @param startedAt ms since the epoch.
     */
    add(
      provider: string,
      said: Outcome | { readonly is: 'looked-up' | 'skipped'; readonly code: string; readonly reply: Words },
      startedAt = clock.now(),
    ): void {
      const isOfRecipient =
        'scope' in said && /^(recipient|country)$/.test(said.scope ?? '') && !isOperatorFault(said)
      records.push({
        at: startedAt,
        tookMs: clock.now() - startedAt,
        provider,
        outcome: said.is,
        code: 'code' in said ? said.code : '',
        reply: packWords(said.reply),
        ...(isOfRecipient && { ofRecipient: true }),
      })
    },
  }
}
