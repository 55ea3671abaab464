import t from 'tap'
import {
  type AttemptedMessage,
  backoff,
  combineOutcomes,
  decideSettlement,
  mayAskNext,
} from '../../src/delivery/retry.ts'
import { quote } from '../../src/language/sentence.ts'
import type { Outcome } from '../../src/providers/provider.ts'

const NOW = 1_000_000
const tried = (more: Partial<AttemptedMessage> = {}): AttemptedMessage => ({
  purpose: 'code',
  attempts: 1,
  ambiguous: 0,
  expiresAt: NOW + 600_000,
  canBeAsked: false,
  ...more,
})
const most = () => 0.999999
const half = () => 0.5

t.test(
  'codes wait up to 1, 2, 4, 8, 15, 30, 30 … s, everything else 5 s, 30 s, 2, 10, 30 min, then hourly',
  async t => {
    const bounds = (purpose: AttemptedMessage['purpose']) =>
      [1, 2, 3, 4, 5, 6, 7, 20].map(n => Math.round(backoff(purpose, n, most) / 1000))
    t.same(bounds('code'), [1, 2, 4, 8, 15, 30, 30, 30])
    for (const purpose of ['link', 'file', 'alarm', 'plain'] as const) {
      t.same(bounds(purpose), [5, 30, 120, 600, 1800, 3600, 3600, 3600])
    }
  },
)

t.test(
  'what waits for a carrier that is down comes back within 2 s, a code, or 5 s, however often it was tried',
  async t => {
    const down = { is: 'retry', whose: 'later', code: 'ECONNREFUSED', reply: '', untouched: true } as const
    for (const [purpose, ms] of [
      ['code', 2000],
      ['link', 5000],
    ] as const)
      t.match(decideSettlement(down, tried({ purpose, attempts: 9 }), NOW, most), { dueAt: NOW + ms })
  },
)

t.test('rejected is final, with the answer that it gives', async t => {
  for (const [scope, why] of [
    ['recipient', 'recipient'],
    ['message', 'content'],
    ['template', 'content'],
    ['country', 'country'],
  ] as const) {
    t.same(decideSettlement({ is: 'rejected', scope, code: '550', reply: '' }, tried(), NOW, half), {
      to: 'final',
      state: 'refused',
      answer: why,
    })
  }
})

const ambiguous = { is: 'ambiguous', code: 'T', reply: '' } as const
const none = () => 0
const pauseOf = (more: Partial<AttemptedMessage>, random = none) => {
  const settlement = decideSettlement(ambiguous, tried({ expiresAt: NOW + 7_200_000, ...more }), NOW, random)
  return settlement.to === 'queued' ? settlement.dueAt - NOW : settlement.state
}

t.test(
  'an ambiguous message goes out again after a pause that outlasts a hiccup, and is counted',
  async t => {
    t.same(
      [0, 1, 2].map(copies => pauseOf({ ambiguous: copies })),
      [5000, 20_000, 60_000],
      'a code',
    )
    t.same(
      [0, 1, 2].map(copies => pauseOf({ purpose: 'alarm', ambiguous: copies })),
      [60_000, 600_000, 1_800_000],
      'everything else',
    )
    t.equal(pauseOf({}, most), 6000, 'a fifth of jitter at most, on top')
  },
)

t.test('the pause leaves time for another copy; without time it is unknown', async t => {
  t.equal(pauseOf({ expiresAt: NOW + 6000 }), 3000, 'half of what is left')
  t.equal(pauseOf({ expiresAt: NOW + 1999 }), 'unknown', 'no time left: nobody will know')
})

t.test('Retry-After is a floor, with jitter on top', async t => {
  const outcome = { is: 'retry', whose: 'later', code: '20429', reply: '', retryAfterMs: 20_000 } as const
  t.match(decideSettlement(outcome, tried(), NOW, half), { to: 'queued', dueAt: NOW + 20_500 })
  t.match(
    decideSettlement(outcome, tried({ purpose: 'link', attempts: 9 }), NOW, most),
    { dueAt: NOW + 80_000 },
    'an hour of jitter would be too much',
  )
})

