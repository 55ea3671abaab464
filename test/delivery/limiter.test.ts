import t from 'tap'
import { createLimiter, type Limiter, type Place } from '../../src/delivery/limiter.ts'
import { inEnglish } from '../language/english.ts'

const MINUTE = 60_000

/** Begins as many as may be, and as there are. */
function takePlaces(limiter: Limiter, now: number, most = Infinity): Place[] {
  const places: Place[] = []
  while (places.length < most && limiter.inFlight < limiter.standing(now).limit)
    places.push(limiter.takePlace(now))
  return places
}

/** A limiter with so many under way since 0. */
function underWay(count: number, most = 200): { limiter: Limiter; places: Place[] } {
  const limiter = createLimiter(most)
  return { limiter, places: Array.from({ length: count }, () => limiter.takePlace(0)) }
}

t.test('50 callers at once: three waves at first, two the next time, one later', async t => {
  const limiter = createLimiter(200)
  function countWaves(now: number): number {
    let waves = 0
    for (let left = 50; left > 0; waves += 1) {
      const places = takePlaces(limiter, now, left)
      left -= places.length
      limiter.isWanted = left > 0
      for (const place of places) limiter.releasePlace(place, { is: 'answered' }, now + 100)
    }
    return waves
  }
  t.same([0, 10_000, 20_000, 8 * 60 * MINUTE].map(countWaves), [3, 2, 1, 1])
})

t.test('a server that takes five connections is left at six or fewer', async t => {
  for (const known of [{ accepted: 5 }, {}]) {
    const limiter = createLimiter(50)
    const refusedAt: number[] = []
    for (let now = 0; now < 45 * MINUTE; now += 100) {
      const places = takePlaces(limiter, now)
      limiter.isWanted = true
      for (const place of places.splice(5)) {
        refusedAt.push(Math.floor(now / MINUTE))
        limiter.releasePlace(place, { is: 'refused-connection', ...known }, now)
      }
      for (const place of places) limiter.releasePlace(place, { is: 'answered' }, now + 100)
    }
    t.same(refusedAt, [0, 0, 0, 0, 0, 10, 20, 30, 40], 'of the first ten, then one more in ten minutes')
    t.equal(limiter.standing(45 * MINUTE).limit, 5)
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

t.test('failures, and what says nothing, neither lower nor raise it', async t => {
  const limiter = createLimiter(10)
  for (let n = 0; n < 100; n += 1)
    for (const place of takePlaces(limiter, n))
      limiter.releasePlace(place, { is: n % 3 === 0 ? 'void' : 'answered' }, n)
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
