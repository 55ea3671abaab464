import { createCarrier } from '../../src/delivery/carrier.ts'
import { createDelivery } from '../../src/delivery/delivery.ts'
import { createVerdicts } from '../../src/delivery/verdicts.ts'
import { createEmitter } from '../../src/events/events.ts'
import type { NewMessage, Outgoing, Purpose } from '../../src/messages/message.ts'
import type { Outcome, Provider } from '../../src/providers/provider.ts'
import { createCarrierReports } from '../../src/reports/carrier-reports.ts'
import { NOON, sample } from '../outbox/samples.ts'
import { createModelOutbox } from './model-outbox.ts'
import { rendered } from './rig.ts'
import { installTimers } from './simulated-timers.ts'
import { createTimeline, seededRandom, type Timeline } from './simulation.ts'

/** A load of codes, and of what floods in beside them, against carriers that fail, hang or are slow, in simulated time. */

const SECOND = 1000

interface Faults {
  /** The shares of requests that are refused, whose connection is cut after they were written, and that hang. */
  readonly refused: number
  readonly cut: number
  readonly hang: number
}

export interface Load {
  readonly seed: number
  /** How many messages may be with each carrier at once; 200 unless given. */
  readonly places?: number
  /** How long each carrier takes for a message, ms; 100 to 300 unless given. */
  readonly takesMs?: (to: string) => number
  /** What comes beside the codes: so many a second, or all at once. */
  readonly floods?: readonly {
    readonly to: (n: number) => string
    readonly purpose: Purpose
    readonly perSecond: number
    readonly many: number
  }[]
  readonly carriers: readonly Faults[]
  readonly perSecond: number
  readonly forMs: number
  /** How long a code lives, ms. */
  readonly lifeMs: number
  /** A request that hangs is given up after so long, ms. */
  readonly limitMs: number
  /** The servers are gone from one moment to the other, ms. */
  readonly gone?: readonly [number, number]
  readonly canProbe?: boolean
  /** Each message has one carrier alone, and only the server of the first is gone. */
  readonly apart?: boolean
  /** Only the server of the first is gone. */
  readonly firstAlone?: boolean
  /** Says whether a request to the carrier of this place in the route is swallowed, by its number and the moment, ms. */
  readonly swallows?: (carrier: number, to: string, at: number) => boolean
  /** Where a mail server hangs that swallows; after the dot unless given, as a carrier does. */
  readonly silentAfter?: 'RCPT' | 'dot'
  /** The number of the code that comes as the n-th; one in China, and never the same, unless given. */
  readonly numberOf?: (n: number) => string
  /** `sms` unless given. */
  readonly channel?: 'email' | 'sms'
}

export interface Result {
  readonly sent: number
  /** How long after its callback each one was taken, ms. */
  readonly tookMs: readonly number[]
  /** When each one was taken. */
  readonly takenAt: readonly number[]
  readonly limits: readonly number[]
  readonly probes: readonly number[]
  readonly refusals: readonly number[]
  /** Each code, when it came, which carriers were asked to send it, and when one of them took it, ms. */
  readonly codes: readonly Code[]
}

export interface Code {
  readonly to: string
  readonly cameAt: number
  readonly asked: number[]
  beganAt?: number
  takenAt: number
}

const REFUSED: Outcome = { is: 'retry', whose: 'later', code: 'ECONNREFUSED', reply: '', untouched: true }

