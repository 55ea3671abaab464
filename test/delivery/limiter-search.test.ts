import t from 'tap'
import {
  createLimitSearch,
  endIdleTrial,
  type LimitSearch,
  lowerTo,
  measureAttempt,
} from '../../src/delivery/limiter.ts'
import { jitter, seededRandom } from './simulation.ts'

const CEILING = 200

/** A search, and a load that always needs all places. */
function underLoad(tookMs: (places: number) => number, { isNew = false, ceiling = CEILING } = {}) {
  const search = createLimitSearch({ start: 10, most: 200 })
  let now = 0
  /** Moments at which trials began, and how many places each tried. */
  const trials: { readonly at: number; readonly to: number }[] = []
  return {
    search,
    trials,
    now: () => now,
    /** @param other another duration than the usual one from now on. */
    answer(count: number, other: (places: number) => number = tookMs): void {
      for (let n = 0; n < count; n += 1) {
        const ms = other(search.limit)
        now += ms / search.limit
        const { step } = search
        measureAttempt(search, { tookMs: ms, isNew }, now, ceiling)
        if (search.step !== step && search.step.is === 'trying') trials.push({ at: now, to: search.step.to })
      }
    },
    pass(ms: number): void {
      now += ms
    },
  }
}

/** A provider that turns this share of each added place into rate. */
const arriving =
  (share: number) =>
  (places: number): number =>
    20 * (places / 10) ** (1 - share)

/** A search that has learned that neither more nor fewer places pay. */
function settled() {
  const load = underLoad(arriving(0.07))
  load.answer(20_000)
  return load
}

t.test('it doubles while most of what is added arrives', async t => {
  const { search, answer } = underLoad(arriving(0.7))
  const seen = new Set<number>()
  for (let n = 0; n < 1000; n += 1) {
    answer(1)
    seen.add(search.limit)
  }
  t.same([...seen].slice(0, 6), [10, 20, 40, 80, 160, 200])
})

t.test('more are kept when a tenth of them arrives, fewer when nearly all arrives with them', async t => {
  const after = (share: number): LimitSearch => {
    const { search, answer } = underLoad(arriving(share))
    answer(200_000)
    return search
  }
  t.ok(after(0.12).limit > 100)
  t.equal(after(0.08).limit, 10)
  t.equal(after(0.06).limit, 10)
  t.equal(after(0.03).limit, 3, 'which is few enough')
})

t.test('when neither pays it tries the more rarely, and fewer most rarely: they cost rate', async t => {
  const { trials, answer } = underLoad(arriving(0.07))
  answer(400_000)
  const pauses = trials.slice(1).map(({ at }, n) => (at - (trials[n]?.at ?? 0)) / 1000)
  t.ok(Math.max(...pauses.slice(0, 3)) < 2.5, 'at first at once')
  t.ok(Math.min(...pauses.slice(-5)) >= 30 && Math.max(...pauses) < 35, 'later every half minute')
  t.same(new Set(trials.slice(-4).map(({ to }) => to)), new Set([8, 15]))
  const slow = underLoad(places => 100 * arriving(0.07)(places))
  slow.answer(20_000)
  const [first, second] = slow.trials.filter(({ to }) => to < 10).map(({ at }) => at)
  // 80 attempts over 8 places, of 1.6 s each, and ten times that.
  t.ok((second ?? 0) - (first ?? 0) > 11 * 16_000)
  t.ok(slow.trials.filter(({ at }) => at > (first ?? 0) && at < (second ?? 0)).length > 2, 'more meanwhile')
})

t.test('a provider that takes much longer than at the last trial is tried at once', async t => {
  for (const [factor, tries] of [
    [1.3, false],
    [0.8, false],
    [2, true],
    [0.5, true],
  ] as const) {
    const { search, trials, answer } = settled()
    const before = trials.length
    t.equal(search.step.is, 'kept')
    answer(300, places => factor * arriving(0.07)(places))
    t.equal(trials.length > before, tries, `${factor} times as long`)
    answer(3000, places => factor * arriving(0.07)(places))
    t.equal(trials.length > before + 1, tries, 'and once more soon after')
  }
})

/** The mean limit of these loads over their next attempts. */
function meanLimit(loads: readonly ReturnType<typeof underLoad>[], attempts: number): number {
  let sum = 0
  for (const { search, answer } of loads)
    for (let n = 0; n < attempts; n += 1) {
      answer(1)
      sum += search.limit
    }
  return sum / loads.length / attempts
}

