import t from 'tap'
import { createLimiter, type Place } from '../../src/delivery/limiter.ts'
import type { Outcome } from '../../src/providers/provider.ts'
import { inEnglish } from '../language/english.ts'

const MINUTE = 60_000
const TAKEN: Outcome = { is: 'sent', reply: '' }
const FAILED: Outcome = { is: 'ambiguous', code: 'reply-limit', reply: '' }
const RETRY = { is: 'retry', whose: 'later', reply: '' } as const
const REFUSED = { ...RETRY, code: '421', untouched: true, overload: 'connections' } as const
const THROTTLED = { ...RETRY, code: '429', overload: 'requests' } as const

type Limiter = ReturnType<typeof createLimiter>

/** Begins as many as may be, and as there are. */
function takePlaces(limiter: Limiter, now: number, most = Infinity): Place[] {
  const places: Place[] = []
  while (places.length < most && limiter.placeAt(now) <= now) places.push(limiter.take(now, 'd'))
  return places
}

/** A limiter with so many under way since 0. */
function underWay(count: number, most = 200): { limiter: Limiter; places: Place[] } {
  const limiter = createLimiter(most)
  return { limiter, places: Array.from({ length: count }, () => limiter.take(0, 'd')) }
}

t.test('50 callers at once: three waves at first, two the next time, one later', async t => {
  const limiter = createLimiter(200)
  function countWaves(now: number): number {
    let waves = 0
    for (let left = 50; left > 0; waves += 1) {
      const places = takePlaces(limiter, now, left)
      left -= places.length
      if (left > 0) limiter.placeAt(now)
      for (const place of places) limiter.release(place, TAKEN, now + 100)
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
      limiter.placeAt(now)
      for (const place of places.splice(5)) {
        refusedAt.push(Math.floor(now / MINUTE))
        limiter.release(place, { ...REFUSED, ...known }, now)
      }
      for (const place of places) limiter.release(place, TAKEN, now + 100)
    }
    t.same(refusedAt, [0, 0, 0, 0, 0, 10, 20, 30, 40], 'of the first ten, then one more in ten minutes')
    t.equal(limiter.standing(45 * MINUTE).limit, 5)
  }
})

t.test('what a refusal tells of how many are taken', async t => {
  const { limiter: told, places } = underWay(10)
  told.release(places[0] as Place, { ...REFUSED, accepted: 4 }, 5)
  t.same(told.standing(5), { limit: 4, pausedUntil: 0 }, 'whoever opened them says it')
  for (const place of places.slice(1)) told.release(place, TAKEN, 6)
  told.release(told.take(7, 'd'), { ...REFUSED, accepted: 9 }, 7)
  /** Five begin at a moment, of which the last is taken. @returns after which there was no room, and how many may be under way then and afterwards */
  function tryFive(now: number) {
    const areFull: boolean[] = []
    const five = Array.from({ length: 5 }, () => {
      const place = told.take(now, 'd')
      areFull.push(told.isFull(now))
      return place
    })
    const { limit } = told.standing(now)
    for (const place of five.toReversed()) told.release(place, place.nth === 5 ? TAKEN : undefined, now)
    return [areFull.indexOf(true) + 1, limit, told.standing(now).limit, inEnglish(told.explain(now))]
  }
  const why = (last: string) => ({ reason: 'refused', why: `the provider refused more than ${last}` })
  t.same(
    [8, 600_006, 600_007].map(tryFive),
    [
      [4, 3, 4, why('4 connections; one more is tried in 600 s')],
      [4, 3, 4, why('4 connections; one more is tried in 1 s')],
      [5, 4, 5, why('5 connections; one more is tried when it is needed')],
    ],
    'for ten minutes',
  )
  const { limiter: untold, places: same } = underWay(10)
  for (const place of same.slice(0, 3)) untold.release(place, REFUSED, 5)
  t.equal(untold.standing(5).limit, 7, 'or how many are still under way')
  const { limiter: late, places: gone } = underWay(10)
  for (const place of gone.slice(0, 8)) late.release(place, TAKEN, 20)
  late.release(gone[9] as Place, REFUSED, 20)
  t.equal(late.standing(20).limit, 9, 'not how many are left when the load has gone')
  const { limiter: hung, places: six } = underWay(6)
  hung.stopWaiting(six[0] as Place)
  hung.release(six[5] as Place, { ...REFUSED, accepted: 5 }, 5)
  t.equal(hung.standing(5).limit, 4, 'what nobody waits for has one of them')
  const { limiter: only, places: single } = underWay(1)
  only.release(single[0] as Place, { ...REFUSED, accepted: 0 }, 5)
  t.match(only.standing(5), { limit: 10, pausedUntil: 0 }, 'nothing, when it was the only one')
  const { limiter: one, places: two } = underWay(2, 1)
  one.release(two[1] as Place, { ...REFUSED, accepted: 1 }, 5)
  t.same([one.standing(5).limit, one.explain(5).reason], [1, 'refused'])
})

