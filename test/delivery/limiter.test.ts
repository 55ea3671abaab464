import fc from 'fast-check'
import t from 'tap'
import { type AttemptEnd, createLimiter, type Limiter, type Place } from '../../src/delivery/limiter.ts'
import {
  busyServer,
  cappedServer,
  connectingServer,
  createScheduler,
  createTimeline,
  fixedLimiter,
  hiccups,
  jitter,
  keepSending,
  percentile,
  ratedServer,
  type Server,
  seededRandom,
  steadyServer,
  type Timeline,
} from './simulation.ts'

/** The same each time, so that a run says something of the code alone; another one may be given. */
const SEED = Number(process.env.SEED ?? 20_261_122)
const RUNS = Number(process.env.RUNS ?? 15)
const MOST = 200
t.comment(`SEED=${SEED}`)

type MakeServer = (time: Timeline, random: () => number) => Server

/** Lets callers send all the time. @returns what came of it from the moment `fromMs` on. */
function load(
  makeServer: MakeServer,
  options: {
    readonly limiter: ReturnType<typeof fixedLimiter>
    readonly callers: number
    readonly forMs: number
  },
  { seed = SEED, fromMs = 0 } = {},
) {
  const { limiter, callers, forMs } = options
  const time = createTimeline()
  const scheduler = createScheduler(time, makeServer(time, seededRandom(seed)), limiter)
  keepSending(scheduler, callers)
  time.runUntil(fromMs)
  const before = scheduler.answeredAt.length
  time.runUntil(forMs)
  const took = scheduler.took.link.slice(before)
  const rate = (took.length / (forMs - fromMs)) * 1000
  return { rate, took, refusedAt: scheduler.refusedAt, p99: percentile(took, 0.99) }
}

/** The rate of the best fixed number of places. */
function bestRate(makeServer: MakeServer, callers: number, forMs: number, most = MOST): number {
  const numbers = [1, 2, 4, 7, 10, 15, 22, 33, 50, 75, 110, 160, 200]
  return Math.max(
    ...numbers
      .filter(n => n <= Math.min(callers, most))
      .map(n => load(makeServer, { limiter: fixedLimiter(n), callers, forMs }).rate),
  )
}

const steady =
  (ms: number, variation = 0): MakeServer =>
  (time, random) =>
    steadyServer(time, () => ms * jitter(random, variation))

t.test(
  '50 callers, 5, 20 or 100 ms a mail: nearly the best rate, and nobody waits much longer than all others',
  async t => {
    for (const ms of [5, 20, 100]) {
      const limiter = createLimiter({ most: MOST })
      const forMs = ms * 200
      const { rate, p99 } = load(steady(ms), { limiter, callers: 50, forMs })
      const best = bestRate(steady(ms), 50, forMs)
      t.ok(rate >= 0.98 * best, `${ms} ms: ${rate.toFixed(0)}/s of ${best.toFixed(0)}/s`)
      t.ok(p99 <= (3 * 50 * 1000) / rate, `${ms} ms: p99 ${p99.toFixed(0)} ms`)
    }
  },
)

t.test('50 callers at once: three waves at first, one later, also after a night', async t => {
  const time = createTimeline()
  const scheduler = createScheduler(
    time,
    steadyServer(time, () => 100),
    createLimiter({ most: MOST }),
  )
  const burst = (afterMs: number): number => {
    time.runUntil(time.now() + afterMs)
    const before = scheduler.took.code.length
    for (let n = 0; n < 50; n += 1) scheduler.send('code')
    time.runUntil(time.now() + 1000)
    return Math.max(...scheduler.took.code.slice(before))
  }
  t.equal(burst(0), 300)
  t.ok(burst(10_000) <= 200)
  t.ok(burst(10_000) <= 200)
  t.equal(burst(10_000), 100)
  t.equal(burst(8 * 3_600_000), 100)
})

