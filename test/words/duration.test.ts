import fc from 'fast-check'
import t from 'tap'
import { type DurationUnit, toReadableDuration } from '../../src/words/language-file.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

t.test('a duration is in the unit that a person would use', async t => {
  for (const [ms, n, unit] of [
    [30_000, 30, 'second'],
    [1, 1, 'second'],
    [MINUTE, 1, 'minute'],
    [10 * MINUTE, 10, 'minute'],
    [90 * MINUTE, 90, 'minute'],
    [HOUR, 1, 'hour'],
    [3.7 * HOUR, 3, 'hour'],
    [24 * HOUR, 24, 'hour'],
    [36 * HOUR, 36, 'hour'],
    [2 * DAY, 2, 'day'],
    [3.5 * DAY, 3, 'day'],
    [30 * DAY, 30, 'day'],
  ] as const) {
    t.same(toReadableDuration(ms), { n, unit }, `${ms} ms`)
  }
})

t.test(
  'without words for a unit the next smaller one is said, and without a smaller one nothing',
  async t => {
    const said = (ms: number, ...units: readonly DurationUnit[]) =>
      toReadableDuration(ms, unit => units.includes(unit))
    t.same(said(3.5 * DAY, 'hour'), { n: 84, unit: 'hour' })
    t.same(said(3 * DAY, 'second', 'minute'), { n: 3 * 24 * 60, unit: 'minute' })
    t.same(said(90_500, 'second', 'day'), { n: 90, unit: 'second' })
    t.equal(said(30_000, 'minute', 'day'), null, 'a minute would be more than it holds')
    t.equal(said(DAY), null)
  },
)

t.test('a duration is never rounded up', async () => {
  const unitMs = { second: 1000, minute: MINUTE, hour: HOUR, day: DAY }
  fc.assert(
    fc.property(fc.integer({ min: 1000, max: 30 * DAY }), ms => {
      const { n, unit } = toReadableDuration(ms) ?? { n: 0, unit: 'second' }
      return n >= 1 && n * unitMs[unit] <= ms && n * unitMs[unit] > ms * 0.49
    }),
  )
})
