import t from 'tap'
import { createBreaker } from '../../src/delivery/breaker.ts'
import type { Outcome } from '../../src/providers/provider.ts'

const refused: Outcome = { is: 'retry', whose: 'later', code: 'ECONNREFUSED', reply: '', untouched: true }
const login: Outcome = { is: 'retry', whose: 'ours', scope: 'account', code: '535', reply: '' }
const grey: Outcome = { is: 'retry', whose: 'later', code: '450', reply: '' }
const sent: Outcome = { is: 'sent', reply: '' }
const stall: Outcome = { is: 'ambiguous', code: 'T', reply: '' }
/** Says whether an attempt may begin, and begins it. */
function allows(breaker: ReturnType<typeof createBreaker>, now: number): boolean {
  const may = breaker.restsUntil(now) === null
  if (may) breaker.beginAttempt(now)
  return may
}

const make = () => createBreaker({ threshold: 3, openMs: 1000, random: () => 0.5 })

t.test('opens when nearly all of the latest attempts have failed at the provider', async t => {
  for (const failure of [refused, login]) {
    const breaker = make()
    for (let n = 0; n < 2; n += 1) breaker.record(failure, 0, 0)
    t.ok(allows(breaker, 0))
    breaker.record(sent, 0, 0)
    for (let n = 0; n < 6; n += 1) breaker.record(failure, 0, 0)
    t.equal(breaker.state(), 'closed', 'one of nine was taken')
    t.equal(breaker.record(failure, 0, 0), 'open', 'nine of ten failed')
    t.notOk(allows(breaker, 999))
    t.equal(breaker.openUntil(), 1000)
  }
})

t.test('it opens by the latest ten attempts, however many were taken before', async t => {
  const breaker = make()
  for (let n = 0; n < 30; n += 1) breaker.record(sent, 0, 0)
  for (let n = 0; n < 8; n += 1) breaker.record(refused, 0, 0)
  t.equal(breaker.state(), 'closed', 'eight of ten')
  t.equal(breaker.record(refused, 0, 0), 'open', 'nine of ten')
})

t.test('a provider that takes one message in four goes on, whatever the order', async t => {
  const breaker = make()
  for (let n = 0; n < 400; n += 1) {
    for (const outcome of [sent, refused, stall, refused]) breaker.record(outcome, n, n)
    t.equal(breaker.state(), 'closed')
  }
})

t.test('what ended more than a minute ago says nothing of now', async t => {
  const breaker = make()
  for (let n = 0; n < 10; n += 1) breaker.record(sent, 0, 0)
  for (let n = 0; n < 2; n += 1) breaker.record(refused, 60_001, 60_001)
  t.equal(breaker.state(), 'closed', 'two are too few')
  t.equal(breaker.record(refused, 60_001, 60_001), 'open', 'and three without a success are not')
  const slow = make()
  for (let n = 0; n < 10; n += 1) slow.record(refused, n * 40_000, n * 40_000)
  t.equal(slow.state(), 'closed', 'nor do failures that are long ago')
})

t.test('a limit of the account opens it, one of a number does not', async t => {
  const limit = { is: 'limit', code: 'day', reply: '', retryAfterMs: 1 } as const
  for (const scope of ['account', 'recipient'] as const) {
    const breaker = make()
    for (let n = 0; n < 3; n += 1) breaker.record({ ...limit, scope }, 0, 0)
    t.equal(breaker.state(), scope === 'account' ? 'open' : 'closed', scope)
  }
})

t.test('what speaks about one message leaves it closed', async t => {
  const breaker = make()
  for (let n = 0; n < 20; n += 1) breaker.record(n % 2 === 0 ? grey : stall, 0, 0)
  t.equal(breaker.state(), 'closed')
})