t.test(
  'an opening that meets two hiccups goes on, and so does one that meets more, in smaller steps',
  async t => {
    for (const [hiccups, next] of [
      [1, 20],
      [2, 20],
      [3, 15],
    ] as const) {
      const { search, trials, answer } = underLoad(() => 20)
      for (let n = 0; n < hiccups; n += 1) {
        while (search.step.is !== 'trying') answer(1)
        while (search.step.is === 'trying') answer(1, () => 200)
        t.match(search.step, { is: 'kept', from: 10, to: 20 })
      }
      answer(200)
      t.equal(trials[hiccups]?.to, next)
      answer(5000)
      t.ok(search.limit >= 150)
    }
  },
)

t.test('fewer are not kept when a hiccup ended during their trial', async t => {
  const { search, answer } = underLoad(() => 20, { ceiling: 10 })
  for (let n = 0; n < 1000 && search.step.is !== 'trying'; n += 1) answer(1, () => 60)
  t.equal(search.limit, 8)
  answer(64, () => 66)
  answer(16)
  t.match(search.step, { is: 'kept', from: 10, to: 8 })
})

t.test('hiccups decide no trial', async t => {
  const random = seededRandom(3)
  const loads = Array.from({ length: 5 }, () => {
    let n = 0
    const load = underLoad(places => ((n += 1) % 3000 < places ? 1000 : 20 * jitter(random, 0.3)))
    load.answer(10_000)
    return load
  })
  const mean = meanLimit(loads, 50_000)
  t.ok(mean > 194, `${mean.toFixed(1)} of 200`)
})

t.test(
  'however much durations vary: it neither wanders upwards nor misses what more would bring',
  async t => {
    const random = seededRandom(5)
    const loads = (tookMs: (places: number) => number) =>
      Array.from({ length: 10 }, () => {
        const load = underLoad(places => tookMs(places) * jitter(random, 1))
        load.answer(10_000)
        return load
      })
    const flat = meanLimit(
      loads(places => 2 * places),
      50_000,
    )
    t.ok(flat < 12, `${flat.toFixed(1)} places where three would do`)
    const linear = meanLimit(
      loads(() => 20),
      20_000,
    )
    t.ok(linear > 190, `${linear.toFixed(1)} of 200`)
  },
)

t.test('the first use of a place says nothing, except while it opens, when each is', async t => {
  const { search, answer } = underLoad(() => 20, { isNew: true })
  answer(100)
  t.ok(search.limit > 20)
  const { search: known, answer: more } = underLoad(arriving(0.07))
  more(20_000)
  const { step } = known
  for (let n = 0; n < 5000; n += 1) measureAttempt(known, { tookMs: 500, isNew: true }, 1e9 + n, CEILING)
  t.equal(known.step, step)
})

t.test('fewer are tried under a lasting load only, and not beyond it', async t => {
  const { search, now, pass, answer } = underLoad(arriving(0.07))
  let least = 10
  for (let burst = 0; burst < 500; burst += 1) {
    for (let n = 0; n < 30; n += 1) {
      answer(1)
      least = Math.min(least, search.limit)
    }
    pass(60_000)
    endIdleTrial(search, now())
  }
  t.equal(least, 10)
  const lasting = settled()
  for (let n = 0; n < 100_000 && lasting.search.limit >= 10; n += 1) lasting.answer(1)
  endIdleTrial(lasting.search, lasting.now() + 900)
  t.equal(lasting.search.limit, 8, 'it may only have paused')
  endIdleTrial(lasting.search, lasting.now() + 1100)
  t.equal(lasting.search.limit, 10)
})

t.test('bursts add up to a measurement', async t => {
  const { search, pass, answer } = underLoad(arriving(0.3))
  for (let burst = 0; burst < 40; burst += 1) {
    answer(30)
    pass(60_000)
  }
  t.ok(search.limit > 10)
})

t.test('nothing beyond the ceiling is tried', async t => {
  const { search, trials, answer } = underLoad(() => 20, { ceiling: 13 })
  answer(5000)
  t.ok(trials.every(({ to }) => to <= 13))
  t.ok(search.limit >= 10)
})

t.test('each change of the limit is a round of its own', async t => {
  const { search, answer } = underLoad(arriving(0.07))
  const limits = new Map<number, Set<number>>()
  for (let n = 0; n < 20_000; n += 1) {
    answer(1)
    limits.set(search.round, (limits.get(search.round) ?? new Set()).add(search.limit))
  }
  t.ok(limits.size > 10)
  t.ok([...limits.values()].every(({ size }) => size === 1))
  const { round } = search
  lowerTo(search, 5)
  t.ok(search.round > round)
  t.match(search.step, { is: 'failing', to: 5 })
})
