import t from 'tap'
import { type AttemptEnd, createLimiter, type Limiter, type Place } from '../../src/delivery/limiter.ts'
import { inEnglish } from '../language/english.ts'
import {
  cappedServer,
  createScheduler,
  createTimeline,
  jitter,
  keepSending,
  ratedServer,
  type Server,
  seededRandom,
  steadyServer,
  type Timeline,
} from './simulation.ts'

/** The same each time, so that a run says something of the code alone; another one may be given. */
const SEED = Number(process.env.SEED ?? 20_261_122)
const MINUTE = 60_000
t.comment(`SEED=${SEED}`)

type MakeServer = (time: Timeline, random: () => number) => Server

/** Lets callers send all the time. @returns what came of it from the moment `fromMs` on. */
function load(makeServer: MakeServer, limiter: Limiter, callers: number, forMs: number, fromMs = 0) {
  const time = createTimeline()
  const scheduler = createScheduler(time, makeServer(time, seededRandom(SEED)), limiter)
  keepSending(scheduler, callers)
  time.runUntil(fromMs)
  const before = scheduler.answeredAt.length
  time.runUntil(forMs)
  const perSecond = ((scheduler.answeredAt.length - before) / (forMs - fromMs)) * 1000
  return { perSecond, refusedAt: scheduler.refusedAt }
}

/** Takes so many at once and refuses one more. */
const taking =
  (most: (now: number) => number, refusal: (serving: number) => AttemptEnd, ms = 100): MakeServer =>
  (time, random) =>
    cappedServer(
      time,
      steadyServer(time, () => ms * jitter(random, 0.3)),
      () => most(time.now()),
      refusal,
    )

/** A limiter with so many under way since 0. */
function underWay(count: number, most = 200): { limiter: Limiter; places: Place[] } {
  const limiter = createLimiter(most)
  return { limiter, places: Array.from({ length: count }, () => limiter.takePlace(0)) }
}

t.test(
  '50 callers at once: three waves at first, two the next time, one later, also after a night',
  async t => {
    const time = createTimeline()
    const scheduler = createScheduler(
      time,
      steadyServer(time, () => 100),
      createLimiter(200),
    )
    const burst = (afterMs: number): number => {
      time.runUntil(time.now() + afterMs)
      const before = scheduler.took.code.length
      for (let n = 0; n < 50; n += 1) scheduler.send('code')
      time.runUntil(time.now() + 1000)
      return Math.max(...scheduler.took.code.slice(before))
    }
    t.equal(burst(0), 300)
    for (let n = 0; n < 4; n += 1) t.equal(burst(10_000), 200)
    t.equal(burst(10_000), 100)
    t.equal(burst(8 * 60 * MINUTE), 100)
  },
)

t.test('a server that takes five connections is left at six or fewer, and no rate is lost', async t => {
  for (const [name, refusal] of [
    ['known', (serving: number): AttemptEnd => ({ is: 'refused-connection', accepted: serving })],
    ['unknown', (): AttemptEnd => ({ is: 'refused-connection' })],
  ] as const) {
    const limiter = createLimiter(50)
    const { perSecond, refusedAt } = load(
      taking(() => 5, refusal),
      limiter,
      50,
      45 * MINUTE,
    )
    t.ok(perSecond >= 48, `${name}: ${perSecond.toFixed(1)}/s of 50/s`)
    t.same(
      refusedAt.map(at => Math.round(at / MINUTE)),
      [0, 0, 0, 0, 0, 10, 20, 30, 40],
      'of the first ten those that are too many, then one more in ten minutes',
    )
    t.equal(limiter.standing(45 * MINUTE).limit, 5)
    t.equal(
      String(limiter.explain(45 * MINUTE).why),
      'the provider refused more than 5 connections; one more is tried in 301 s',
    )
  }
})

t.test('what a refusal tells of how many are taken', async t => {
  const { limiter: told, places } = underWay(10)
  told.releasePlace(places[0] as Place, { is: 'refused-connection', accepted: 4 }, 5)
  t.equal(told.standing(5).limit, 4, 'whoever opened them says it')
  const { limiter: untold, places: same } = underWay(10)
  for (const place of same.slice(0, 3)) untold.releasePlace(place, { is: 'refused-connection' }, 5)
  t.equal(untold.standing(5).limit, 7, 'or how many are still under way')
  const { limiter: late, places: gone } = underWay(10)
  for (const place of gone.slice(0, 8)) late.releasePlace(place, { is: 'answered' }, 20)
  late.releasePlace(gone[9] as Place, { is: 'refused-connection' }, 20)
  t.equal(late.standing(20).limit, 9, 'not how many are left when the load has gone')
  const { limiter: only, places: single } = underWay(1)
  only.releasePlace(single[0] as Place, { is: 'refused-connection', accepted: 0 }, 5)
  t.match(only.standing(5), { limit: 10, pausedUntil: 0 }, 'nothing, when it was the only one')
})

