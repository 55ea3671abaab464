import type { Test } from 'tap'
import { createBreaker } from '../../src/delivery/breaker.ts'
import { createDelivery } from '../../src/delivery/delivery.ts'
import { createLimiter, type Limiter } from '../../src/delivery/limiter.ts'
import type { Delivery } from '../../src/delivery/port.ts'
import { MAX_COPIES } from '../../src/delivery/retry.ts'
import { createVerdicts } from '../../src/delivery/verdicts.ts'
import { createEmitter } from '../../src/events/events.ts'
import type { Outgoing } from '../../src/messages/message.ts'
import { type Lease, type Outbox, StoreUnavailable } from '../../src/outbox/outbox.ts'
import { isLive } from '../../src/outbox/rules.ts'
import type { LookUp, Outcome, Provider } from '../../src/providers/provider.ts'
import { NOON, sample } from '../outbox/samples.ts'
import { createMemoryOutbox, type MemoryOutbox, type Row } from './memory-outbox.ts'
import { rendered } from './rig.ts'
import { installTimers } from './simulated-timers.ts'
import { createTimeline, seededRandom, type Timeline } from './simulation.ts'

/**
 * The whole scheduler in a world of chance: an outbox in memory, a provider with outcomes and durations of every kind,
 * a store that fails at times, a process that is killed and starts again with another clock. Time is simulated, and the
 * seed decides everything.
 */

/** What was promised and not kept, in words. */
export type Breach = string

const SECOND = 1000
/** Until then messages come, and everything may fail; afterwards all is well. */
const TROUBLE_MS = 40 * SECOND
const LONGEST_LIFE_MS = 3 * 3600 * SECOND
const ATTEMPT_LIMIT_MS = 40 * SECOND
/** How long a provider that swallowed a message is waited for. */
const REPLY_LIMIT_MS = 30 * SECOND
/** A place may be free, or a message due, for so long before anybody notices: some calls to the store, one after the other. */
const NOTICED_MS = 1500

const MODES = ['well', 'well', 'slow', 'dead', 'silent', 'lost', 'busy', 'crowded', 'throttled'] as const
type Mode = (typeof MODES)[number]

/** What has happened to one message at the provider, which only the provider knows. */
interface Truth {
  arrived: number
  /** Sendings of which nobody could tell whether they arrived, since it was surely absent. */
  unsure: number
  rejected: boolean
  /** A process was killed that had noted that it begins. */
  doubted: boolean
  /** Sendings that the provider is still at, whoever asked. */
  pending: number
}

interface Process {
  alive: boolean
  readonly delivery: Delivery
  readonly limiter: Limiter
  readonly now: () => number
}

/** Runs one world. @returns what was not kept. */
export async function runWorld(
  seed: number,
): Promise<{ breaches: readonly Breach[]; messages: number; sends: number }> {
  const time = createTimeline()
  const timers = installTimers(time)
  try {
    const world = createWorld(seed, time, timers.stopAll)
    while (time.next() <= TROUBLE_MS + LONGEST_LIFE_MS && !world.isOver()) {
      time.runUntil(time.next())
      await new Promise(resolve => setImmediate(resolve))
      world.look()
    }
    return world.end()
  } finally {
    timers.uninstall()
  }
}