/** A server of any kind, what is known of it, and its name in a failure. */
const anyServer = fc
  .record({
    busy: fc.boolean(),
    cores: fc.integer({ min: 1, max: 8 }),
    ms: fc.integer({ min: 2, max: 60 }),
    delayMs: fc.integer({ min: 0, max: 100 }),
    variation: fc.constantFrom(0, 0.2, 0.5, 1),
    connectMs: fc.constantFrom(0, 40),
  })
  .map(kind => {
    // Processors that always take exactly as long move all mails in step, as no server does.
    const variation = kind.busy ? Math.max(kind.variation, 0.2) : kind.variation
    const makeServer: MakeServer = (time, random) => {
      const work = () => kind.ms * jitter(random, variation)
      const inner = kind.busy
        ? busyServer(time, kind.cores, work, kind.delayMs)
        : steadyServer(time, () => kind.delayMs + work())
      return connectingServer(time, inner, kind.connectMs)
    }
    const aloneMs = kind.ms + kind.delayMs
    /** How many at once it answers most of, if its work were regular. */
    const enough = kind.busy ? kind.cores * (aloneMs / kind.ms) : Number.POSITIVE_INFINITY
    return { ...kind, makeServer, aloneMs, enough }
  })

t.test('any server: at least 0.9 of the rate of the best fixed number', async t => {
  const shares: number[] = []
  fc.assert(
    fc.property(anyServer, fc.integer({ min: 1, max: 120 }), fc.nat(), (server, callers, seed) => {
      const { makeServer, aloneMs, enough } = server
      const forMs = (6000 / Math.min(callers, enough)) * aloneMs + 20 * (aloneMs + server.connectMs)
      const best = bestRate(makeServer, callers, forMs)
      const { rate } = load(makeServer, { limiter: createLimiter({ most: MOST }), callers, forMs }, { seed })
      shares.push(rate / best)
      return rate >= 0.9 * best
    }),
    { seed: SEED, numRuns: RUNS },
  )
  t.comment(
    `at least ${Math.min(...shares).toFixed(3)}, half of them over ${percentile(shares, 0.5).toFixed(3)}`,
  )
})

t.test('a server whose processors are busy is not flooded, however many wait', async t => {
  const shares: number[] = []
  fc.assert(
    fc.property(anyServer, fc.nat(), (server, seed) => {
      const { makeServer, aloneMs, enough } = server
      fc.pre(server.busy && server.variation < 1)
      const limiter = createLimiter({ most: 1000 })
      const limits: number[] = []
      const forMs = (10_000 / enough) * aloneMs
      const time = createTimeline()
      const sample = (): void => {
        limits.push(limiter.standing(time.now()).limit)
        time.after(forMs / 200, sample)
      }
      time.after(forMs / 4, sample)
      const scheduler = createScheduler(time, makeServer(time, seededRandom(seed)), limiter)
      keepSending(scheduler, 1000)
      time.runUntil(forMs)
      const mean = limits.reduce((sum, each) => sum + each, 0) / limits.length
      shares.push(mean / enough)
      return mean <= 60 + 8 * enough
    }),
    { seed: SEED, numRuns: RUNS },
  )
  t.comment(
    `half of them under ${percentile(shares, 0.5).toFixed(1)} times what is enough, all under ${Math.max(...shares).toFixed(1)}`,
  )
  t.pass()
})