t.test('429: half as many after a tenth of a second, once for all that were under way', async t => {
  const { limiter, places } = underWay(10)
  for (const place of places.slice(5))
    limiter.releasePlace(place, { is: 'throttled', retryAfterMs: 9000 }, 50)
  t.same(limiter.standing(50), { limit: 0, pausedUntil: 150 })
  for (const place of places.slice(0, 5)) limiter.releasePlace(place, { is: 'answered' }, 60)
  t.same(limiter.standing(150), { limit: 5, pausedUntil: 150 })
  t.match(limiter.explain(150), {
    reason: 'throttled',
    why: 'halved: the provider refused more requests at once',
  })
})

t.test('the only request is refused: a pause as was asked for, of two seconds at most', async t => {
  for (const [end, ms] of [
    [{ is: 'throttled', retryAfterMs: 1500 }, 1500],
    [{ is: 'throttled', retryAfterMs: 120_000 }, 2000],
    [{ is: 'throttled' }, 1000],
  ] as const) {
    const { limiter, places } = underWay(1)
    limiter.releasePlace(places[0] as Place, end, 50)
    t.same(limiter.standing(50), { limit: 0, pausedUntil: 50 + ms })
    const why = `the provider asked for a pause; it ends in ${ms > 1000 ? 2 : 1} s`
    t.same(inEnglish(limiter.explain(50)), { reason: 'paused', why })
    t.same(limiter.standing(50 + ms), { limit: 1, pausedUntil: 50 + ms })
  }
})

t.test(
  'a server that allows 50 requests a second takes nearly as many, and one that takes 40 at once more than half',
  async t => {
    const rated: MakeServer = (time, random) =>
      ratedServer(
        time,
        steadyServer(time, () => 100 * jitter(random, 0.3)),
        50,
        1000,
      )
    const { perSecond, refusedAt } = load(rated, createLimiter(200), 50, 300_000)
    t.ok(perSecond >= 40, `${perSecond.toFixed(1)}/s`)
    t.ok(refusedAt.length < 0.15 * 300 * perSecond, `${refusedAt.length} refusals`)
    const capped = taking(
      () => 40,
      () => ({ is: 'throttled' }),
    )
    const other = load(capped, createLimiter(200), 100, 60_000)
    t.ok(other.perSecond >= 220, `${other.perSecond.toFixed(0)}/s of 400/s`)
  },
)

t.test('failures, and what says nothing, neither lower nor raise it', async t => {
  const random = seededRandom(SEED)
  const limiter = createLimiter(10)
  for (let n = 0; n < 1000; n += 1) {
    const places = Array.from({ length: 10 }, () => limiter.takePlace(n))
    for (const place of places) limiter.releasePlace(place, { is: random() < 0.19 ? 'void' : 'answered' }, n)
  }
  t.equal(limiter.standing(1000).limit, 10)
  const { limiter: failing, places } = underWay(10)
  for (const place of places) failing.releasePlace(place, { is: 'void' }, 5)
  t.match(failing.standing(5), { limit: 10, pausedUntil: 0 })
  t.equal(failing.inFlight, 0)
})

t.test('what does not need all places asks for no more', async t => {
  const { limiter } = underWay(0)
  for (let n = 0; n < 200; n += 1) {
    const places = Array.from({ length: 9 }, () => limiter.takePlace(n * 20))
    for (const place of places) limiter.releasePlace(place, { is: 'answered' }, n * 20 + 20)
  }
  t.equal(limiter.standing(5000).limit, 10)
  t.match(limiter.explain(5000), {
    reason: 'start',
    why: 'as many as at the start: more were never needed',
  })
})

t.test('it says why', async t => {
  const { limiter, places } = underWay(10, 12)
  const [first, second] = places as [Place, Place]
  limiter.releasePlace(first, { is: 'answered' }, 20)
  t.match(limiter.explain(20), { reason: 'raised', why: 'one more for each answer while all were in use' })
  limiter.takePlace(20)
  limiter.takePlace(20)
  limiter.releasePlace(second, { is: 'answered' }, 40)
  t.same(limiter.explain(40), { reason: 'most', why: 'as many as the settings allow' })
  limiter.releasePlace(limiter.takePlace(50), { is: 'refused-connection', accepted: 8 }, 51)
  const why = (next: string) => ({
    reason: 'refused',
    why: `the provider refused more than 8 connections; ${next}`,
  })
  t.same(inEnglish(limiter.explain(51)), why('one more is tried in 600 s'))
  t.same(inEnglish(limiter.explain(51 + 10 * MINUTE)), why('one more is tried when it is needed'))
})
