import type { Test } from 'tap'
import { createCarrier } from '../../src/delivery/carrier.ts'
import { createDelivery } from '../../src/delivery/delivery.ts'
import type { Delivery } from '../../src/delivery/port.ts'
import { createVerdicts } from '../../src/delivery/verdicts.ts'
import { createEmitter } from '../../src/events/events.ts'
import type { Outgoing } from '../../src/messages/message.ts'
import { type Lease, StoreUnavailable } from '../../src/outbox/outbox.ts'
import { isAlive, type Kept } from '../outbox/model.ts'
import { NOON, sample } from '../outbox/samples.ts'
import { createModelOutbox } from './model-outbox.ts'
import { rendered } from './rig.ts'
import { installTimers } from './simulated-timers.ts'
import { createTimeline, seededRandom, type Timeline } from './simulation.ts'
import { createWorldCarrier, MOST_COPIES, type Truth } from './world-carriers.ts'

/**
 * The whole scheduler in a world of chance: an outbox in memory, providers with outcomes and durations of every kind, routes
 * that change, a store that fails at times, a process that is killed and starts again with another clock. Time is simulated,
 * and the seed decides everything.
 */

/** What was promised and not kept, in words. */
export type Breach = string

const SECOND = 1000
/** Until then messages come, and everything may fail; afterwards all is well. */
const TROUBLE_MS = 40 * SECOND
const LONGEST_LIFE_MS = 3 * 3600 * SECOND
const ATTEMPT_LIMIT_MS = 40 * SECOND
/** A place may be free, or a message due, for so long before anybody notices: some calls to the store, one after the other. */
const NOTICED_MS = 1500

interface Process {
  alive: boolean
  /** The codes that it has put into the store itself, and since when each was due: of those it knows at once. */
  readonly stored: Map<string, number | null>
  readonly delivery: Delivery
  readonly now: () => number
}

/** `chance`: of every kind; `failover`: with SMS by several carriers, and kills. */
export type WorldKind = 'chance' | 'failover'

