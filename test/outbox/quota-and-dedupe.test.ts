import fc from 'fast-check'
import t from 'tap'
import { msUntilRoom, startOfWindow } from '../../src/outbox/quota.ts'
import { isLaterReceipt } from '../../src/outbox/receipt-order.ts'
import { judgeDuplicate } from '../../src/outbox/rules.ts'
import { NOON } from './samples.ts'

const WINDOW = 600_000

t.test('a quota: what came in the window before weighs by what still overlaps', t => {
  const half = NOON + WINDOW / 2
  t.equal(msUntilRoom(0, 4, 5, WINDOW, half), 0)
  t.equal(msUntilRoom(2, 4, 5, WINDOW, half), WINDOW / 2, 'two halves of them are one too many')
  t.equal(msUntilRoom(2, 4, 6, WINDOW, half), 0)
  t.equal(msUntilRoom(5, 0, 5, WINDOW, NOON), WINDOW / 5, 'one of five slides out in a fifth of the window')
  t.equal(msUntilRoom(0, 5, 5, WINDOW, NOON), WINDOW + WINDOW / 5)
  t.equal(msUntilRoom(0, 0, 0, WINDOW, NOON), WINDOW, 'never, but somewhen must be said')
  t.end()
})

t.test('a quota: the wait it names is enough, and not much too long', t => {
  const count = fc.nat(30)
  fc.assert(
    fc.property(
      count,
      count,
      fc.integer({ min: 1, max: 20 }),
      fc.nat(WINDOW - 1),
      (previous, current, limit, into) => {
        const now = NOON + into
        const wait = msUntilRoom(previous, current, limit, WINDOW, now)
        if (wait === 0) return current < limit
        const roll = (at: number) =>
          startOfWindow(at, WINDOW) === startOfWindow(now, WINDOW)
            ? msUntilRoom(previous, current, limit, WINDOW, at)
            : startOfWindow(at, WINDOW) === startOfWindow(now, WINDOW) + WINDOW
              ? msUntilRoom(current, 0, limit, WINDOW, at)
              : 0
        return roll(now + wait) === 0 && roll(now + wait - 2) > 0
      },
    ),
    { seed: 7, numRuns: 500 },
  )
  t.end()
})

t.test('a twin: a clock that was set back an hour swallows nothing', t => {
  const twin = { state: 'sent', finalAt: NOON, expiresAt: NOON + WINDOW } as const
  t.equal(judgeDuplicate(twin, NOON + 45_000), 'recent')
  t.equal(judgeDuplicate(twin, NOON - 1000), 'recent', 'replicas’ clocks differ a little')
  t.equal(judgeDuplicate(twin, NOON - 3_600_000), 'past')
  t.end()
})

t.test('receipts: each status counts only after earlier ones', t => {
  t.equal(isLaterReceipt(null, 'queued'), true)
  t.equal(isLaterReceipt('sent', 'delivered'), true)
  t.equal(isLaterReceipt('delivered', 'sent'), false)
  t.equal(isLaterReceipt('delivered', 'undelivered'), false, 'the first end counts')
  t.equal(isLaterReceipt('delivered', 'read'), true)
  t.equal(isLaterReceipt('sent', 'a-new-status'), false)
  t.equal(isLaterReceipt('a-new-status', 'queued'), true)
  t.end()
})
