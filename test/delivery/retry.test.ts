import t from 'tap'
import { backoff, type EndedAttempt, settlementOf } from '../../src/delivery/retry.ts'

const NOW = 1_000_000
const record = { at: NOW, tookMs: 5, provider: 'smtp', outcome: 'x', code: '', reply: '' }
const tried = (more: Partial<EndedAttempt> = {}): EndedAttempt => ({
  purpose: 'code',
  attempts: 1,
  ambiguous: 0,
  expiresAt: NOW + 600_000,
  ...more,
})
const most = () => 0.999999
const half = () => 0.5

t.test(
  'codes wait up to 1, 2, 4, 8, 15, 30, 30 … s, everything else 5 s, 30 s, 2, 10, 30 min, then hourly',
  async t => {
    const bounds = (purpose: EndedAttempt['purpose']) =>
      [1, 2, 3, 4, 5, 6, 7, 20].map(n => Math.round(backoff(purpose, n, most) / 1000))
    t.same(bounds('code'), [1, 2, 4, 8, 15, 30, 30, 30])
    for (const purpose of ['link', 'file', 'alarm', 'plain'] as const) {
      t.same(bounds(purpose), [5, 30, 120, 600, 1800, 3600, 3600, 3600])
    }
  },
)

t.test('the jitter is full: from nothing to the bound', async t => {
  t.equal(
    backoff('code', 4, () => 0),
    0,
  )
  t.equal(backoff('code', 4, half), 4000)
})

t.test('sent and rejected are final, with the answer they give', async t => {
  t.same(settlementOf({ is: 'sent', reply: 'ok', providerId: 'SM1' }, tried(), NOW, half, record), {
    to: 'final',
    state: 'sent',
    answer: null,
    providerId: 'SM1',
    record,
  })
  for (const why of ['recipient', 'content', 'country'] as const) {
    t.same(settlementOf({ is: 'rejected', why, code: '550', reply: '' }, tried(), NOW, half, record), {
      to: 'final',
      state: 'refused',
      answer: why,
      record,
    })
  }
})

t.test('ambiguous is tried once more, then unknown', async t => {
  const outcome = { is: 'ambiguous', code: 'T', reply: '' } as const
  t.same(settlementOf(outcome, tried(), NOW, half, record), {
    to: 'queued',
    dueAt: NOW + 500,
    ambiguous: true,
    record,
  })
  t.same(settlementOf(outcome, tried({ ambiguous: 1, attempts: 2 }), NOW, half, record), {
    to: 'final',
    state: 'unknown',
    answer: null,
    record,
  })
  t.match(
    settlementOf(outcome, tried({ expiresAt: NOW + 400 }), NOW, half, record),
    { to: 'final', state: 'unknown' },
    'no time left: nobody will know',
  )
})

t.test('Retry-After is a floor, with jitter on top', async t => {
  const outcome = { is: 'retry', whose: 'later', code: '20429', reply: '', retryAfterMs: 20_000 } as const
  t.match(settlementOf(outcome, tried(), NOW, half, record), { to: 'queued', dueAt: NOW + 20_500 })
  t.match(
    settlementOf(outcome, tried({ purpose: 'link', attempts: 9 }), NOW, most, record),
    { dueAt: NOW + 80_000 },
    'an hour of jitter would be too much',
  )
})