/** Runs one world. @returns what was not kept. */
async function runWorld(
  seed: number,
  kind: WorldKind = 'chance',
): Promise<{ breaches: readonly Breach[]; messages: number; sends: number; kills: number }> {
  const time = createTimeline()
  const timers = installTimers(time)
  try {
    const world = createWorld(seed, kind, time, timers.stopAll)
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

function createWorld(seed: number, kind: WorldKind, time: Timeline, stopTimers: () => void) {
  const random = seededRandom(seed)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const between = (low: number, high: number): number => low + random() * (high - low)
  const breaches: Breach[] = []
  const breach = (what: string): void => {
    if (breaches.length < 5) breaches.push(`${(time.now() / 1000).toFixed(2)} s: ${what}`)
  }

  const most = Math.ceil(between(0, 12))
  const mailMs = pick([5, 50, 300])
  /** To so many places the messages go. */
  const places = pick([1, 2, 6, 1000])
  const channel = kind === 'failover' ? 'sms' : pick(['email', 'sms'] as const)
  /** The usual pauses outlast most of the trouble: with short ones messages meet it as often as they may. */
  const repeatPausesMs = pick([undefined, [SECOND]])
  const truths = new Map<string, Truth>()
  let process: Process | undefined
  let wall = NOON
  let leases = 0
  let sends = 0
  let kills = 0
  let troubledAt = 0
  let storeFreeAt = 0
  let isStoreFailing = false
  let isUsedUp = false

  const truthOf = (id: string): Truth => {
    const truth = truths.get(id) ?? {
      copies: [],
      rejected: false,
      deniedBy: new Set(),
      doubted: false,
    }
    truths.set(id, truth)
    return truth
  }

  const now = (): number => wall + time.now()
  /** The clock of a process, by which its store goes too. */
  const wholeMs = (): number => Math.round(now())

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

  const { model, outbox } = createModelOutbox(
    wholeMs,
    runInStore,
    random() < 0.5,
    () => isStoreFailing,
    checkBegin,
  )
  const rowOf = (id: string): Kept => {
    const row = model.find(id)
    if (row === undefined) throw new Error('sent, and never stored')
    return row
  }

  function checkSend({ id }: Outgoing): void {
    sends += 1
    const { expiresAt } = rowOf(id)
    if (now() >= expiresAt + NOTICED_MS) breach(`${id} is sent ${now() - expiresAt} ms after its life`)
  }

  /** Says whether this process has put a message into the store itself, where it has been due ever since: it waits for no retry. */
  const isKnown = ({ attempts, dueAt, arrivedAt, given }: Kept): boolean =>
    attempts === 0 &&
    process?.stored.has(given.message.id) === true &&
    ((dueAt ?? 0) <= arrivedAt || dueAt === process.stored.get(given.message.id))

  /** Nothing else begins while a code that is due waits, unless nothing may go where it goes, or it was not noticed yet. */
  function checkBegin(id: string): void {
    if (rowOf(id).given.message.purpose === 'code' || !areClosed()) return
    const busy = new Set(
      process?.delivery.status().flatMap(each => each.destinations.map(({ destination }) => destination)),
    )
    const overtaken = model
      .messages()
      .find(
        row =>
          row.given.message.purpose === 'code' &&
          row.state === 'queued' &&
          !busy.has(row.given.message.destination) &&
          now() - (row.dueAt ?? 0) > (isKnown(row) ? 0 : NOTICED_MS) &&
          time.now() - troubledAt > 2 * NOTICED_MS,
      )
    if (overtaken !== undefined) breach(`${id} overtakes the code ${overtaken.given.message.id}`)
  }

  const several = pick(kind === 'failover' ? [2, 3] : [1, 2, 2, 3])
  const names = channel === 'sms' ? ['first', 'second', 'third'].slice(0, several) : ['provider']
  /** In some worlds one of several carriers is well all the time, and the others never are for long. */
  const steady = names.length > 1 && random() < 0.5 ? pick(names) : undefined
  /** A message fits one of them at least. */
  const anchor = steady ?? pick(names)
  const numberOf = (recipient: string): number => Number(recipient.slice(1, recipient.indexOf('@')))
  const fitsAt = (at: number) => (recipient: string) =>
    names[at] === anchor || (numberOf(recipient) + at) % 7 > 0
  const worldCarriers = names.map((name, at) =>
    createWorldCarrier(
      {
        time,
        random,
        channel,
        mailMs,
        most,
        truthOf,
        breach,
        checkSend,
        noteUsedUp() {
          isUsedUp = true
        },
        watchCaller() {
          const caller = process
          return () => caller?.alive !== false
        },
      },
      name,
      {
        canBeAsked: random() < 0.5,
        fits: fitsAt(at),
      },
    ),
  )
  const reversed = random() < 0.5

  function startProcess(): void {
    // Wall time at the start; a correction of the machine's clock is seen at the next one only.
    if (process !== undefined) wall += pick([0, 0, -600, -5, 5, 60]) * SECOND
    model.restart(now())
    const clock = { now: wholeMs }
    const carriers = worldCarriers.map(({ provider }) => createCarrier(provider, { clock, random }))
    // Somebody may have changed the routes.
    const first = Math.floor(between(0, 10))
    const delivery = createDelivery({
      outbox,
      clock,
      random,
      verdicts: createVerdicts(),
      emit: createEmitter([{ fault: ({ error }) => breach(`a fault: ${error.stack}`) }]),
      channels: [
        {
          channel,
          carriers,
          route({ recipient }) {
            const at = (numberOf(recipient) + first) % carriers.length
            return [...carriers.slice(at), ...carriers.slice(0, at)]
          },
          // As those whose reports are bad are asked second, but at random.
          reports: {
            noteReport() {},
            order: given => ({
              carriers: reversed && random() < 0.3 ? given.toReversed() : given,
              demotions: [],
            }),
            secondIn: () => [],
            noteAsked() {},
            noteEnd() {},
          },
        },
      ],
      render: message => ({ ...rendered(message), channel }) as Outgoing,
      leaseMs: ATTEMPT_LIMIT_MS + 60 * SECOND,
      attemptWithinMs: ATTEMPT_LIMIT_MS,
      pollMs: 5 * SECOND,
      repeatPausesMs,
      leaseToken: () => `lease ${(leases += 1)}`,
    })
    process = { alive: true, stored: new Map(), delivery, now }
    troubledAt = time.now()
    delivery.start()
  }

  function kill(): void {
    if (process === undefined) return
    process.alive = false
    kills += 1
    stopTimers()
    for (const { state, note, given } of model.messages())
      if (state === 'sending' && note !== null) truthOf(given.message.id).doubted = true
    for (const { copies } of truths.values()) for (const copy of copies) copy.wasAskedFor = false
    time.after(between(0.1, 3) * SECOND, startProcess)
  }

  /** A callback, from the place that is kept for it to its hand-over. */
  async function callback(): Promise<void> {
    const purpose = pick(['code', 'code', 'code', 'alarm', 'link'] as const)
    const plain = sample(
      { now: wholeMs },
      {
        channel,
        purpose,
        recipient: `r${Math.floor(between(0, random() < 0.3 ? 5 : 1e6))}@d${Math.floor(between(0, places))}.test`,
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
    const lease: Lease | undefined = here.delivery.reservePlace(channel, purpose, message.destination)
    truthOf(message.id)
    try {
      await outbox.accept([lease === undefined ? plain : { ...plain, lease }])
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      if (lease !== undefined) here.delivery.releasePlace(channel)
      return
    }
    if (lease === undefined) here.stored.set(message.id, rowOf(message.id).dueAt)
    const outgoing = { ...rendered(message), channel } as Outgoing
    here.delivery.submit({ message, lease, outgoing, groupKey })
  }

  /** Plans all that happens until the trouble is over. */
  function plan(): void {
    const perSecond = (pick([0.3, 1, 3]) * most * SECOND) / mailMs
    const many = Math.min(Math.ceil(between(5, 80)), perSecond * 20)
    const beganAt = between(0, 10) * SECOND
    for (let n = 0; n < many; n += 1)
      time.after(beganAt + (n / perSecond) * SECOND * between(0.5, 1.5), () => void callback())
    for (const { provider, change } of worldCarriers) {
      if (provider.name === steady) continue
      const trouble = (): void => {
        if (time.now() >= TROUBLE_MS && steady === undefined) return
        change()
        troubledAt = time.now()
        time.after(between(0.5, 15) * SECOND, trouble)
      }
      trouble()
    }
    for (let n = pick(kind === 'failover' ? [1, 2, 5] : [0, 0, 1, 2, 5]); n > 0; n -= 1)
      time.after(between(0, TROUBLE_MS - 5 * SECOND), () => process?.alive && kill())
    for (let n = pick([0, 0, 1, 2]); n > 0; n -= 1) {
      const at = between(0, TROUBLE_MS - 5 * SECOND)
      const setFailing = (fails: boolean) => () => {
        isStoreFailing = fails
        troubledAt = time.now()
      }
      time.after(at, setFailing(true))
      time.after(at + between(0, 4) * SECOND, setFailing(false))
    }
    time.after(TROUBLE_MS, () => {
      if (steady === undefined) for (const { change } of worldCarriers) change('well')
      isStoreFailing = false
      troubledAt = time.now()
    })
  }

  const areClosed = (): boolean =>
    process?.delivery.status().every(({ breaker }) => breaker === 'closed') ?? false

  /** Since when there has been a free place and something to be sent, here or in the store. */
  let idleSince: number | undefined
  function look(): void {
    if (process?.alive !== true || isStoreFailing) {
      idleSince = undefined
      return
    }
    const { delivery } = process
    const statuses = delivery.status()
    const destinations = statuses.flatMap(each => each.destinations)
    // Whoever has nothing under way may have any place that is free, but for an eighth, and as long as it does not rest nothing is due there.
    const waiting = new Set(destinations.flatMap(each => (each.waiting > 0 ? each.destination : [])))
    for (const { state, dueAt, given } of model.messages())
      if (state === 'queued' && (dueAt ?? Infinity) <= now()) waiting.add(given.message.destination)
    for (const { destination, inFlight, rest } of destinations)
      if (inFlight > 0 || rest !== null) waiting.delete(destination)
    const isFree =
      areClosed() &&
      statuses.every(({ inFlight, awaitingReply, limit }) => inFlight - awaitingReply < (limit * 7) / 8)
    const isTrialLost =
      statuses.some(({ breaker }) => breaker === 'half-open') &&
      statuses.every(({ inFlight }) => inFlight === 0)
    if (!(isFree || isTrialLost) || waiting.size === 0) idleSince = undefined
    else idleSince ??= time.now()
    if (idleSince === undefined || time.now() - Math.max(idleSince, troubledAt) < NOTICED_MS) return
    breach(
      `a place has been free since ${(idleSince / 1000).toFixed(2)} s, and messages to ${waiting.size} places wait`,
    )
    idleSince = undefined
  }

  /** What a message has come to, against what happened to it. */
  function checkEnd(row: Kept): void {
    const { id } = row.given.message
    const { copies, rejected, deniedBy, doubted } = truthOf(id)
    const { state, given, ambiguous, expiresAt, arrivedAt, finalAt, lines } = row
    const what = `${given.message.purpose} ${id} is ${state}`
    const livedMs = expiresAt - arrivedAt
    const arrived = copies.filter(copy => copy.arrived).length
    const isOpen = copies.some(copy => copy.mayHaveCome) || doubted
    if (isAlive(row)) breach(`${what} at the end`)
    if (state === 'sent' && arrived === 0) breach(`${what} and never arrived`)
    const other = names.find((name, at) => !deniedBy.has(name) && fitsAt(at)(given.message.recipient))
    if (state === 'refused' && !rejected && !isOpen && other !== undefined)
      breach(`${what}, and ${other} has never refused it`)
    if (state === 'superseded' && given.groupKey === undefined) breach(`${what} and is no code`)
    if (state === 'expired' && arrived > 0) breach(`${what} and has arrived`)
    if (state === 'unknown' && !isOpen) breach(`${what} without an unsure attempt`)
    if (arrived > MOST_COPIES[channel]) breach(`${what}, ${arrived} copies`)
    if (arrived > 1 && !lines.some(each => each.outcome === 'ambiguous' || each.outcome === 'lease-lost'))
      breach(`${what}, ${arrived} copies, and its timeline has no reason`)
    // Trouble lasts 40 s, and the clock may have been set forward by five minutes: who lives longer has time to be sent.
    // Others than codes wait up to half an hour for their next try.
    const enoughMs = given.message.purpose === 'code' ? 600 * SECOND : LONGEST_LIFE_MS
    if (livedMs < enoughMs) return
    if (state === 'expired' && ((!isUsedUp && deniedBy.size === 0) || steady !== undefined))
      breach(`${what}, at ${finalAt}`)
    // The last copy is on its timeline only.
    const sent = ambiguous + 1
    if (state === 'unknown' && sent < MOST_COPIES[channel]) breach(`${what} after ${sent} copies`)
  }

  plan()
  startProcess()
  return {
    look,
    isOver: () =>
      time.now() > TROUBLE_MS && model.messages().every(row => !isAlive(row)) && process?.alive === true,
    end() {
      for (const each of model.messages()) checkEnd(each)
      const inFlight = process?.delivery.status().reduce((sum, each) => sum + each.inFlight, 0)
      if (inFlight !== 0) breach(`${inFlight} are still in flight`)
      return { breaches, messages: model.messages().length, sends, kills }
    },
  }
}

/**
 * Runs so many worlds, or the one of the seed in the environment variable SEED.
 * Each run takes others: the first seed is printed, and that of each world in which a promise was not kept.
 * @param from the first seed, when it is to be the same in each run.
 */
export async function checkWorlds(
  t: Test,
  count: number,
  kind: WorldKind = 'chance',
  from = Math.floor(Math.random() * 1e9),
): Promise<void> {
  const given = globalThis.process.env['SEED']
  const first = given === undefined ? from : Number(given)
  const total = { messages: 0, sends: 0, kills: 0 }
  for (let seed = first; seed < first + (given === undefined ? count : 1); seed += 1) {
    const { breaches, messages, sends, kills } = await runWorld(seed, kind)
    total.messages += messages
    total.sends += sends
    total.kills += kills
    if (breaches.length > 0) t.fail(`SEED=${seed}: ${breaches.join('; ')}`)
  }
  t.comment(
    `${kind}, from SEED=${first}: ${total.messages} messages, ${total.sends} attempts, ${total.kills} kills`,
  )
  t.ok(total.messages > 0)
}
