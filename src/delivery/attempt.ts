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
  const { clock, random, emit, render, attemptWithinMs, run } = options
  const calls = createBoundedCalls(attemptWithinMs, emit)

  /** Tells what has changed with the health of a provider, and that a place may be free. */
  function noteChange({ name: provider }: Provider, change: HealthChange, reason: Words): void {
    const { circuit, faults } = change
    if (circuit !== null) emit({ type: 'breaker', channel, provider, state: circuit, reason })
    // Domains are told to who looks, and not to log and metrics: anybody may invent some.
    for (const { is, fault } of faults)
      if (fault.scope !== 'domain') emit({ type: 'partial-fault', channel, provider, is, ...fault })
    onFreed(change)
  }

  /** The course of one attempt of a message: its carriers are asked one after the other, and what they said comes to one end. */
  function createCourse(job: RoutedJob) {
    const { message, attempts, holder, carriers: inOrder } = job
    const records: AttemptRecord[] = []
    const outcomes: Outcome[] = []
    /** Why carriers were not asked, in their order. */
    const obstacles: (Obstacle & { readonly provider: string })[] = []
    let { ambiguous } = job
    /** The carrier that was asked last, and since when it was no longer expected to answer, ms since the epoch. */
    let asked: Carrier | undefined
    let overdueAt: number | undefined
    for (const each of job.demotions ?? []) addRecord(each.provider, { is: 'skipped', ...each })

    /**
     * Adds a line to the timeline: what a carrier said, as it has redacted that, or why it was not asked, which is why the next one was.
     * @param startedAt ms since the epoch.
     */
    function addRecord(
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
    }

    /**
     * Asks a carrier, unless it may not be asked now. A mail whose server hangs is given up for one that may be asked.
     * @returns whether the next one may be asked
     */
    async function ask(carrier: Carrier, outgoing: Outgoing): Promise<boolean> {
      const { provider } = carrier
      const now = clock.now()
      const notNow = { ...LEFT_ALONE, until: now, provider: provider.name }
      // A carrier that may have taken it is asked what became of it, even when nothing fits any more.
      const isHolder = carrier === holder
      const obstacle = carrier.mayAsk(isHolder ? undefined : outgoing, now)
      if (obstacle !== null) {
        addRecord(provider.name, { is: 'skipped', ...obstacle })
        obstacles.push({ ...obstacle, provider: provider.name })
        return !isHolder
      }
      // Who was sent on by another carrier needs no place, but a connection.
      if (asked !== undefined && (run.isStopping || carrier.places.isFull(now))) {
        obstacles.push(notNow)
        return true
      }

      let isHandedOver = false
      let endWithin: ((ms: number) => void) | undefined
      const others = inOrder.filter(each => each !== carrier)
      const attempt = carrier.begin(now, message, outgoing, change => {
        noteChange(provider, change, OVERDUE.reply)
        // What may have been sent has as long as its server takes; of a code a copy is worth more.
        if (channel !== 'email' || (isHandedOver && message.purpose !== 'code')) return
        const at = clock.now()
        if (endWithin === undefined || others.every(each => each.mayAsk(outgoing, at) !== null)) return
        overdueAt = at
        endWithin(isHandedOver ? Math.min(GIVE_UP_MS, (message.expiresAt - at) / 2) : 0)
      })
      // With one provider its name is not needed. With several, a restart may bring other routes and templates, so it is noted.
      if (!(await markBegun(options, job, carriers.length > 1 ? provider.name : undefined))) {
        attempt.forget()
        obstacles.push(notNow)
        return false
      }
      attempt.start()
      asked = carrier
      overdueAt = undefined
      reports?.noteAsked(message, provider.name)

      let said = isHolder && provider.lookUp !== undefined ? await lookUp(provider, outgoing) : null
      const sendingAt = clock.now()
      said ??= await calls.run<Outcome>(
        (signal, shorten) => {
          endWithin = shorten
          return provider.send(outgoing, signal, () => {
            isHandedOver = true
          })
        },
        OVERDUE,
        { is: 'ambiguous', code: 'FAULT', reply: FAULT },
      )
      if (overdueAt !== undefined && wasStopped(said) && said.is !== 'sent')
        said = { ...said, code: OVERDUE.code, reply: OVERDUE.reply }

      addRecord(provider.name, said, sendingAt)
      const end = attempt.end(said)
      const { outcome, tookMs } = end
      noteChange(provider, end, outcome.reply)
      emit({ type: 'attempt', message, provider: provider.name, outcome, attempts, tookMs })
      reports?.noteEnd(message, provider.name, outcome, ambiguous > 0)
      outcomes.push(outcome)
      // A second SMS is paid for; a mail that arrives twice harms nobody.
      return (ambiguous === 0 || channel === 'email') && mayAskNext(outcome, channel)
    }

    /** Asks a provider what became of the latest copy. @returns null: the message is to be sent */
    async function lookUp(provider: Provider, outgoing: Outgoing): Promise<Outcome | null> {
      const askedAt = clock.now()
      const { is, ...found } = await calls.run(
        async signal => (await provider.lookUp?.(outgoing, message.arrivedAt, signal)) ?? NOT_ASKED,
        NOT_ASKED,
        { is: 'unreachable', reply: FAULT },
      )
      addRecord(provider.name, { is: 'looked-up', code: is, reply: found.reply }, askedAt)
      if (is === 'accepted') return { is: 'sent', ...found }
      // Nothing was sent, and the failed look-up counts as a failure of the provider.
      if (is === 'unreachable')
        return { is: 'retry', whose: 'later', code: 'look-up', ...found, untouched: true }
      if (is === 'absent') ambiguous = 0
      else if (!mayGoOn(channel, ambiguous, false)) return NOT_KNOWN_YET
      const misfit = findMisfit(provider, outgoing)
      return misfit && { is: 'retry', whose: 'ours', ...misfit, untouched: true }
    }

    function settle(outcome: Outcome): AttemptResult {
      const now = clock.now()
      // We stopped the attempt before anything was written, so it does not count.
      if (run.isStopping && outcome.is === 'retry' && outcome.untouched === true)
        return { settlement: { to: 'queued', dueAt: now, uncounted: true }, ran: true }
      const { purpose, expiresAt } = message
      const canBeAsked = asked?.provider.lookUp !== undefined
      const attempted = { purpose, expiresAt, attempts, ambiguous, canBeAsked, overdueAt }
      const settlement = decideSettlement(outcome, attempted, now, random, options.repeatPausesMs)
      return { settlement: { ...settlement, records }, ran: true }
    }

    /** No carrier was asked, because none can send the message. */
    function endUnasked(outcome: Outcome): AttemptResult {
      const provider = (inOrder[0] ?? carriers[0])?.provider.name ?? ''
      emit({ type: 'attempt', message, provider, outcome, attempts, tookMs: 0 })
      return settle(outcome)
    }

    /** Nobody may be asked for the message now. With all obstacles of its destination, whatever goes there waits as it does. */
    function letWait(until: number): AttemptResult {
      const now = clock.now()
      const isShared = holder === undefined && obstacles.every(each => each.isOfDestination === true)
      const backAt = isShared || until <= now ? now : until + Math.round(random() * RETURN_SPREAD_MS)
      const dueAt = dueBeforeEnd(backAt, message.expiresAt, now)
      // Why it waits is said when that is about this message.
      const isPartRefused = obstacles.some(({ code }) => code === PART_REFUSED_CODE)
      return {
        settlement: { to: 'queued', dueAt, uncounted: true, ...(isPartRefused && { records }) },
        ran: false,
        ...(isShared && { rest: { until, reply: obstacles.at(-1)?.reply ?? '' } }),
      }
    }

    return {
      ask,
      /** The message cannot be rendered. */
      endUnrendered(error: unknown): AttemptResult {
        const fault = { is: 'retry', whose: 'ours', ...describeRenderFault(error) } as const
        addRecord(carriers[0]?.provider.name ?? '', fault)
        return endUnasked(fault)
      },
      /** Says what became of the message, when those were asked that may be. */
      end(): AttemptResult {
        /** When those that it fits and that were not asked may be, ms since the epoch. */
        const askableAt = obstacles.flatMap(({ until }) => until ?? [])
        const last = outcomes.at(-1)
        if (last === undefined && askableAt.length > 0) return letWait(Math.min(...askableAt))
        if (last === undefined) return endUnasked(outcomeWhenNobodyFits(obstacles))
        const now = clock.now()
        // A carrier that could not be asked now may take the message later, whatever the others said.
        const pauses = askableAt.map((at): Outcome => ({ ...CAN_WAIT, retryAfterMs: Math.max(at - now, 0) }))
        return settle(mayAskNext(last, channel) ? combineOutcomes([...outcomes, ...pauses]) : last)
      },
    }
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
      const course = createCourse(job)
      let outgoing: Outgoing
      try {
        outgoing = job.outgoing ?? render(job.message)
      } catch (error) {
        return course.endUnrendered(error)
      }
      if (!mayGoOn(channel, job.ambiguous, job.holder?.provider.lookUp !== undefined))
        return { settlement: { to: 'final', state: 'unknown', answer: null }, ran: false }
      for (const carrier of job.carriers) if (!(await course.ask(carrier, outgoing))) break
      return course.end()
    },
    /** Aborts those that run. */
    abort: calls.abort,
  }
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

const CAN_WAIT = { is: 'retry', whose: 'later', ...LEFT_ALONE, untouched: true } as const

/** Makes the outcome when no carrier can send the message before the operator has mended something. */
function outcomeWhenNobodyFits(obstacles: readonly (Obstacle & { readonly provider: string })[]): Outcome {
  const isUnrendered = obstacles.length > 0 && obstacles.every(each => each.code === 'RENDER')
  const code = isUnrendered ? 'RENDER' : NO_CARRIER_FITS
  const said = obstacles.map(each => say('{about}: {what}', { about: each.provider, what: tell(each.reply) }))
  const reply = said.length === 0 ? 'no route leads to its country' : listWords(said, '; ')
  return { is: 'retry', whose: 'ours', code, reply, untouched: true }
}