t.test('a server that becomes slower, faster, busier or freer is followed', async t => {
  const changing =
    (before: MakeServer, after: MakeServer, at: number): MakeServer =>
    (time, random) => {
      const [first, second] = [before(time, random), after(time, random)]
      return over => (time.now() < at ? first : second)(over)
    }
  const busy =
    (cores: number): MakeServer =>
    (time, random) =>
      busyServer(time, cores, () => 10 * jitter(random, 0.3), 20)
  for (const [name, before, after, withinMs] of [
    ['slower', steady(10, 0.3), steady(100, 0.3), 5000],
    ['faster', steady(100, 0.3), steady(10, 0.3), 5000],
    ['busier', busy(8), busy(1), 5000],
    ['freer', busy(1), busy(8), 5000],
    // A mail takes as long as before: only the next trial tells, half a minute later at most.
    ['no longer busy', busy(1), steady(80, 0.3), 45_000],
  ] as const) {
    const limiter = createLimiter({ most: MOST })
    const forMs = 20_000 + withinMs
    const changed = changing(before, after, 10_000)
    const { rate } = load(changed, { limiter, callers: 60, forMs }, { fromMs: 10_000 + withinMs })
    const best = bestRate(after, 60, 10_000)
    t.ok(rate >= 0.9 * best, `${name}: ${rate.toFixed(0)}/s of ${best.toFixed(0)}/s`)
  }
})

t.test('a process or a server that is held up half of the time opens all the same', async t => {
  for (const [seed, ms] of [
    [1, 100],
    [2, 100],
    [3, 20],
    [4, 5],
  ] as const) {
    const makeServer: MakeServer = (time, random) => {
      const holdUps = seededRandom(seed)
      const spans: [number, number][] = []
      for (let at = 0; at < 30_000; ) {
        const from = at - Math.log(1 - holdUps()) * 7 * ms
        at = from + holdUps() * 7 * ms
        spans.push([from, at])
      }
      return hiccups(
        time,
        steadyServer(time, () => ms * jitter(random, 0.2)),
        spans,
      )
    }
    const forMs = 200 * ms
    const { rate } = load(
      makeServer,
      { limiter: createLimiter({ most: MOST }), callers: 50, forMs },
      { seed },
    )
    const best = load(makeServer, { limiter: fixedLimiter(50), callers: 50, forMs }, { seed }).rate
    t.ok(rate >= 0.9 * best, `${ms} ms: ${rate.toFixed(0)}/s of ${best.toFixed(0)}/s`)
  }
})

/** Takes so many at once and refuses one more. */
const taking =
  (most: (now: number) => number, refusal: (serving: number) => AttemptEnd, ms = 20): MakeServer =>
  (time, random) =>
    cappedServer(
      time,
      steadyServer(time, () => ms * jitter(random, 0.3)),
      () => most(time.now()),
      refusal,
    )

t.test('421 to the 6th connection: it is not asked for again for a while, and no rate is lost', async t => {
  for (const [name, refusal] of [
    ['known', (serving: number): AttemptEnd => ({ is: 'refused-connection', accepted: serving })],
    ['unknown', (): AttemptEnd => ({ is: 'refused-connection' })],
  ] as const) {
    const server = taking(() => 5, refusal, 100)
    const limiter = createLimiter({ most: MOST })
    const { rate, refusedAt } = load(server, { limiter, callers: 50, forMs: 1_000_000 })
    t.ok(rate >= 0.95 * 50, `${name}: ${rate.toFixed(1)}/s of 50/s`)
    const later = refusedAt.filter(at => at > 1000)
    t.equal(refusedAt.length - later.length, 5, 'of the first ten, those that are too many')
    t.same(
      later.map(at => Math.round(at / 10_000)),
      [6, 18, 42, 90],
      'one more is tried after one, two, four and eight minutes',
    )
  }
})

t.test(
  'while a refusal bounds their number, all places are in use from the start: fewer are hardly ever tried',
  async t => {
    const server = taking(
      () => 5,
      serving => ({ is: 'refused-connection', accepted: serving }),
    )
    const limiter = createLimiter({ most: MOST })
    const { rate } = load(server, { limiter, callers: 50, forMs: 3000 }, { fromMs: 500 })
    const fixed = load(server, { limiter: fixedLimiter(5), callers: 50, forMs: 3000 }, { fromMs: 500 })
    t.ok(rate >= 0.98 * fixed.rate, `${rate.toFixed(0)}/s, and ${fixed.rate.toFixed(0)}/s with a fixed limit`)
  },
)

