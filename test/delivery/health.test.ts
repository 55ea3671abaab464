import t from 'tap'
import { createHealth } from '../../src/delivery/health.ts'
import { quote } from '../../src/language/sentence.ts'
import type { Outcome, ScopeNames } from '../../src/providers/provider.ts'

const REFUSED: Outcome = { is: 'retry', whose: 'later', code: 'ECONNREFUSED', reply: '', untouched: true }
const LOGIN: Outcome = { is: 'retry', whose: 'ours', scope: 'account', code: '535', reply: '' }
const SENT: Outcome = { is: 'sent', reply: '' }
const STALL: Outcome = { is: 'ambiguous', code: 'T', reply: '' }
const CHINA = { country: '+86' }
const AMERICA = { country: '+1' }

/** A health: it rests for two seconds first, after five failures in a row. */
function open(random = () => 0.5) {
  const health = createHealth(random)
  let nth = 0
  /** An attempt that has begun. */
  function begin(startedAt: number, names: ScopeNames = {}) {
    const place = names.country ?? ''
    const attempt = {
      kind: 'login-code',
      place,
      names: () => names,
      startedAt,
      nth: (nth += 1),
    }
    health.begin(attempt, startedAt)
    return {
      end: (outcome: Outcome, now: number) => health.record(outcome, attempt, now),
      forget: () => health.forgetTrial(attempt),
    }
  }
  return {
    health,
    begin,
    /** An attempt that ends at once. */
    attempt: (outcome: Outcome, now = 0, names: ScopeNames = {}) =>
      begin(now, names).end(outcome, now).circuit,
    /** Says whether an attempt may begin. */
    allows: (now: number) => health.restsUntil(now) === null,
    restsFor: (names: ScopeNames, now: number) => health.findFault(() => names, now)?.until ?? null,
  }
}

t.test('it rests when so many failed in a row, or nine of the latest ten', async t => {
  for (const failure of [REFUSED, LOGIN, STALL]) {
    const { attempt, allows, health } = open()
    for (const outcome of [failure, failure, SENT, failure, failure, failure, failure])
      t.equal(attempt(outcome), null)
    t.ok(allows(0))
    t.equal(attempt(failure), 'open')
    t.notOk(allows(1999))
    t.equal(health.openUntil(), 2000)
    t.match(health.records(), [{ scope: 'carrier', rests: 1, until: 2000, triedBy: null }])
  }
  const { begin } = open()
  const outcomes = [STALL, STALL, STALL, STALL, SENT, STALL, STALL, STALL, STALL, STALL]
  const begun = outcomes.map(() => begin(0)).toReversed()
  const circuits = outcomes.map((outcome, n) => begun[n]?.end(outcome, 0).circuit)
  t.same(circuits, [null, null, null, null, null, null, null, null, null, 'open'])
})

t.test(
  'a limit of the account or a sender lasts as long as it was named, one of a number is of its message',
  async t => {
    for (const [scope, ...untils] of [
      ['account', 3_600_000, null],
      ['sender', null, 3_600_000],
      ['recipient', null, null],
    ] as const) {
      const { attempt, health, restsFor } = open()
      for (let n = 0; n < 5; n += 1)
        attempt({ is: 'limit', code: 'day', reply: '', scope, retryAfterMs: 3_600_000 })
      t.same([health.openUntil(), restsFor({}, 0)], untils, scope)
    }
  },
)

t.test('what this service stopped, or a look-up does not find, is neither failure nor answer', async t => {
  for (const code of ['aborted', 'closed', 'expired', 'RENDER', 'no-carrier-fits', 'not-known-yet']) {
    const { attempt, health } = open()
    for (let n = 0; n < 20; n += 1) attempt({ ...REFUSED, code })
    t.equal(health.state(), 'closed', code)
    for (let n = 0; n < 4; n += 1) attempt(REFUSED)
    attempt({ is: 'retry', whose: 'later', code, reply: '' })
    t.equal(attempt(REFUSED), 'open', code)
    const trial = open()
    for (let n = 0; n < 5; n += 1) trial.attempt(REFUSED)
    trial.attempt({ is: 'retry', whose: 'later', code, reply: '' }, 2000)
    t.equal(trial.health.state(), 'open', 'nor does it end a rest')
    t.ok(trial.allows(2000), 'and it is still to be tried')
  }
})