t.test(
  'a limit of the number waits for its end, or refuses what it would outlive; one of the account waits',
  async t => {
    const limit = (scope: 'recipient' | 'account', retryAfterMs: number): Outcome => ({
      is: 'limit',
      scope,
      code: 'minute',
      reply: quote('no more'),
      retryAfterMs,
    })
    const after = (outcome: Outcome, more: Partial<AttemptedMessage> = {}) =>
      decideSettlement(outcome, tried({ attempts: 1, ...more }), NOW, half)
    t.match(after(limit('recipient', 60_000)), { to: 'queued', dueAt: NOW + 60_500, ambiguous: 0 })
    t.same(after(limit('recipient', 3_600_000)), { to: 'final', state: 'refused', answer: 'limit' })
    t.match(after(limit('account', 3_600_000)), { to: 'queued', dueAt: NOW + 3_600_500 }, 'ours to mend')
    t.match(
      after(limit('recipient', 3_600_000), { ambiguous: 1 }),
      { to: 'queued', ambiguous: 1 },
      'not refused: it may be there',
    )
  },
)

t.test('the next carrier is asked when this one surely did not send it, and another may', async t => {
  const refused = { is: 'rejected', code: '1', reply: '' } as const
  const later = { is: 'retry', whose: 'later', code: 'ECONNREFUSED', reply: '' } as const
  const limit = { is: 'limit', scope: 'recipient', code: '1', reply: '', retryAfterMs: 1 } as const
  const asksNext = [
    { ...refused, scope: 'country' },
    { ...refused, scope: 'template' },
    later,
    limit,
  ] as const
  for (const outcome of asksNext) t.ok(mayAskNext(outcome, 'sms'), JSON.stringify(outcome))
  const stopped = ['expired', 'aborted', 'closed'].map(code => ({ ...later, code }))
  const isEnd = [
    { ...refused, scope: 'recipient' },
    { is: 'sent', reply: '' },
    ambiguous,
    ...stopped,
  ] as const
  for (const outcome of isEnd) t.notOk(mayAskNext(outcome, 'sms'), JSON.stringify(outcome))
  t.ok(mayAskNext(later, 'email'))
  for (const scope of ['recipient', 'message', 'template'] as const) {
    t.notOk(
      mayAskNext({ ...refused, scope }, 'email'),
      'what a mail server refuses for good the fallback is not asked',
    )
    for (const channel of ['email', 'sms'] as const)
      t.ok(mayAskNext({ ...refused, scope, incapable: true }, channel), 'but what it lacks')
  }
  const ours = { is: 'retry', whose: 'ours', code: '535', reply: '' } as const
  t.match(combineOutcomes([ours, later]), { is: 'retry', whose: 'ours', code: '535' }, 'it is told')
  const ofOne = { ...ours, scope: 'recipient', code: '21608' } as const
  const busy = { is: 'retry', whose: 'later', code: '503', reply: '' } as const
  for (const outcomes of [
    [ofOne, busy],
    [busy, ofOne],
  ])
    t.match(combineOutcomes(outcomes), { whose: 'ours', code: '21608' }, 'nor is what may be ours hidden')
  t.match(combineOutcomes([ofOne, ours]), { code: '535' })
  const down = combineOutcomes([ofOne, { ...busy, untouched: true }])
  t.match(
    decideSettlement(down, tried({ attempts: 9 }), NOW, most),
    { dueAt: NOW + 2000 },
    'as for what is down',
  )
  t.match(
    combineOutcomes([later, asksNext[0]]),
    { is: 'retry', code: 'ECONNREFUSED' },
    'one may take it later',
  )
  t.match(combineOutcomes([limit, { ...limit, code: '2', retryAfterMs: 5 }]), { ...limit, retryAfterMs: 1 })
  const untouched = { ...later, untouched: true } as const
  t.match(combineOutcomes([untouched, untouched]), { untouched: true })
  t.notOk('untouched' in combineOutcomes([untouched, later]), 'a carrier that was reached is no outage')
})