t.test('a quarter of the places is kept for destinations that hold less than a quarter', async t => {
  /** So many may begin, of these that want to in turn; all are known, unless some are named. @returns those that do */
  const share = (most: number, wants: string, known = wants): string => {
    const limiter = createLimiter(most)
    for (const each of known) limiter.release(limiter.take(0, each), TAKEN, 0)
    return wants
      .split('')
      .filter(each => limiter.placeAt(0, each) === 0 && limiter.take(0, each))
      .join('')
  }
  t.equal(share(8, 'aaaaaaaabbbb'), 'aaaaaabb')
  t.equal(share(8, 'aaaaaaaabcd'), 'aaaaaabc')
  t.same([share(2, 'aabb'), share(1, 'ab')], ['ab', 'a'])
  t.equal(share(8, 'abcdefghik', 'k'), 'abcdefgk', 'an eighth for those where an attempt was answered')
  t.equal(share(8, 'xyabcdezf', 'abcdef'), 'xyabcdef', 'when the others hold a quarter')
  t.equal(share(8, 'xabcdefzg', 'abcdefg'), 'xabcdefz', 'and not less')
})

t.test('destinations where nothing was answered share their turn', async t => {
  const { limiter } = underWay(0)
  const [answered, strange] = ['k', 's'].map(each => limiter.take(0, each))
  const rank = () => ['a', 'b', 'c', 'k', 's'].map(each => Math.trunc(10 * limiter.rankOf(each)))
  const places = ['a', 'b', 'b'].map(each => limiter.take(0, each))
  limiter.stopWaiting(places[2] as Place)
  t.same(rank(), [51, 53, 50, 51, 51], 'what nobody waits for any more is under way')
  limiter.release(answered as Place, TAKEN, 1)
  limiter.release(strange as Place, FAILED, 1)
  limiter.take(1, 'k')
  t.same(rank(), [32, 35, 30, 10, 30])
  t.same([limiter.isKnown('k'), limiter.isKnown('s')], [true, false])
  for (let n = 0; n < 1000; n += 1) limiter.release(limiter.take(2, `other${n}`), TAKEN, 2)
  t.same(rank(), [42, 44, 40, 42, 40], 'a thousand are known')
  let at = 3
  for (let n = 0; n < 200 && limiter.placeAt((at += 1001), `${n}`) <= at; n += 1) limiter.take(at, `${n}`)
  t.equal(limiter.uncounted(), 50, 'half of those that may go on beside those that count')
  for (let n = 900; limiter.placeAt((at += 1001), `other${n}`) <= at; n += 1) limiter.take(at, `other${n}`)
  t.equal(limiter.uncounted(), 100, 'the others for those that are known')
  const areKnown = () => ['other996', 'other997', 'other998', 'other999'].map(each => limiter.isKnown(each))
  limiter.release(limiter.take(at, 'other996'), { ...RETRY, code: 'command-limit' }, at)
  limiter.stopWaiting(limiter.take(at, 'other998'))
  limiter.release(limiter.take(at, 'other997'), REFUSED, at)
  limiter.release(limiter.take(at, 'other999'), FAILED, at)
  t.same(areKnown(), [false, true, false, false], 'known is where the latest attempt was answered')
  for (const each of ['other0', 'last']) limiter.release(limiter.take(at, each), TAKEN, at)
  const latest = ['other0', 'other1', 'other2'].map(each => limiter.wasAnswered(each))
  t.same(latest, [true, false, true], 'of the latest thousand')
})