for (const [what, failure, rests] of [
  ['does not answer: rests double to 10 s at most', STALL, [4000, 8000, 8000]],
  ['has to be mended: to a minute', LOGIN, [4000, 8000, 16_000, 32_000, 48_000, 48_000]],
] as const)
  t.test(`one message tries what ${what}`, async t => {
    const { begin, attempt, allows, health } = open()
    for (let n = 0; n < 5; n += 1) attempt(failure)
    let now = 2000
    for (const rest of rests) {
      t.ok(allows(now))
      const trial = begin(now)
      t.equal(health.restsUntil(now), now + 1000, 'one only')
      t.equal(health.state(), 'half-open')
      t.equal(trial.end(failure, now).circuit, null)
      now += rest
      t.equal(health.openUntil(), now)
    }
    t.equal(attempt(SENT, now), 'closed')
    t.ok(allows(now))
    for (let n = 0; n < 5; n += 1) attempt(failure, now)
    t.equal(health.openUntil(), now + 2000, 'the next one begins with the shortest rest')
  })

t.test('no rest is longer than 10 s, nor than a minute, whatever chance says', async t => {
  for (const [failure, most] of [
    [STALL, 10_000],
    [LOGIN, 60_000],
  ] as const) {
    const { attempt, health } = open(() => 0.999_999)
    let now = 0
    for (let n = 0; n < 30; n += 1) {
      now = Math.max(now, health.openUntil() ?? 0)
      attempt(failure, now)
    }
    t.equal((health.openUntil() ?? 0) - now, most)
  }
})

t.test('what began before a rest neither prolongs it nor begins another one', async t => {
  const { begin, attempt, health } = open()
  const old = [1, 2, 3, 4, 5, 6, 7, 8].map(() => begin(0))
  for (let n = 0; n < 5; n += 1) attempt(STALL, 10)
  old[0]?.end({ ...STALL, code: 'late' }, 20)
  const since = { kind: 'login-code', since: 10, until: 2010 }
  t.same(health.fault(), { scope: 'carrier', name: '', ...since, code: 'T', reply: '' })
  const trial = begin(2010)
  old[1]?.end(STALL, 2020)
  t.equal(health.state(), 'half-open', 'the trial goes on')
  trial.end(SENT, 2030)
  for (const each of old.slice(2)) t.equal(each.end(STALL, 30_000).circuit, null)
})

t.test('those that began last decide, whenever they end', async t => {
  const { begin, attempt, health } = open()
  const swallowed = Array.from({ length: 10 }, () => begin(0))
  for (let n = 0; n < 2; n += 1) attempt(SENT, 100)
  for (const each of swallowed) t.equal(each.end(STALL, 2000).circuit, null, 'others were answered since')
  for (let n = 0; n < 4; n += 1) attempt(STALL, 2000)
  t.equal(health.state(), 'closed')
  t.equal(attempt(STALL, 2000), 'open')
  const other = open()
  const slow = other.begin(0, AMERICA)
  const hanging = Array.from({ length: 9 }, (_, n) => other.begin(0, { country: `${n % 3}` }))
  other.attempt(SENT, 100, AMERICA)
  slow.end(SENT, 200)
  t.same(new Set(hanging.map(each => each.end(STALL, 2000).circuit)), new Set([null]), 'they are of places')
})

t.test('a late answer takes back that it was overdue', async t => {
  const { begin, attempt } = open()
  const slow = begin(0)
  slow.end(STALL, 2000)
  for (let n = 0; n < 3; n += 1) attempt(STALL, 2000)
  slow.end(SENT, 2500)
  t.equal(attempt(STALL, 3000), null, 'four of the five failed')
  const late = begin(3000)
  t.equal(late.end(STALL, 5000).circuit, 'open')
  t.equal(late.end(SENT, 5500).circuit, 'closed')
})