t.test(
  'any number of connections: one refusal each time that one more is tried, and the rate of the best',
  async t => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 10, max: 200 }),
        fc.boolean(),
        fc.nat(),
        (cap, ms, isKnown, seed) => {
          const refusal = (serving: number): AttemptEnd =>
            isKnown
              ? { is: 'refused-connection', accepted: serving }
              : { is: 'throttled', retryAfterMs: 1000 }
          const server = taking(() => cap, refusal, ms)
          const limiter = createLimiter({ most: MOST })
          const forMs = 250 * ms
          const { rate, refusedAt } = load(
            server,
            { limiter, callers: 100, forMs },
            { seed, fromMs: 100 * ms },
          )
          const share = rate / ((cap * 1000) / ms)
          return share >= 0.9 && refusedAt.every(at => at < 100 * ms)
        },
      ),
      { seed: SEED, numRuns: RUNS },
    )
    t.pass()
  },
)

t.test('a server that takes more after a while is given more', async t => {
  const server = taking(
    now => (now < 10_000 ? 5 : 50),
    () => ({ is: 'refused-connection' }),
    100,
  )
  const limiter = createLimiter({ most: MOST })
  const { rate } = load(server, { limiter, callers: 50, forMs: 120_000 }, { fromMs: 75_000 })
  t.ok(rate >= 0.9 * (50 / 0.1), `${rate.toFixed(0)}/s`)
})

t.test('429 with Retry-After: what was asked too much is asked again only then', async t => {
  const refusal = (): AttemptEnd => ({ is: 'throttled', retryAfterMs: 200_000 })
  const limiter = createLimiter({ most: 100 })
  const server = taking(() => 40, refusal, 100)
  const { rate, refusedAt } = load(server, { limiter, callers: 100, forMs: 210_000 }, { fromMs: 5000 })
  t.ok(rate >= 0.95 * (40 / 0.1), `${rate.toFixed(0)}/s`)
  const later = refusedAt.filter(at => at > 5000)
  t.equal(later.length, 1)
  t.ok((later[0] ?? 0) >= 200_000)
})

t.test('a server that allows so many a second is asked little more than it allows', async t => {
  const makeServer: MakeServer = (time, random) =>
    ratedServer(
      time,
      steadyServer(time, () => 100 * jitter(random, 0.3)),
      50,
      1000,
    )
  const limiter = createLimiter({ most: MOST })
  const { rate, refusedAt } = load(makeServer, { limiter, callers: 50, forMs: 300_000 })
  t.ok(rate >= 0.8 * 50, `${rate.toFixed(1)}/s`)
  t.ok(refusedAt.length < 200, `${refusedAt.length} refusals`)
})

/** A limiter with so many under way since 0. */
function underWay(count: number, most = MOST): { limiter: Limiter; places: Place[] } {
  const limiter = createLimiter({ most })
  return { limiter, places: Array.from({ length: count }, () => limiter.takePlace(0)) }
}

t.test('the only request is refused: a pause as was asked for, of two seconds at most', async t => {
  for (const [end, ms] of [
    [{ is: 'throttled', retryAfterMs: 1500 }, 1500],
    [{ is: 'throttled', retryAfterMs: 120_000 }, 2000],
    [{ is: 'throttled' }, 1000],
  ] as const) {
    const { limiter, places } = underWay(1)
    limiter.releasePlace(places[0] as Place, end, 50)
    t.equal(limiter.standing(50).limit, 0)
    t.equal(limiter.standing(50).pausedUntil, 50 + ms)
    const why = `the provider asked for a pause; it ends in ${ms > 1000 ? 2 : 1} s`
    t.same(limiter.explain(50), { reason: 'paused', why })
    t.equal(limiter.standing(50 + ms).limit, 1)
    t.equal(limiter.standing(50 + ms).pausedUntil, null)
  }
})

t.test('the only connection is refused: that says nothing about their number', async t => {
  for (const end of [{ is: 'refused-connection' }, { is: 'refused-connection', accepted: 0 }] as const) {
    const { limiter, places } = underWay(1)
    limiter.releasePlace(places[0] as Place, end, 50)
    t.equal(limiter.standing(50).limit, 10)
    t.equal(limiter.standing(50).risesAt, null)
  }
})

