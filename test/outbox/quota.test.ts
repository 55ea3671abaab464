import t from 'tap'
import { chargeQuotas, type QuotaCounter } from '../../src/outbox/quota.ts'
import { NOON } from './samples.ts'

const WINDOW = 600_000

const counterAt = (windowStart: number, current: number, previous = 0): QuotaCounter => ({
  windowStart,
  current,
  previous,
  expiresAt: windowStart + 2 * WINDOW,
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