t.test('a trial that we stopped, or that never began, is still to be made', async t => {
  const { begin, attempt, allows } = open()
  const before = begin(0)
  for (let n = 0; n < 5; n += 1) attempt(REFUSED)
  const trial = begin(2000)
  before.forget()
  t.notOk(allows(2010), 'an older attempt is not the trial')
  trial.forget()
  t.ok(allows(2010))
  begin(2020).end({ is: 'ambiguous', code: 'aborted', reply: '' }, 2500)
  t.ok(allows(2500))
})

t.test('“try now” ends the rest, and those after it begin with the shortest one', async t => {
  const { attempt, allows, health } = open()
  for (let n = 0; n < 5; n += 1) attempt(REFUSED)
  attempt(REFUSED, 2000)
  health.allowTrialNow(2500)
  t.ok(allows(2500))
  t.equal(attempt(REFUSED, 2500), null, 'it never was well')
  t.equal(health.openUntil(), 4500)
  health.allowTrialNow(2600)
  t.equal(attempt(SENT, 2600), 'closed')
  t.same([1, 2, 3, 4, 5].map(() => attempt(REFUSED, 2700)).at(-1), 'open', 'what fails after it counts')
})

t.test(
  'a value that does not fit a template is told at once, until one of its kind is sent; nothing waits',
  async t => {
    const health = createHealth(() => 0.5)
    const said = { scope: 'template', code: 'isv.TEMPLATE_PARAMS_ILLEGAL', reply: quote('no') } as const
    const misfit: Outcome = { is: 'rejected', ...said }
    const names = () => ({ template: 'SMS_1' })
    const judge = (outcome: Outcome, kind: string) => {
      const attempt = { kind, names, place: '', startedAt: 0, nth: 1 }
      return health.record(outcome, attempt, 7).faults
    }
    const fault = { ...said, name: 'SMS_1', kind: 'login-code', since: 7, until: null }
    t.same(judge(misfit, 'login-code'), [{ is: 'begun', fault }])
    t.same(judge(misfit, 'login-code'), [])
    t.same(health.faults(), [fault])
    t.equal(health.findFault(names, 8), null)
    t.same(judge(SENT, 'forgotten-password'), [])
    t.same(judge(SENT, 'login-code'), [{ is: 'over', fault }])
    t.same(health.faults(), [])
  },
)

t.test('domains are remembered up to a thousand, and a resting one of them is told to nobody', async t => {
  const health = createHealth(() => 0.5)
  const closed: Outcome = { is: 'retry', whose: 'ours', scope: 'country', code: '21408', reply: '' }
  health.record(closed, { kind: '', names: () => CHINA, place: '+86', startedAt: 0, nth: 0 }, 0)
  for (let n = 0; n < 5000; n += 1) {
    const place = `${n >> 1}.test`
    const names = () => ({ domain: place })
    health.record(STALL, { kind: '', names, place, startedAt: 0, nth: 2 * n }, 0)
    health.record(SENT, { kind: '', names: () => ({}), place: 'one', startedAt: 0, nth: 2 * n + 1 }, 0)
  }
  t.equal(health.records().length, 1001)
  t.match(health.faults(), [{ scope: 'country', name: '+86' }], 'a country is not forgotten for them')
  t.equal(health.state(), 'closed')
  const dead = {
    kind: '',

    names: () => ({ domain: 'dead.test' }),
    place: 'dead.test',
    startedAt: 0,
  }
  for (let nth = 20_000; nth < 20_005; nth += 1) health.record(STALL, { ...dead, nth }, 0)
  t.match(health.findFault(dead.names, 0), { scope: 'domain', until: 2000 })
  t.same([health.state(), health.faults().length], ['closed', 1], 'others were answered')
  for (const [at, circuit] of [
    [59_999, 'closed'],
    [60_000, 'open'],
  ] as const) {
    for (let nth = 30_000; nth < 30_005; nth += 1) {
      const place = `new${nth}`
      health.record(
        STALL,
        { kind: '', names: () => ({ domain: place }), place, isStrange: true, startedAt: at, nth },
        at,
      )
    }
    t.equal(health.state(), circuit, 'what is new says nothing of the carrier for a minute')
  }
})