/** Ends attempts, as many at once as may be. @returns the limits that were in force. */
function endMany(limiter: Limiter, count: number, fails: (limit: number, nth: number) => boolean) {
  const limits = new Set<number>()
  for (let n = 0; n < count; ) {
    const { limit } = limiter.standing(n)
    limits.add(limit)
    const places = Array.from({ length: limit }, () => limiter.takePlace(n))
    for (const [nth, place] of places.entries())
      limiter.releasePlace(place, { is: fails(limit, nth) ? 'failed' : 'answered' }, (n += 1))
  }
  return limits
}

t.test('when attempts fail half of the places are tried, which stays when fewer fail then', async t => {
  const { limiter, places } = underWay(10)
  for (const place of places.slice(0, 2)) limiter.releasePlace(place, { is: 'failed' }, 100)
  t.equal(limiter.standing(100).limit, 10, 'two may be chance')
  for (const place of places.slice(2)) limiter.releasePlace(place, { is: 'failed' }, 100)
  t.equal(limiter.standing(100).limit, 5, 'once for all that were under way')
  t.equal(limiter.explain(100).why, 'lowered from 10 to 5: attempts failed while most were in use')
  for (let n = 0; n < 40; n += 1)
    limiter.releasePlace(limiter.takePlace(1000 + n), { is: 'answered' }, 1000 + n)
  t.equal(limiter.standing(1100).limit, 5)
})

t.test('attempts that fail however few are under way do not lower the limit', async t => {
  for (const share of [0.2, 0.4, 1]) {
    const limiter = createLimiter({ most: 10 })
    const random = seededRandom(SEED)
    const limits = endMany(limiter, 600, () => random() < share)
    t.ok(share < 0.3 || limits.size > 1, 'fewer were tried')
    t.equal(limiter.standing(700).limit, 10, `${share}`)
  }
})

t.test('a server that cuts most of what is too much is given less and less, until it is enough', async t => {
  const limiter = createLimiter({ most: 80, start: 80 })
  const limits = endMany(limiter, 500, (limit, nth) => (nth * 6) % Math.max(limit, 6) >= 6)
  t.same([...limits].slice(0, 5), [80, 40, 20, 10, 5])
})

t.test('fewer places that were tried at the end of a load are not left to the next one', async t => {
  const { limiter, places } = underWay(10)
  for (const place of places) limiter.releasePlace(place, { is: 'failed' }, 100)
  t.equal(limiter.standing(200).limit, 5)
  limiter.releasePlace(limiter.takePlace(3_600_000), { is: 'answered' }, 3_600_010)
  t.equal(limiter.standing(3_600_010).limit, 10)
})

t.test('attempts that fail with few under way, or that say nothing, leave the limit', async t => {
  for (const end of [{ is: 'failed' }, { is: 'void' }] as const) {
    const { limiter } = underWay(0)
    for (let n = 0; n < 100; n += 1) {
      const places = Array.from({ length: 4 }, () => limiter.takePlace(n))
      for (const place of places) limiter.releasePlace(place, end, n)
    }
    t.equal(limiter.standing(100).limit, 10)
    t.equal(limiter.inFlight, 0)
  }
})

t.test('an outage lowers it, and it is back within a second after', async t => {
  const makeServer: MakeServer = (time, random) => {
    const inner = steadyServer(time, () => 20 * jitter(random, 0.3))
    return over => {
      if (time.now() < 10_000 || time.now() > 10_200) inner(over)
      else time.after(5, () => over({ is: 'failed' }))
    }
  }
  const limiter = createLimiter({ most: MOST })
  const { rate } = load(makeServer, { limiter, callers: 50, forMs: 20_000 }, { fromMs: 11_500 })
  t.ok(rate >= 0.9 * (50 / 0.02), `${rate.toFixed(0)}/s`)
})