t.test('what this service stopped, or could not make, is no fault of the provider', async t => {
  for (const code of ['aborted', 'closed', 'expired', 'RENDER', 'no-carrier-fits']) {
    const breaker = make()
    for (let n = 0; n < 20; n += 1) breaker.record({ ...refused, code }, 0, 0)
    for (let n = 0; n < 20; n += 1) breaker.record({ ...stall, code, untouched: true } as Outcome, 0, 0)
    t.equal(breaker.state(), 'closed', code)
    for (let n = 0; n < 2; n += 1) t.equal(breaker.record(refused, 0, 0), null, 'nor a success')
    t.equal(breaker.record(refused, 0, 0), 'open', code)
  }
})

t.test(
  'half open it lets one message through: its success closes, its failure doubles the rest up to a minute',
  async t => {
    const breaker = make()
    for (let n = 0; n < 3; n += 1) breaker.record(refused, 0, 0)
    let now = 1000
    for (const rest of [2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]) {
      t.ok(allows(breaker, now))
      t.notOk(allows(breaker, now), 'one only')
      t.equal(breaker.state(), 'half-open')
      breaker.record(refused, now, now)
      now += rest
      t.equal(breaker.openUntil(), now)
    }
    t.ok(allows(breaker, now))
    breaker.record(sent, now, now)
    t.equal(breaker.state(), 'closed')
    t.ok(allows(breaker, now) && allows(breaker, now))
  },
)

t.test(
  'an ambiguous end is a failure like any other: an outage makes one message ambiguous at a time',
  async t => {
    const breaker = make()
    for (let n = 0; n < 3; n += 1) breaker.record(stall, 0, 0)
    t.equal(breaker.state(), 'open')
    t.ok(allows(breaker, 1000))
    breaker.record(stall, 1000, 1000)
    t.notOk(allows(breaker, 1000), 'a trial that ended ambiguous opens it again')
    t.notOk(allows(breaker, 2999))
    t.ok(allows(breaker, 3000), 'for twice as long')
    breaker.record(sent, 3000, 3000)
    t.equal(breaker.state(), 'closed')
  },
)

t.test('an attempt that began before it opened and ends ambiguous does not close it', async t => {
  const breaker = make()
  for (let n = 0; n < 3; n += 1) breaker.record(refused, 0, 0)
  breaker.record(stall, 500, 0)
  t.equal(breaker.state(), 'open')
  t.equal(breaker.openUntil(), 1000)
})

t.test('failures of attempts that began before it opened do not prolong the rest', async t => {
  const breaker = make()
  for (let n = 0; n < 10; n += 1) breaker.record(refused, n, 0)
  t.equal(breaker.openUntil(), 1002)
})

t.test('its rest ends at a whole millisecond, as every moment that is stored', async t => {
  const breaker = createBreaker({ threshold: 1, openMs: 1000, random: () => 0.1234567 })
  breaker.record(refused, 0, 0)
  t.ok(Number.isInteger(breaker.openUntil()))
})

t.test('a trial that hangs has failed: another one follows after a rest', async t => {
  const breaker = createBreaker({ threshold: 1, openMs: 1000, random: () => 0.5 })
  breaker.record(refused, 0, 0)
  t.ok(allows(breaker, 1000))
  t.notOk(allows(breaker, 5999))
  t.equal(breaker.state(5999), 'half-open')
  t.equal(breaker.state(6000), 'open')
  t.equal(breaker.restsUntil(6000), 8000, 'twice as long')
  t.ok(allows(breaker, 8000))
  t.notOk(allows(breaker, 8001), 'one again')
  breaker.record(stall, 8500, 1000)
  t.equal(breaker.state(8500), 'half-open', 'the end of the first says nothing any more')
  breaker.record(sent, 9000, 8000)
  t.equal(breaker.state(), 'closed')
})