/** Plays one load of codes by SMS, with 20 s after it for what is left. */
export async function play(load: Load): Promise<Result> {
  const { seed, perSecond, forMs, lifeMs, limitMs, gone = [0, 0], canProbe = false, apart = false } = load
  const {
    channel = 'sms',
    silentAfter = 'dot',
    firstAlone = apart,
    swallows,
    numberOf = n => `+86138${n}`,
  } = load
  const render = (message: NewMessage) =>
    ({ ...rendered(message), channel, country: message.recipient.slice(0, 3) }) as unknown as Outgoing
  const time: Timeline = createTimeline()
  const timers = installTimers(time)
  const random = seededRandom(seed)
  const now = (): number => Math.round(NOON + time.now())
  const clock = { now }
  const after = <T>(ms: number, value: () => T): Promise<T> =>
    new Promise((resolve, reject) =>
      time.after(ms, () => {
        try {
          resolve(value())
        } catch (error) {
          reject(error)
        }
      }),
    )
  const { model, outbox } = createModelOutbox(now, work => after(2, work))
  const faults: Error[] = []
  const tookMs: number[] = []
  const takenAt: number[] = []
  const probes: number[] = []
  const refusals: number[] = []
  const codes = new Map<string, Code>()
  const isGoneAt = (at: number): boolean =>
    (!firstAlone || at === 0) && time.now() >= gone[0] && time.now() < gone[1]
  const providers = load.carriers.map(
    ({ refused, cut, hang }, at): Provider => ({
      name: `carrier ${at}`,
      channel,
      concurrency: load.places ?? 200,
      scopesOf: ({ to }) => (channel === 'sms' ? { country: to.slice(0, 3) } : {}),
      async send(outgoing, signal, onHandedOver) {
        codes.get(outgoing.id)?.asked.push(at)
        const code = codes.get(outgoing.id)
        if (code !== undefined) code.beganAt ??= time.now()
        if (isGoneAt(at)) {
          refusals.push(time.now())
          return after(1, () => REFUSED)
        }
        const dice = random()
        const ms = load.takesMs?.(outgoing.to) ?? 100 + 200 * random()
        if (dice < refused) return after(20, () => REFUSED)
        if (dice < refused + cut) return after(ms, () => ({ is: 'ambiguous', code: 'ECONNRESET', reply: '' }))
        if (dice < refused + cut + hang || swallows?.(at, outgoing.to, time.now()) === true) {
          if (silentAfter === 'dot') onHandedOver?.()
          const silence = (code: string): Outcome =>
            silentAfter === 'dot'
              ? { is: 'ambiguous', code, reply: '' }
              : { is: 'retry', whose: 'later', scope: 'transport', code, reply: '' }
          return Promise.race([
            after(limitMs, () => silence('command-limit')),
            new Promise<Outcome>(resolve =>
              signal.addEventListener('abort', () => resolve(silence('aborted'))),
            ),
          ])
        }
        return after(ms, () => {
          takenAt.push(time.now())
          if (code !== undefined) code.takenAt = time.now()
          tookMs.push(now() - (model.find(outgoing.id)?.arrivedAt ?? 0))
          return { is: 'sent', reply: '' }
        })
      },
      ...(canProbe && {
        probe: () => {
          probes.push(time.now())
          return after(2, () => (isGoneAt(at) ? ('down' as const) : ('up' as const)))
        },
      }),
      verify: async () => ({ ok: true, detail: '' }),
      close: async () => {},
    }),
  )
  const carriers = providers.map(provider => createCarrier(provider, { clock, random }))
  let leases = 0
  const delivery = createDelivery({
    outbox,
    clock,
    random,
    verdicts: createVerdicts(),
    emit: createEmitter([{ fault: ({ error }) => faults.push(error) }]),
    channels: [
      {
        channel,
        carriers,
        route: ({ recipient }) =>
          apart ? carriers.filter((_, at) => at === Number(recipient.slice(-1)) % 2) : carriers,
        reports: createCarrierReports({
          clock,
          random,
          judged: new Set(channel === 'sms' ? providers.map(({ name }) => name) : []),
          countryOf: () => 'CN',
          onChange: () => {},
        }),
      },
    ],
    render,
    leaseMs: limitMs + 90 * SECOND,
    attemptWithinMs: limitMs + SECOND,
    pollMs: 5 * SECOND,
    leaseToken: () => `lease ${(leases += 1)}`,
  })
  let sent = 0
  async function callback(recipient: string, purpose: Purpose = 'code', isMeasured = true): Promise<void> {
    sent += 1
    const plain = sample(clock, { channel, recipient, purpose, code: `${sent}`, lifeMs })
    const { message, groupKey } = plain
    if (isMeasured)
      codes.set(message.id, { to: message.recipient, cameAt: time.now(), asked: [], takenAt: Infinity })
    const lease = delivery.reservePlace(channel, purpose, message.destination)
    await outbox.accept([lease === undefined ? plain : { ...plain, lease }])
    delivery.submit({ message, lease, outgoing: render(message), groupKey })
  }
  try {
    delivery.start()
    for (let n = 0; n < (perSecond * forMs) / SECOND; n += 1)
      time.after((n / perSecond) * SECOND, () => void callback(numberOf(n + 1)))
    for (const { to, purpose, perSecond: rate, many } of load.floods ?? [])
      for (let n = 0; n < many; n += 1)
        time.after((n / rate) * SECOND, () => void callback(to(n), purpose, false))
    const end = Math.max(forMs + 20 * SECOND, gone[1] && gone[1] + lifeMs)
    while (time.next() <= end) {
      time.runUntil(time.next())
      await new Promise(resolve => setImmediate(resolve))
    }
    if (faults[0] !== undefined) throw faults[0]
    const limits = carriers.map(carrier => carrier.standing(now()).limit)
    return { sent, tookMs, takenAt, limits, probes, refusals, codes: [...codes.values()] }
  } finally {
    timers.stopAll()
    timers.uninstall()
  }
}

/** How long a code waited until one took it, ms. */
export const wait = ({ cameAt, takenAt }: Code): number => takenAt - cameAt
/** A carrier that has no faults. */
export const WELL: Faults = { refused: 0, cut: 0, hang: 0 }