t.test('the bound of the settings holds; one connection is enough', async t => {
  for (const most of [1, 2, 7]) {
    const limiter = createLimiter({ most })
    const { rate } = load(steady(20, 0.3), { limiter, callers: 50, forMs: 20_000 })
    t.ok(rate >= 0.93 * (most / 0.02), `${most}: ${rate.toFixed(0)}/s`)
    t.ok(limiter.standing(20_000).limit <= most)
  }
})

t.test(
  'a refusal tells how many are taken: what whoever opened them says, or how many are still under way',
  async t => {
    const { limiter: told, places } = underWay(10)
    told.releasePlace(places[0] as Place, { is: 'refused-connection', accepted: 4 }, 5)
    t.equal(told.standing(5).limit, 4)
    const { limiter: untold, places: same } = underWay(10)
    for (const place of same.slice(0, 3)) untold.releasePlace(place, { is: 'refused-connection' }, 5)
    t.equal(untold.standing(5).limit, 7)
  },
)

t.test('a refusal that comes when the load has gone does not count those that are done', async t => {
  const { limiter, places } = underWay(10)
  for (const place of places.slice(0, 8)) limiter.releasePlace(place, { is: 'answered' }, 20)
  limiter.releasePlace(places[9] as Place, { is: 'refused-connection' }, 20)
  t.equal(limiter.standing(20).limit, 8, 'of ten that were begun it took eight at least')
})

t.test('what does not need all places says nothing about more', async t => {
  const { limiter } = underWay(0)
  for (let n = 0; n < 200; n += 1) {
    const places = Array.from({ length: 9 }, () => limiter.takePlace(n * 20))
    for (const place of places) limiter.releasePlace(place, { is: 'answered' }, n * 20 + 20)
  }
  t.equal(limiter.standing(5000).limit, 10)
  t.equal(limiter.explain(5000).reason, 'start')
})

t.test('a trial of fewer places ends with its load', async t => {
  const time = createTimeline()
  const limiter = createLimiter({ most: MOST })
  const scheduler = createScheduler(
    time,
    busyServer(time, 1, () => 10),
    limiter,
  )
  for (let n = 0; n < 1000; n += 1) scheduler.send('code')
  while (limiter.explain(time.now()).why !== 'trying 8 instead of 10' && time.now() < 10_000)
    time.runUntil(time.now() + 1)
  t.equal(limiter.standing(time.now()).limit, 8)
  t.equal(limiter.standing(time.now() + 60_000).limit, 10, 'the next burst has them all')
})

t.test('it says why', async t => {
  const { limiter, places } = underWay(0)
  const status = (now: number) => ({ ...limiter.standing(now), ...limiter.explain(now) })
  t.match(status(0), { limit: 10, risesAt: null, reason: 'start' })
  for (let n = 0; n < 10; n += 1) places.push(limiter.takePlace(0))
  const next = (n: number, end: AttemptEnd, now: number): void => {
    limiter.releasePlace(places[n] as Place, end, now)
    while (limiter.inFlight < limiter.standing(now).limit) places.push(limiter.takePlace(now))
  }
  for (let n = 0; n < 10; n += 1) next(n, { is: 'answered' }, 20)
  t.match(status(20), { limit: 20, reason: 'trying', why: 'trying 20 instead of 10' })
  // Nine of them began before there were 20.
  for (let n = 10; n < 28; n += 1) next(n, { is: 'answered' }, 40)
  t.match(status(40), { limit: 20, why: 'trying 20 instead of 10' })
  for (let n = 28; n < 30; n += 1) next(n, { is: 'answered' }, 40)
  t.match(status(40), { limit: 40, reason: 'trying', why: 'trying 40 instead of 20' })
  next(40, { is: 'refused-connection', accepted: 30 }, 41)
  t.match(status(41), {
    limit: 20,
    reason: 'kept',
    why: 'kept: with 40 no more was answered',
  })
})