t.test('a hundred may go on beside those that count', async t => {
  const { limiter, places } = underWay(110)
  const [one] = ['e', 'e', 'e'].map(each => limiter.take(0, each))
  for (const each of [places[0], one]) limiter.stopWaiting(each as Place)
  t.same([limiter.counted(), limiter.uncounted(), limiter.largeDestinations(0)], [10, 103, ['d']])
  t.equal(underWay(70).limiter.placeAt(0), 1000, 'who is nobody in particular may have their places')
  const areFull = [299, 300].map(each => underWay(each).limiter.isFull(0))
  t.same(areFull, [false, true], 'beside as many as the settings allow')
})

t.test('what goes to a destination is unknown from a failure there to the next answer', async t => {
  const { limiter } = underWay(0)
  const places = ['k', 'k', 'k', 'k', 'k'].map(each => limiter.take(0, each))
  limiter.stopWaiting(places[4] as Place)
  const unknown = [TAKEN, FAILED, FAILED, TAKEN].map((outcome, at) => {
    limiter.release(places[at] as Place, outcome, 1)
    return limiter.rankOf('other')
  })
  t.same(unknown, [0, 3, 2, 0])
})

t.test('who has places, and who gets one', async t => {
  const { limiter } = underWay(0)
  for (const each of 'abcd') limiter.release(limiter.take(0, each), TAKEN, 0)
  const [first, slow, , , , , , , , last] = 'cbaaaaabbd'.split('').map((each, at) => limiter.take(at, each))
  const describe = (now: number) => [
    limiter.destinations().map(each => `${each} ${limiter.underWay(each)}`),
    [limiter.counted(), limiter.uncounted()],
    limiter.largeDestinations(now).join(),
    ['a', 'b', 'c', undefined].map(each => limiter.placeAt(now, each)),
    limiter.placeAt(now, 'c', 1),
  ]
  const all = ['c 1', 'b 3', 'a 5', 'd 1']
  t.same(describe(9), [all, [10, 0], 'b,a', [Infinity, Infinity, 1001, 1000], 1001])
  const taken = [1000, 1001].map(at => {
    const place = limiter.take(at, 'c')
    limiter.release(place, undefined, at)
    return place.counts
  })
  t.same(taken, [false, true], 'in the place of one that has lasted a second')
  limiter.stopWaiting(slow as Place)
  t.same(describe(9), [all, [9, 1], 'a', [Infinity, 9, 9, 9], 1002], 'for one of them nobody waits')
  limiter.release(last as Place, THROTTLED, 50)
  const never = [Infinity, Infinity, Infinity, Infinity]
  t.same(describe(149), [all.slice(0, 3), [8, 1], 'c,b,a', never, Infinity], 'none in a pause')
  limiter.release(slow as Place, FAILED, 150)
  t.same(describe(150), [['c 1', 'b 2', 'a 5'], [8, 0], 'b,a', [Infinity, Infinity, 1002, 1000], 1002])
  limiter.stopWaiting(first as Place)
  t.same(describe(150)[0], ['c 1', 'b 2', 'a 5'], 'it is under way all the same')
})

