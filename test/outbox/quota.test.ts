import t from 'tap'
import { createQuotaLedger, type QuotaCounter } from '../../src/outbox/quota.ts'
import { NOON } from './samples.ts'

const WINDOW = 600_000

const counterAt = (windowStart: number, current: number, previous = 0): QuotaCounter => ({
  windowStart,
  current,
  previous,
  expiresAt: windowStart + 2 * WINDOW,
})

t.test(
  'a counter of the next window, of a replica whose clock is ahead, counts; a later one locks nobody out',
  async t => {
    const charge = { quota: 'q', bucket: 'ann', windowMs: WINDOW, limit: 4 }
    const at = (now: number) => createQuotaLedger(() => counterAt(NOON, 4)).charge([charge], now).is
    t.equal(at(NOON - 5), 'over-quota')
    t.equal(at(NOON - WINDOW - 5), 'charged', 'a clock was set back')
  },
)

t.test('a refund takes nothing below nothing', async t => {
  const ledger = createQuotaLedger(() => counterAt(NOON, 0))
  ledger.refund([
    ['now', NOON],
    ['before', NOON - WINDOW],
  ])
  t.same([...ledger.changed.values()], [counterAt(NOON, 0), counterAt(NOON, 0)])
})

t.test('over quota: the one that is full for longest answers, its wait rounded up to seconds', async t => {
  const short = { quota: 'short', bucket: 'ann', windowMs: WINDOW, limit: 1 }
  const long = { quota: 'long', bucket: 'ann', windowMs: 6 * WINDOW, limit: 0 }
  const full = (name: string) => (name.includes('short') ? counterAt(NOON - WINDOW, 1) : undefined)
  const at = (now: number, charges: readonly (typeof short)[]) => createQuotaLedger(full).charge(charges, now)
  t.same(at(NOON + 1, [short]), { is: 'over-quota', quota: 'short', retryAfterSeconds: 600 })
  t.same(at(NOON + 1, [short, long]), { is: 'over-quota', quota: 'long', retryAfterSeconds: 3600 })
  t.same(at(NOON + 1, [long, short]), { is: 'over-quota', quota: 'long', retryAfterSeconds: 3600 })
  t.same(at(NOON + WINDOW - 1, [short]), { is: 'over-quota', quota: 'short', retryAfterSeconds: 1 })
  t.match(at(NOON + WINDOW, [short]), { is: 'charged' })
})