t.test('an attempt from before the trial is not the trial, however late it fails', async t => {
  const breaker = make()
  for (let n = 0; n < 3; n += 1) breaker.record(refused, 0, 0)
  t.ok(allows(breaker, 1000))
  breaker.record(stall, 1100, 0)
  t.equal(breaker.state(), 'half-open', 'the trial goes on')
  t.equal(breaker.openUntil(), 1000, 'and the rest is no longer')
  breaker.record({ is: 'ambiguous', code: 'aborted', reply: '' }, 1150, 0)
  t.notOk(allows(breaker, 1160), 'nor does one that we stopped make room for a second trial')
  breaker.record(stall, 1200, 1000)
  t.equal(breaker.state(), 'open')
  t.equal(breaker.openUntil(), 3200)
})

t.test('a trial that we stopped is still to be made', async t => {
  for (const is of ['retry', 'ambiguous'] as const) {
    const breaker = make()
    for (let n = 0; n < 3; n += 1) breaker.record(refused, 0, 0)
    t.ok(allows(breaker, 1000))
    const stopped: Outcome =
      is === 'retry'
        ? { is, whose: 'later', code: 'aborted', reply: '', untouched: true }
        : { is, code: 'aborted', reply: '' }
    breaker.record(stopped, 1500, 1000)
    t.equal(breaker.openUntil(), 1000)
    t.ok(allows(breaker, 1600))
  }
})

t.test('replies that were swallowed long ago open nothing when others were answered since', async t => {
  const breaker = make()
  breaker.record(sent, 290_000, 289_900)
  for (let n = 0; n < 10; n += 1) breaker.record(stall, 351_000, 0)
  t.equal(breaker.state(), 'closed')
  for (let n = 0; n < 3; n += 1) breaker.record(stall, 351_000, 275_000)
  t.equal(breaker.state(), 'open', 'those that began shortly before the latest answer count')
})

t.test('a trial that never began, or says nothing, is still to be made', async t => {
  const breaker = make()
  for (let n = 0; n < 3; n += 1) breaker.record(refused, 0, 0)
  t.ok(allows(breaker, 1000))
  breaker.forgetAttempt(0)
  t.notOk(allows(breaker, 1010), 'an older attempt is not the trial')
  breaker.forgetAttempt(1000)
  t.ok(allows(breaker, 1010))
})

t.test('an answer ends the rests: the next outage begins with the shortest one', async t => {
  const breaker = make()
  for (let n = 0; n < 3; n += 1) breaker.record(refused, 0, 0)
  t.ok(allows(breaker, 1000))
  breaker.record(refused, 1000, 1000)
  t.equal(breaker.openUntil(), 3000, 'the second rest is twice as long')
  t.ok(allows(breaker, 3000))
  breaker.record(sent, 3000, 3000)
  for (let n = 0; n < 2; n += 1) breaker.record(refused, 5000, 5000)
  t.equal(breaker.state(), 'closed', 'and with as many failures as the first')
  breaker.record(refused, 5000, 5000)
  t.equal(breaker.openUntil(), 6000)
})

t.test('“try now” ends the rest, and those after it begin with the shortest one', async t => {
  const breaker = make()
  for (let n = 0; n < 3; n += 1) breaker.record(refused, 0, 0)
  t.ok(allows(breaker, 1000))
  breaker.record(refused, 1000, 1000)
  breaker.allowTrialNow(1500)
  t.ok(allows(breaker, 1500))
  breaker.record(refused, 1500, 1500)
  t.equal(breaker.openUntil(), 2500)
})

t.test('its rest ends sooner for what waits, but not sooner than the first one would', async t => {
  const breaker = make()
  for (let n = 0; n < 3; n += 1) breaker.record(refused, 0, 0)
  t.ok(allows(breaker, 1000))
  breaker.record(refused, 1000, 1000)
  t.equal(breaker.openUntil(), 3000)
  breaker.allowTrialBy(2500)
  t.equal(breaker.openUntil(), 2500)
  breaker.allowTrialBy(1200)
  t.equal(breaker.openUntil(), 2000)
  breaker.allowTrialBy(9000)
  t.equal(breaker.openUntil(), 2000, 'nor later')
})