t.test('429: half as many after a tenth of a second, once for all that were under way', async t => {
  const { limiter, places } = underWay(10)
  for (const place of places.slice(5)) limiter.release(place, { ...THROTTLED, retryAfterMs: 9000 }, 0)
  t.same(limiter.standing(0), { limit: 0, pausedUntil: 100 })
  for (const place of places.slice(0, 5)) limiter.release(place, TAKEN, 60)
  t.same(limiter.standing(100), { limit: 5, pausedUntil: 100 })
  t.match(limiter.explain(100), {
    reason: 'throttled',
    why: 'halved: the provider refused more requests at once',
  })
  limiter.release(limiter.take(101, 'd'), { ...REFUSED, accepted: 8 }, 102)
  t.equal(limiter.standing(102).limit, 5)
  const five = Array.from({ length: 5 }, () => limiter.take(103, 'd'))
  limiter.release(five[0] as Place, TAKEN, 104)
  t.same([limiter.standing(104).limit, limiter.explain(104).reason], [6, 'raised'])
})

t.test('the only request is refused: a pause as was asked for, of two seconds at most', async t => {
  for (const [end, ms] of [
    [{ ...THROTTLED, retryAfterMs: 1500 }, 1500],
    [{ ...THROTTLED, retryAfterMs: 120_000 }, 2000],
    [THROTTLED, 1000],
    [{ ...THROTTLED, retryAfterMs: 0 }, 1000],
  ] as const) {
    const { limiter, places } = underWay(1)
    limiter.release(places[0] as Place, end, 50)
    t.same(limiter.standing(50), { limit: 0, pausedUntil: 50 + ms })
    const why = `the provider asked for a pause; it ends in ${ms > 1000 ? 2 : 1} s`
    t.same(inEnglish(limiter.explain(50)), { reason: 'paused', why })
    t.same(limiter.standing(50 + ms), { limit: 1, pausedUntil: 50 + ms })
  }
})

t.test('what does not need all places asks for no more', async t => {
  const { limiter } = underWay(0)
  for (let n = 0; n < 200; n += 1) {
    const places = Array.from({ length: 9 }, () => limiter.take(n * 20, 'd'))
    for (const place of places) limiter.release(place, TAKEN, n * 20 + 20)
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
  limiter.release(first, TAKEN, 20)
  t.match(limiter.explain(20), { reason: 'raised', why: 'one more for each answer while all were in use' })
  limiter.take(20, 'd')
  limiter.take(20, 'd')
  limiter.release(second, TAKEN, 40)
  t.same(limiter.explain(40), { reason: 'most', why: 'as many as the settings allow' })
})

t.test('what each outcome tells of how many attempts may be under way', async t => {
  const retry = { ...RETRY, code: '450' } as const
  const stopped = { code: 'aborted', reply: '' } as const
  const outcomes: readonly (readonly [Outcome, number])[] = [
    [TAKEN, 11],
    [{ is: 'rejected', scope: 'recipient', code: '550', reply: '' }, 11],
    [retry, 11],
    [{ is: 'limit', scope: 'recipient', code: 'hour', reply: '', retryAfterMs: 1 }, 11],
    [{ is: 'limit', scope: 'account', code: 'day', reply: '', retryAfterMs: 1 }, 10],
    [{ ...retry, code: 'ECONNREFUSED', untouched: true }, 10],
    [{ ...retry, code: 'command-limit' }, 10],
    [{ ...retry, code: 'look-up', untouched: true }, 10],
    [FAILED, 10],
    [{ is: 'ambiguous', ...stopped }, 10],
    [{ ...retry, ...stopped, untouched: true }, 10],
    [{ ...retry, code: 'not-known-yet' }, 10],
    [{ ...retry, whose: 'ours', code: '535' }, 10],
    [{ ...REFUSED, accepted: 5 }, 5],
    [{ ...THROTTLED, retryAfterMs: 700 }, 0],
  ]
  for (const [outcome, limit] of outcomes) {
    const { limiter, places } = underWay(10)
    limiter.release(places[9] as Place, outcome, 1)
    t.equal(limiter.standing(1).limit, limit, JSON.stringify(outcome))
  }
})
