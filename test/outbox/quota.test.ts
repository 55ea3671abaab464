import t from 'tap'
import {
  chargeQuotas,
  msUntilRoom,
  type QuotaCounter,
  refundCounter,
  rotateCounter,
} from '../../src/outbox/quota.ts'
import { NOON } from './samples.ts'

const WINDOW = 600_000

t.test('a quota: what came in the window before weighs by what still overlaps', async t => {
  const half = NOON + WINDOW / 2
  t.equal(msUntilRoom(0, 4, 5, WINDOW, half), 0)
  t.equal(msUntilRoom(2, 4, 5, WINDOW, half), WINDOW / 2, 'two halves of them are one too many')
  t.equal(msUntilRoom(2, 4, 6, WINDOW, half), 0)
  t.equal(msUntilRoom(5, 0, 5, WINDOW, NOON), WINDOW / 5, 'one of five slides out in a fifth of the window')
  t.equal(msUntilRoom(0, 5, 5, WINDOW, NOON), WINDOW + WINDOW / 5)
  t.equal(msUntilRoom(0, 0, 0, WINDOW, NOON), WINDOW, 'never, but somewhen must be said')
})

const counterAt = (windowStart: number, current: number, previous = 0): QuotaCounter => ({
  windowStart,
  current,
  previous,
  expiresAt: windowStart + 2 * WINDOW,
})

t.test('a counter moves on with the windows', async t => {
  const stored = counterAt(NOON, 4, 3)
  const at = (windows: number) => rotateCounter(stored, WINDOW, NOON + windows * WINDOW + 5)
  t.same(rotateCounter(undefined, WINDOW, NOON + 5), counterAt(NOON, 0))
  t.same(at(0), stored)
  t.same(at(1), counterAt(NOON + WINDOW, 0, 4), 'the current window becomes the previous one')
  t.same(at(2), counterAt(NOON + 2 * WINDOW, 0), 'one that is past weighs nothing')
  t.same(at(-1), stored, 'a replica whose clock is ahead was in the next window already')
  t.same(at(-2), counterAt(NOON - 2 * WINDOW, 0), 'a clock that was set back locks nobody out')
})

t.test('a refund goes to the window that was charged, and never below nothing', async t => {
  const counter = counterAt(NOON, 2, 1)
  t.same(refundCounter(counter, NOON), counterAt(NOON, 1, 1))
  t.same(refundCounter(counter, NOON - WINDOW), counterAt(NOON, 2, 0))
  t.same(refundCounter(counter, NOON - 2 * WINDOW), counter, 'a window that is past')
  t.same(refundCounter(counter, NOON + WINDOW), counter, 'a window to come')
  t.same(refundCounter(counterAt(NOON, 0, 0), NOON), counterAt(NOON, 0, 0))
  t.same(refundCounter(counterAt(NOON, 0, 0), NOON - WINDOW), counterAt(NOON, 0, 0))
})

t.test(
  'a limit is near by what would be counted now, with what still overlaps of the window before',
  async t => {
    const charge = { quota: 'q', bucket: 'ann', windowMs: WINDOW, limit: 99, warnAt: 9 }
    const nearing = (current: number, previous: number, into: number) => {
      const charged = chargeQuotas([charge], () => counterAt(NOON, current, previous), NOON + into)
      return charged.is === 'charged' && charged.nearing.length > 0
    }
    t.equal(nearing(4, 8, WINDOW / 4), true, 'six of eight still count')
    t.equal(nearing(4, 8, (3 * WINDOW) / 4), false, 'two of them')
    t.equal(nearing(6, 8, (3 * WINDOW) / 4), true)
  },
)

t.test('over quota: the one that is full for longest answers, its wait rounded up to seconds', async t => {
  const short = { quota: 'short', bucket: 'ann', windowMs: WINDOW, limit: 1 }
  const long = { quota: 'long', bucket: 'ann', windowMs: 6 * WINDOW, limit: 0 }
  const full = (name: string) => (name.includes('short') ? counterAt(NOON - WINDOW, 1) : undefined)
  const at = (now: number, charges: readonly (typeof short)[]) => chargeQuotas(charges, full, now)
  t.same(at(NOON + 1, [short]), { is: 'over-quota', quota: 'short', retryAfterSeconds: 600 })
  t.same(at(NOON + 1, [short, long]), { is: 'over-quota', quota: 'long', retryAfterSeconds: 3600 })
  t.same(at(NOON + 1, [long, short]), { is: 'over-quota', quota: 'long', retryAfterSeconds: 3600 })
  t.same(at(NOON + WINDOW - 1, [short]), { is: 'over-quota', quota: 'short', retryAfterSeconds: 1 })
  t.match(at(NOON + WINDOW, [short]), { is: 'charged' })
})
