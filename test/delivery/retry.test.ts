import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
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
import { inEnglish } from '../language/english.ts'

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
  t.same(
    [6000, 2000, 1999].map(ms => pauseOf({ expiresAt: NOW + ms })),
    [3000, 1000, 'unknown'],
    'half of what is left; without that nobody will know',
  )
})

const REJECTED = { is: 'rejected', code: '550', reply: quote('no') } as const
const LIMIT = { is: 'limit', code: 'hour', reply: quote('no more'), retryAfterMs: 60_000 } as const
const LATER = { is: 'retry', whose: 'later', code: '451', reply: quote('busy') } as const
const OURS = { is: 'retry', whose: 'ours', code: '535', reply: quote('mend it') } as const
/** What carriers say, each with a name. */
const OUTCOMES: Readonly<Record<string, Outcome>> = {
  sent: { is: 'sent', reply: '', providerId: 'P1' },
  ambiguous,
  'refused recipient': { ...REJECTED, scope: 'recipient' },
  'refused country': { ...REJECTED, scope: 'country' },
  'refused words': { ...REJECTED, scope: 'message' },
  'refused template': { ...REJECTED, scope: 'template' },
  incapable: { ...REJECTED, scope: 'recipient', code: 'SMTPUTF8', incapable: true },
  'limit of recipient': { ...LIMIT, scope: 'recipient' },
  'limit of account': { ...LIMIT, scope: 'account', code: 'day', retryAfterMs: 80_000 },
  later: LATER,
  'after 20 s': { ...LATER, code: '429', retryAfterMs: 20_000 },
  down: { ...LATER, code: 'ECONNREFUSED', untouched: true },
  aborted: { ...LATER, code: 'aborted', untouched: true },
  closed: { ...LATER, code: 'closed' },
  expired: { ...LATER, code: 'expired' },
  'our login': { ...OURS, scope: 'account' },
  'our template': { ...OURS, scope: 'template', retryAfterMs: 3500 },
  'our sender': { ...OURS, scope: 'sender', code: 'sign' },
  'our country': { ...OURS, scope: 'country', code: '21408' },
  'our recipient': { ...OURS, scope: 'recipient', code: '21608' },
}
/** Messages to which it is said. */
const MESSAGES: readonly Partial<AttemptedMessage>[] = [
  {},
  { purpose: 'link', attempts: 9 },
  { attempts: 9, ambiguous: 1, canBeAsked: true },
  { expiresAt: NOW + 60_500 },
  { expiresAt: NOW + 60_501 },
  { expiresAt: NOW + 3000, overdueAt: NOW - 700 },
  { expiresAt: NOW + 1200, ambiguous: 1 },
]

/** What may come of these in pairs: nothing else follows of others. */
const PAIRED = /^(refused country|incapable|limit|later|after|down|our (login|template|recipient))/

t.test('what each outcome means for a message, and what comes of two', async t => {
  const all = Object.entries(OUTCOMES)
  const alone = all.map(([name, outcome]) => {
    const next = (['sms', 'email'] as const).filter(channel => mayAskNext(outcome, channel))
    const settled = MESSAGES.map(more => {
      const { to, ...settlement } = decideSettlement(outcome, tried(more), NOW, half)
      if ('dueAt' in settlement) settlement.dueAt -= NOW
      return `${to} ${Object.values(settlement).join(' ')}`.trim()
    })
    return `${name}: asks the next of ${next.join(', ') || 'none'}; ${settled.join(', ')}`
  })
  const pairs = all.flatMap(([a, first]) =>
    all.flatMap(([b, second]) => {
      if (!PAIRED.test(a) || !PAIRED.test(b)) return []
      return `${a}, ${b}: ${inspect(inEnglish(combineOutcomes([first, second])), { breakLength: Infinity })}`
    }),
  )
  const record = join(import.meta.dirname, '../fixtures/settlements.txt')
  t.equal([...alone, ...pairs, ''].join('\n'), readFileSync(record, 'utf8'))
})