function createWorld(seed: number, time: Timeline, stopTimers: () => void) {
  const random = seededRandom(seed)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const between = (low: number, high: number): number => low + random() * (high - low)
  const breaches: Breach[] = []
  const breach = (what: string): void => {
    if (breaches.length < 5) breaches.push(`${(time.now() / 1000).toFixed(2)} s: ${what}`)
  }

  const most = Math.ceil(between(0, 12))
  const mailMs = pick([5, 50, 300])
  const channel = pick(['email', 'sms'] as const)
  const canBeAsked = random() < 0.5
  /** The usual pauses outlast most of the trouble: with short ones messages meet it as often as they may. */
  const repeatPausesMs = pick([undefined, [SECOND]])
  const truths = new Map<string, Truth>()
  let mode: Mode = 'well'
  let process: Process | undefined
  let wall = NOON
  let leases = 0
  let sends = 0
  let troubledAt = 0
  let storeFreeAt = 0

  const truthOf = (id: string): Truth => {
    const truth = truths.get(id) ?? { arrived: 0, unsure: 0, rejected: false, doubted: false, pending: 0 }
    truths.set(id, truth)
    return truth
  }

  const now = (): number => wall + time.now()

  /** A call to the store: they come one after the other, and a process that was killed hears of none. */
  function runInStore<T>(work: () => T): Promise<T> {
    const caller = process
    storeFreeAt = Math.max(storeFreeAt, time.now()) + between(0, 10)
    return new Promise((resolve, reject) =>
      time.after(storeFreeAt - time.now(), () => {
        if (caller?.alive === false) return
        try {
          resolve(work())
        } catch (error) {
          reject(error)
        }
      }),
    )
  }

  const outbox: MemoryOutbox = createMemoryOutbox(now, runInStore, random() < 0.5)
  const rowOf = (id: string): Row => {
    const row = outbox.rows.get(id)
    if (row === undefined) throw new Error('sent, and never stored')
    return row
  }

  function checkSend({ id }: Outgoing): void {
    const { acceptance, expiresAt } = rowOf(id)
    if (now() >= expiresAt + NOTICED_MS) breach(`${id} is sent ${now() - expiresAt} ms after its life`)
    if (truthOf(id).unsure >= MAX_COPIES[channel]) breach(`${id} is sent once more than it may`)
    if (acceptance.message.purpose === 'code' || process?.delivery.status()[0]?.breaker !== 'closed') return
    const overtaken = [...outbox.rows.values()].find(
      row =>
        row.acceptance.message.purpose === 'code' &&
        row.state === 'queued' &&
        now() - (row.dueAt ?? 0) > NOTICED_MS &&
        time.now() - troubledAt > 2 * NOTICED_MS,
    )
    if (overtaken !== undefined) breach(`${id} overtakes the code ${overtaken.acceptance.message.id}`)
  }

  /** One message at the provider: it arrives at the dot or not, and the answer comes later or never. */
  function sendOnce(outgoing: Outgoing, signal: AbortSignal, onAwaitingReply?: (stop: () => void) => void) {
    checkSend(outgoing)
    sends += 1
    const caller = process
    const truth = truthOf(outgoing.id)
    const served = (truth.pending += 1) > 0 && inProvider.add(outgoing)
    const how = mode
    const tookMs = between(0.5, 1.5) * mailMs * (how === 'slow' ? 20 : 1)
    let dotted = false
    truth.unsure += 1
    return new Promise<Outcome>(resolve => {
      const end = (outcome: Outcome): void => {
        inProvider.delete(outgoing)
        if (caller?.alive === false) return
        if (outcome.is !== 'ambiguous') truth.unsure -= 1
        resolve(outcome)
      }
      const retry = { is: 'retry', whose: 'later', code: how, reply: '' } as const
      const refuse = (outcome: Outcome): void => {
        truth.pending -= 1
        time.after(between(1, 20), () => end(outcome))
      }
      signal.addEventListener('abort', () =>
        end(
          dotted
            ? { is: 'ambiguous', code: 'aborted', reply: '' }
            : { ...retry, code: 'aborted', untouched: true },
        ),
      )
      if (!served) return
      if (how === 'dead') return refuse({ ...retry, untouched: true })
      if (how === 'crowded' && inProvider.size > 2)
        return refuse({ ...retry, untouched: true, overload: 'connections' })
      if (how === 'throttled' && random() < 0.5)
        return refuse({ ...retry, overload: 'requests', retryAfterMs: between(0, 5) * SECOND })
      if (how === 'busy' && random() < 0.3) return refuse(retry)
      if (random() < 0.03) {
        truth.rejected = true
        return refuse({ is: 'rejected', why: 'recipient', code: '550', reply: '' })
      }
      time.after(tookMs / 2, () => {
        dotted = true
        truth.pending -= 1
        if (how !== 'lost' || random() < 0.5) truth.arrived += 1
        if (caller?.alive !== false) onAwaitingReply?.(() => {})
        if (how === 'silent')
          time.after(REPLY_LIMIT_MS, () => end({ is: 'ambiguous', code: 'reply-limit', reply: '' }))
        else
          time.after(tookMs / 2, () =>
            end(
              how === 'lost'
                ? { is: 'ambiguous', code: 'connection-lost', reply: '' }
                : { is: 'sent', reply: '' },
            ),
          )
      })
    })
  }

  function lookUp({ id }: Outgoing): LookUp {
    const { arrived, pending } = truthOf(id)
    if (mode === 'dead') return { is: 'unreachable', reply: '' }
    if (random() < 0.3 || pending > 0) return { is: 'not-known', reply: '' }
    if (arrived > 0) return { is: 'accepted', reply: '' }
    truthOf(id).unsure = 0
    return { is: 'absent', reply: '' }
  }

  const inProvider = new Set<Outgoing>()
  const provider: Provider = {
    name: 'provider',
    channel,
    concurrency: most,
    send: sendOnce,
    verify: async () => ({ ok: true, detail: '' }),
    close: async () => {},
    ...(canBeAsked && {
      lookUp: (outgoing: Outgoing) =>
        new Promise<LookUp>(resolve => {
          const caller = process
          time.after(between(1, 50), () => caller?.alive !== false && resolve(lookUp(outgoing)))
        }),
    }),
  }

  function startProcess(): void {
    // Wall time at the start; a correction of the machine's clock is seen at the next one only.
    if (process !== undefined) wall += pick([0, 0, -600, -5, 5, 60]) * SECOND
    outbox.recover(now())
    const limiter = createLimiter({ most })
    const carriers = [{ provider, breaker: createBreaker({ random }), limiter }]
    const delivery = createDelivery({
      outbox: outbox as Partial<Outbox> as Outbox,
      clock: { now: () => Math.round(now()) },
      random,
      verdicts: createVerdicts(),
      emit: createEmitter([{ fault: ({ error }) => breach(`a fault: ${error.stack}`) }]),
      channels: [
        {
          channel,
          carriers,
          route: () => carriers,
          render: message => ({ ...rendered(message), channel }) as Outgoing,
        },
      ],
      leaseMs: ATTEMPT_LIMIT_MS + 60 * SECOND,
      attemptLimitMs: ATTEMPT_LIMIT_MS,
      pollMs: 5 * SECOND,
      repeatPausesMs,
      leaseToken: () => `lease ${(leases += 1)}`,
    })
    process = { alive: true, delivery, limiter, now }
    troubledAt = time.now()
    delivery.start()
  }

  function kill(): void {
    if (process === undefined) return
    process.alive = false
    stopTimers()
    for (const [id, row] of outbox.rows) if (row.state === 'sending' && row.begun) truthOf(id).doubted = true
    time.after(between(0.1, 3) * SECOND, startProcess)
  }

  /** A callback, from the place that is kept for it to its hand-over. */
  async function callback(): Promise<void> {
    const purpose = pick(['code', 'code', 'code', 'alarm', 'link'] as const)
    const plain = sample(
      { now: () => Math.round(now()) },
      {
        channel,
        purpose,
        recipient: `r${Math.floor(between(0, random() < 0.3 ? 5 : 1e6))}@example.com`,
        code: String(truths.size),
        lifeMs: pick([
          3 * SECOND,
          30 * SECOND,
          600 * SECOND,
          purpose === 'code' ? 600 * SECOND : LONGEST_LIFE_MS,
        ]),
      },
    )
    const { message, groupKey } = plain
    const here = process
    if (here?.alive !== true) return
    const lease: Lease | undefined = here.delivery.reserve(channel, purpose)
    truthOf(message.id)
    try {
      await outbox.accept([lease === undefined ? plain : { ...plain, lease }])
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      if (lease !== undefined) here.delivery.unreserve(channel)
      return
    }
    if (lease === undefined)
      here.delivery.wake(
        channel,
        groupKey === undefined ? undefined : { groupKey, arrivedAt: message.arrivedAt },
      )
    else
      here.delivery.begin({
        message,
        lease,
        outgoing: { ...rendered(message), channel } as Outgoing,
        groupKey,
      })
  }

  /** Plans all that happens until the trouble is over. */
  function plan(): void {
    const perSecond = (pick([0.3, 1, 3]) * most * SECOND) / mailMs
    const many = Math.min(Math.ceil(between(5, 80)), perSecond * 20)
    const beganAt = between(0, 10) * SECOND
    for (let n = 0; n < many; n += 1)
      time.after(beganAt + (n / perSecond) * SECOND * between(0.5, 1.5), () => void callback())
    for (let at = 0; at < TROUBLE_MS; at += between(0.5, 15) * SECOND)
      time.after(at, () => {
        mode = pick(MODES)
        troubledAt = time.now()
      })
    for (let n = pick([0, 0, 1, 2, 5]); n > 0; n -= 1)
      time.after(between(0, TROUBLE_MS - 5 * SECOND), () => process?.alive && kill())
    for (let n = pick([0, 0, 1, 2]); n > 0; n -= 1) {
      const at = between(0, TROUBLE_MS - 5 * SECOND)
      const setFailing = (fails: boolean) => () => {
        outbox.fails = fails
        troubledAt = time.now()
      }
      time.after(at, setFailing(true))
      time.after(at + between(0, 4) * SECOND, setFailing(false))
    }
    time.after(TROUBLE_MS, () => {
      mode = 'well'
      outbox.fails = false
      troubledAt = time.now()
    })
  }

  /** Since when there has been a free place and something to be sent, here or in the store. */
  let idleSince: number | undefined
  function look(): void {
    if (process?.alive !== true || outbox.fails) return void (idleSince = undefined)
    const { delivery, limiter } = process
    const [status] = delivery.status()
    if (status === undefined) return
    const isFree = limiter.inFlight < limiter.limit(now()) && status.breaker === 'closed'
    const isTrialLost = status.breaker === 'half-open' && status.inFlight === 0
    const due = [...outbox.rows.values()].some(
      row => row.state === 'queued' && (row.dueAt ?? Infinity) <= now(),
    )
    if (!(isFree || isTrialLost) || (status.waiting === 0 && !due)) idleSince = undefined
    else idleSince ??= time.now()
    if (idleSince === undefined || time.now() - Math.max(idleSince, troubledAt) < NOTICED_MS) return
    breach(
      `a place has been free since ${(idleSince / 1000).toFixed(2)} s, and ${status.waiting} wait here, ${due ? 'some' : 'none'} in the store`,
    )
    idleSince = undefined
  }

  /** What a message has come to, against what happened to it. */
  function checkEnd([id, row]: [string, Row]): void {
    const { arrived, unsure, rejected, doubted } = truthOf(id)
    const { state, acceptance, ambiguous, expiresAt, arrivedAt, finalAt } = row
    const what = `${acceptance.message.purpose} ${id} is ${state}`
    const livedMs = expiresAt - arrivedAt
    if (isLive(state)) breach(`${what} at the end`)
    if (state === 'sent' && arrived === 0) breach(`${what} and never arrived`)
    if (state === 'refused' && !rejected) breach(`${what}, which nobody said`)
    if (state === 'superseded' && acceptance.groupKey === undefined) breach(`${what} and is no code`)
    if (state === 'expired' && arrived > 0) breach(`${what} and has arrived`)
    if (state === 'unknown' && unsure === 0 && !doubted) breach(`${what} without an unsure attempt`)
    if (arrived > MAX_COPIES[channel]) breach(`${what}, ${arrived} copies`)
    // Trouble lasts 40 s, and the clock may have been set forward by five minutes: who lives longer has time to be sent.
    // Others than codes wait up to half an hour for their next try.
    const enoughMs = acceptance.message.purpose === 'code' ? 600 * SECOND : LONGEST_LIFE_MS
    if (livedMs < enoughMs) return
    if (state === 'expired') breach(`${what}, at ${finalAt}`)
    // The last copy is on its timeline only.
    const copies = ambiguous + 1
    if (state === 'unknown' && copies < MAX_COPIES[channel]) breach(`${what} after ${copies} copies`)
  }

  plan()
  startProcess()
  return {
    look,
    isOver: () =>
      time.now() > TROUBLE_MS &&
      [...outbox.rows.values()].every(row => !isLive(row.state)) &&
      process?.alive === true,
    end() {
      for (const entry of outbox.rows) checkEnd(entry)
      const inFlight = process?.delivery.status()[0]?.inFlight
      if (inFlight !== 0) breach(`${inFlight} are still in flight`)
      return { breaches, messages: outbox.rows.size, sends }
    },
  }
}

/**
 * Runs so many worlds, or the one of the seed in the environment variable SEED.
 * Each run takes others: the first seed is printed, and that of each world in which a promise was not kept.
 */
export async function checkWorlds(t: Test, count: number): Promise<void> {
  const given = globalThis.process.env['SEED']
  const first = given === undefined ? Math.floor(Math.random() * 1e9) : Number(given)
  const total = { messages: 0, sends: 0 }
  for (let seed = first; seed < first + (given === undefined ? count : 1); seed += 1) {
    const { breaches, messages, sends } = await runWorld(seed)
    total.messages += messages
    total.sends += sends
    if (breaches.length > 0) t.fail(`SEED=${seed}: ${breaches.join('; ')}`)
  }
  t.comment(`from SEED=${first}: ${total.messages} messages, ${total.sends} attempts`)
  t.ok(total.messages > 0)
}
