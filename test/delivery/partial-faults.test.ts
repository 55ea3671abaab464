import t from 'tap'
import { createCarrier } from '../../src/delivery/carrier.ts'
import { createCarrierReports } from '../../src/delivery/carrier-reports.ts'
import { createDelivery } from '../../src/delivery/delivery.ts'
import { createVerdicts } from '../../src/delivery/verdicts.ts'
import { createEmitter } from '../../src/events/events.ts'
import type { NewMessage, Outgoing } from '../../src/messages/message.ts'
import type { Outcome, Provider } from '../../src/providers/provider.ts'
import { NOON, sample } from '../outbox/samples.ts'
import { createModelOutbox } from './model-outbox.ts'
import { rendered } from './rig.ts'
import { installTimers } from './simulated-timers.ts'
import { createTimeline, percentile, seededRandom, type Timeline } from './simulation.ts'

/** Carriers that fail in part, and servers that were gone, in simulated time: what arrives, and how soon. */

const SECOND = 1000
const SEED = Number(process.env['SEED'] ?? 20_261_122)
t.comment(`SEED=${SEED}`)

interface Faults {
  /** The shares of requests that are refused, whose connection is cut after they were written, and that hang. */
  readonly refused: number
  readonly cut: number
  readonly hang: number
}

interface Load {
  readonly seed: number
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

interface Result {
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

interface Code {
  readonly to: string
  readonly cameAt: number
  readonly asked: number[]
  takenAt: number
}

const REFUSED: Outcome = { is: 'retry', whose: 'later', code: 'ECONNREFUSED', reply: '', untouched: true }

/** Plays one load of codes by SMS, with 20 s after it for what is left. */
async function play(load: Load): Promise<Result> {
  const { seed, perSecond, forMs, lifeMs, limitMs, gone = [0, 0], canProbe = false, apart = false } = load
  const {
    channel = 'sms',
    silentAfter = 'dot',
    firstAlone = apart,
    swallows,
    numberOf = n => `+86138${n}`,
  } = load
  const render = (message: NewMessage) => ({ ...rendered(message), channel }) as unknown as Outgoing
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
      concurrency: 200,
      scopesOf: ({ to }) => (channel === 'sms' ? { country: to.slice(0, 3) } : {}),
      async send(_outgoing, signal, onAwaitingReply) {
        codes.get(_outgoing.id)?.asked.push(at)
        if (isGoneAt(at)) {
          refusals.push(time.now())
          return after(1, () => REFUSED)
        }
        const dice = random()
        const ms = 100 + 200 * random()
        if (dice < refused) return after(20, () => REFUSED)
        if (dice < refused + cut) return after(ms, () => ({ is: 'ambiguous', code: 'ECONNRESET', reply: '' }))
        if (dice < refused + cut + hang || swallows?.(at, _outgoing.to, time.now()) === true) {
          if (silentAfter === 'dot') onAwaitingReply?.(() => {})
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
          const code = codes.get(_outgoing.id)
          if (code !== undefined) code.takenAt = time.now()
          tookMs.push(now() - (model.find(_outgoing.id)?.arrivedAt ?? 0))
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
    emit: createEmitter([{ fault: ({ error }) => t.fail(`a fault: ${error.stack}`) }]),
    channels: [
      {
        channel,
        carriers,
        route: ({ recipient }) =>
          apart ? carriers.filter((_, at) => at === Number(recipient.slice(-1)) % 2) : carriers,
        render,
        reports: createCarrierReports({
          clock,
          random,
          judged: new Set(channel === 'sms' ? providers.map(({ name }) => name) : []),
          onChange: () => {},
          onFault: () => {},
          domainOf: () => '',
        }),
      },
    ],
    leaseMs: limitMs + 90 * SECOND,
    attemptWithinMs: limitMs + SECOND,
    pollMs: 5 * SECOND,
    leaseToken: () => `lease ${(leases += 1)}`,
  })
  let sent = 0
  async function callback(): Promise<void> {
    sent += 1
    const plain = sample(clock, { channel, recipient: numberOf(sent), code: `${sent}`, lifeMs })
    const { message, groupKey } = plain
    codes.set(message.id, { to: message.recipient, cameAt: time.now(), asked: [], takenAt: Infinity })
    const lease = delivery.reservePlace(channel, 'code')
    await outbox.accept([lease === undefined ? plain : { ...plain, lease }])
    const code = groupKey === undefined ? undefined : { ...message, groupKey }
    if (lease === undefined) delivery.wake(channel, code)
    else
      delivery.submit({
        message,
        lease,
        outgoing: render(message),
        ...(groupKey !== undefined && { groupKey }),
      })
  }
  try {
    delivery.start()
    for (let n = 0; n < (perSecond * forMs) / SECOND; n += 1)
      time.after((n / perSecond) * SECOND, () => void callback())
    const end = Math.max(forMs + 20 * SECOND, gone[1] && gone[1] + lifeMs)
    while (time.next() <= end) {
      time.runUntil(time.next())
      await new Promise(resolve => setImmediate(resolve))
    }
    const limits = carriers.map(carrier => carrier.standing(now()).limit)
    return { sent, tookMs, takenAt, limits, probes, refusals, codes: [...codes.values()] }
  } finally {
    timers.stopAll()
    timers.uninstall()
  }
}

const describe = ({ sent, tookMs, limits }: Result): string =>
  `${tookMs.length} of ${sent}, p75 ${(percentile(tookMs, 0.75) / SECOND).toFixed(1)} s, p90 ${(percentile(tookMs, 0.9) / SECOND).toFixed(1)} s, limits ${limits.join(', ')}`

const MIXED = { lifeMs: 300 * SECOND, perSecond: 13, forMs: 45 * SECOND, limitMs: 30 * SECOND } as const

for (let n = 0; n < 3; n += 1)
  t.test('one carrier that cuts 15 % and hangs with 4 % of its requests carries nearly all', async t => {
    const result = await play({ ...MIXED, seed: SEED + n, carriers: [{ refused: 0, cut: 0.15, hang: 0.04 }] })
    t.ok(result.tookMs.length >= 0.9 * result.sent, describe(result))
    t.ok(percentile(result.tookMs, 0.9) < 10 * SECOND)
  })

for (let n = 0; n < 3; n += 1)
  t.test('three carriers that each take 62 % of their requests carry nearly all', async t => {
    const each = { refused: 0.2, cut: 0.13, hang: 0.05 }
    const load = { ...MIXED, perSecond: 1500 / 135, forMs: 135 * SECOND, seed: SEED + n }
    const result = await play({ ...load, carriers: [each, each, each] })
    t.ok(result.tookMs.length >= 0.9 * result.sent, describe(result))
    t.ok(percentile(result.tookMs, 0.9) < 10 * SECOND)
  })

const OUTAGES = [
  [40, 60],
  [33, 36],
] as const
const WELL = { refused: 0, cut: 0, hang: 0 }

/** Twelve codes, five of them before the server goes, and the time that each of the others takes after it is back, ms. */
async function outlive(downS: number, lifeS: number, canProbe: boolean, more: Partial<Load> = {}) {
  const backAt = (5 + downS) * SECOND
  const result = await play({
    seed: SEED,
    carriers: [WELL],
    perSecond: 1,
    forMs: 12 * SECOND,
    lifeMs: lifeS * SECOND,
    limitMs: 30 * SECOND,
    gone: [5 * SECOND, backAt],
    canProbe,
    ...more,
  })
  return { ...result, backAt, late: result.takenAt.map(at => at - backAt).filter(ms => ms > 0) }
}

for (const [downS, lifeS] of OUTAGES) {
  t.test(
    `${downS} s without a server: codes that live ${lifeS} s are taken soon after it is back`,
    async t => {
      const { late, probes, backAt } = await outlive(downS, lifeS, true)
      t.equal(late.length, 7)
      t.ok(Math.max(...late) < 2500, `${Math.max(...late)} ms`)
      t.ok(probes.length > 10 && probes.every(at => at > 5 * SECOND && at < backAt + 2 * SECOND))
    },
  )

  t.test(`the same without probes: a last trial is made in time, and not all the time`, async t => {
    const { late, probes, refusals } = await outlive(downS, lifeS, false)
    t.equal(late.length, 7)
    t.same(probes, [])
    t.ok(refusals.length < 25, `${refusals.length} trials`)
  })
}

for (const [what, channel] of [
  ['a mail server that can be connected to', 'email'],
  ['a carrier', 'sms'],
] as const)
  t.test(`a minute without ${what}: what waits goes out within 2 s of its return`, async t => {
    const { late } = await outlive(60, 600, true, { channel })
    t.equal(late.length, 7)
    t.ok(Math.max(...late) <= 2000, late.join(' ms, '))
  })

t.test(
  'what has one carrier alone, which was gone, is taken soon after it is back, though another one works',
  async t => {
    const { late, refusals } = await outlive(40, 60, true, {
      carriers: [WELL, WELL],
      perSecond: 2,
      apart: true,
    })
    t.equal(late.length, 7)
    t.ok(Math.max(...late) < 2500, `${Math.max(...late)} ms`)
    t.ok(refusals.length < 25, `${refusals.length} trials`)
  },
)

t.test('while no code waits, nobody is asked whether it is back', async t => {
  const carriers = [WELL]
  const load = { seed: SEED, carriers, perSecond: 5, forMs: 2 * SECOND, limitMs: 30 * SECOND }
  const { probes, sent, tookMs } = await play({
    ...load,
    lifeMs: 10 * SECOND,
    gone: [0, 60 * SECOND],
    canProbe: true,
  })
  t.equal(tookMs.length, 0)
  t.equal(sent, 10)
  t.ok(probes.length > 0 && probes.every(at => at < 13 * SECOND), 'all of them had expired')
})

/** Codes to China, two a second, of which each is taken within 0.3 s until the first of two carriers swallows them from the tenth second on. */
async function hang(more: Partial<Load>, isOf = (_to: string) => true) {
  const { codes } = await play({
    seed: SEED,
    carriers: [WELL, WELL],
    perSecond: 2,
    forMs: 50 * SECOND,
    lifeMs: 300 * SECOND,
    limitMs: 30 * SECOND,
    swallows: (carrier, to, at) => carrier === 0 && isOf(to) && at >= 10 * SECOND,
    ...more,
  })
  const late = codes.filter(({ to, cameAt }) => isOf(to) && cameAt >= 16 * SECOND)
  return { codes, late, others: codes.filter(({ to }) => !isOf(to)) }
}

const wait = ({ cameAt, takenAt }: Code): number => takenAt - cameAt

t.test('a first carrier that hangs: 6 s later each new code is with the second within 2 s', async t => {
  const { codes, late } = await hang({})
  const trials = late.filter(({ asked }) => asked.includes(0))
  t.ok(trials.length <= 6, `${trials.length} of ${late.length} codes tried the first`)
  const soon = late.filter(code => !trials.includes(code))
  t.ok(soon.length >= 60 && soon.every(code => wait(code) < 2 * SECOND), `${Math.max(...soon.map(wait))} ms`)
  t.ok(
    codes.every(({ asked }) => new Set(asked).size < 2),
    'none is sent by two carriers',
  )
})

t.test('one that hangs for China alone: the same, and what goes elsewhere stays with it', async t => {
  const isChina = (to: string): boolean => to.startsWith('+86')
  const { codes, late, others } = await hang(
    { perSecond: 4, numberOf: n => (n % 2 === 0 ? `+86138${n}` : `+1201${n}`) },
    isChina,
  )
  const trials = late.filter(({ asked }) => asked.includes(0))
  t.ok(trials.length <= 6, `${trials.length} of ${late.length} codes tried the first`)
  const soon = late.filter(code => !trials.includes(code))
  t.ok(soon.length >= 60 && soon.every(code => wait(code) < 2 * SECOND), `${Math.max(...soon.map(wait))} ms`)
  t.ok(others.length >= 90 && others.every(code => wait(code) < 2 * SECOND))
  t.ok(
    others.every(({ asked }) => asked.join() === '0'),
    'the first is well for them',
  )
  t.ok(codes.every(({ asked }) => new Set(asked).size < 2))
})

for (const [silentAfter, copies, withinS] of [
  ['RCPT', 1, 3],
  ['dot', 2, 9],
] as const)
  t.test(
    `a mail server that hangs after ${silentAfter}: 6 s later each new code is with the fallback within 2 s`,
    async t => {
      const { codes, late } = await hang({ channel: 'email', silentAfter, limitMs: 300 * SECOND })
      const trials = late.filter(({ asked }) => asked.includes(0))
      t.ok(trials.length <= 6, `${trials.length} of ${late.length} codes tried the first`)
      const soon = late.filter(code => !trials.includes(code))
      t.ok(
        soon.length >= 60 && soon.every(code => wait(code) < 2 * SECOND),
        `${Math.max(...soon.map(wait))} ms`,
      )
      const hung = codes.filter(({ cameAt, asked }) => cameAt >= 10 * SECOND && asked[0] === 0)
      t.ok(hung.length >= 5 && hung.every(({ asked }) => asked.join() === '0,1'), 'the others follow')
      t.ok(Math.max(...codes.map(wait)) < withinS * SECOND, `${Math.max(...codes.map(wait))} ms`)
      t.equal(
        Math.max(...codes.map(({ asked }) => asked.filter(at => at === 0 || silentAfter === 'dot').length)),
        copies,
      )
    },
  )

t.test('a mail server that was gone is used again within 3 s of its return', async t => {
  const { codes } = await play({
    seed: SEED,
    channel: 'email',
    carriers: [WELL, WELL],
    perSecond: 2,
    forMs: 80 * SECOND,
    lifeMs: 300 * SECOND,
    limitMs: 300 * SECOND,
    gone: [10 * SECOND, 60 * SECOND],
    canProbe: true,
    firstAlone: true,
  })
  t.ok(Math.max(...codes.map(wait)) < SECOND, 'nobody waits for it')
  const back = codes.filter(({ cameAt }) => cameAt >= 63 * SECOND)
  t.ok(back.length >= 30 && back.every(({ asked }) => asked.join() === '0'))
})

for (const [every, pauseS, asked] of [
  ['five seconds, before the first is given up', 5, [[0], [1], [1], [1]]],
  ['minute, after the first was repeated', 60, [[0, 0], [1], [1], [1]]],
] as const)
  t.test(`a person for whom the first carrier hangs asks four times, every ${every}`, async t => {
    const { codes } = await hang(
      {
        perSecond: 1,
        forMs: (15 + 3 * pauseS) * SECOND,
        numberOf: n => (n >= 12 && (n - 12) % pauseS === 0 ? '+86138ann' : `+86138${n}`),
      },
      to => to === '+86138ann',
    )
    const hers = codes.filter(({ to }) => to === '+86138ann')
    t.same(
      hers.map(each => each.asked),
      asked,
    )
    t.ok(hers.slice(1).every(code => wait(code) < SECOND))
    t.ok(
      codes.every(code => hers.includes(code) || code.asked.join() === '0'),
      'the first is well for others',
    )
  })
