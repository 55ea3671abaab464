import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { describeReply, formatDuration } from '../../src/admin/console/html.ts'
import { explainAbsence, explainMessage } from '../../src/admin/explain.ts'
import type { ProviderView } from '../../src/admin/status/status.ts'
import type { PartialFault } from '../../src/events/events.ts'
import { packWords, quote, say } from '../../src/language/sentence.ts'
import type { MessageView, ReportFault } from '../../src/outbox/outbox.ts'
import { idleCarrier, sentMessage } from '../rigs/view.ts'

const MINUTE = 60_000
const NOW = Date.parse('2026-11-21T02:04:00Z')
const row: MessageView = {
  ...sentMessage,
  arrivedAt: NOW - MINUTE,
  expiresAt: NOW + 9 * MINUTE,
  finalAt: NOW - MINUTE + 200,
  providerId: 'SM1',
  timeline: ['tencent', 'twilio'].map(provider => {
    return { at: NOW - MINUTE, tookMs: 200, provider, outcome: 'sent', code: '201', reply: 'queued' }
  }),
}
const works: ProviderView = {
  ...idleCarrier,
  isSecond: false,
  destinations: [],
  up: null,
  since: null,
  lastSentAt: null,
  lastError: null,
}
const tried = { at: NOW, tookMs: 5, provider: 'twilio', outcome: 'retry', code: '1', reply: '' }
const greylisted = { code: '451', reply: '451 4.7.1 Greylisting in action' }
const last = (more: object): Partial<MessageView> => ({
  timeline: [
    { ...tried, ...greylisted, provider: 'tencent' },
    { ...tried, ...more },
  ],
})
const waits = { state: 'queued', finalAt: null, timeline: [] } as const
const due = { ...waits, dueAt: NOW - 30_000 } as const
const rests = { ...works, breaker: 'open', breakerUntil: NOW + 34_000 } as const
const met: ProviderView = {
  ...rests,
  lastError: { at: NOW, code: '451', reply: quote(greylisted.reply), whose: 'later' },
}
const refuses = (scope: PartialFault['scope'], more: object = {}): ProviderView => ({
  ...works,
  partialFaults: [
    {
      scope,
      name: '',
      kind: 'login-code',
      since: NOW,
      until: null,
      code: '63038',
      reply: quote('no'),
      ...more,
    },
  ],
})
const report = (
  status: string,
  errorCode: string | null = null,
  fault?: readonly [ReportFault['verdict'], ReportFault['scope'], reason?: null],
): Partial<MessageView> => ({
  receipt: {
    status,
    errorCode,
    at: NOW,
    ...(fault && { fault: { verdict: fault[0], scope: fault[1], reason: fault[2] === null ? null : 'why' } }),
  },
})
const bounce = (verdict: ReportFault['verdict']) =>
  ({ ...report('failed', '5.1.1', [verdict, 'recipient']), channel: 'email' }) as const

const MAIL = {
  ...due,
  dueAt: NOW,
  attempts: 0,
  channel: 'email',
  maskedRecipient: 'a***@example.com',
} as const
const busyWith = (place: string, more: object = {}): ProviderView => ({
  ...works,
  channel: place.startsWith('+') ? 'sms' : 'email',
  destinations: [
    { place: null, inFlight: 9, waiting: 9, oldestAt: null, restsUntil: null, why: null },
    { place, inFlight: 3, waiting: 8, oldestAt: NOW, restsUntil: null, why: null, ...more },
  ],
})

/** Messages, and the providers beside them: one that works unless given. */
const CASES: Readonly<Record<string, readonly [Partial<MessageView>, ...ProviderView[]]>> = {
  'being sent': [{ state: 'sending' }],
  unknown: [{ state: 'unknown' }],
  held: [{ state: 'held' }],
  'superseded, before it left': [{ state: 'superseded' }],
  'superseded, after an attempt that may have arrived': [{ state: 'superseded', ambiguous: 1 }],
  'cancelled by an operator': [{ state: 'superseded', ...last({ outcome: 'cancelled' }) }],
  'expired, never tried': [{ state: 'expired', timeline: [] }],
  'expired, tried': [{ state: 'expired', ...last({ code: '535', reply: '535 no' }) }],
  'refused: recipient': [{ state: 'refused', answer: 'recipient' }],
  'refused: content': [{ state: 'refused', answer: 'content' }],
  'refused: country': [{ state: 'refused', answer: 'country' }],
  'refused: limit': [{ state: 'refused', answer: 'limit' }],
  'refused, without an answer': [{ state: 'refused' }],
  'refused: a number on a blacklist': [
    {
      state: 'refused',
      answer: 'recipient',
      ...last({ code: 'isv.BLACK_KEY_CONTROL_LIMIT', reply: '黑名单管控' }),
    },
  ],
  'waiting: grey-listed': [{ state: 'queued', attempts: 1, ...last(greylisted) }],
  'reported: a number on a blacklist': [report('undelivered', 'MOBILE_IN_BLACK', ['recipient', 'recipient'])],
  'unreadable at last': [{ state: 'refused', ...last({ code: 'UNREADABLE' }) }],
  'sent: an SMS without a report': [{}],
  'sent, nobody knows when': [{ finalAt: null }],
  'sent, nobody knows by whom, and under which id': [{ providerId: null, ...last({}) }],
  'sent: a mail with a queue id': [{ channel: 'email', providerId: '4F2C1A0B9D' }],
  'sent: a mail without one': [{ channel: 'email', providerId: null }],
  'reported delivered': [report('delivered')],
  'reported read': [report('read')],
  'reported complained': [report('complained')],
  'reported on its way': [report('sent')],
  'reported ambiguous': [report('undelivered', '1', ['ambiguous', 'recipient'])],
  'reported failed': [report('failed')],
  'reported undelivered': [report('undelivered')],
  'reported undelivered, with a code of no table': [report('undelivered', '30003')],
  'reported, without a reason': [report('failed', '1', ['later', 'recipient', null])],
  'reported: ours, the sender': [report('failed', '30034', ['ours', 'sender'])],
  'reported: ours, the template': [report('failed', '1', ['ours', 'template'])],
  'reported: ours, the account': [report('failed', '1', ['ours', 'account'])],
  'reported: ours, the country': [report('failed', '1', ['ours', 'country'])],
  'reported: ours, the message': [report('failed', '1', ['ours', 'message'])],
  'reported: the account’s limit': [report('failed', '1', ['limit', 'account'])],
  'reported: the number’s limit': [report('failed', '1', ['limit', 'recipient'])],
  'reported: the recipient': [report('failed', '1', ['recipient', 'recipient'])],
  'reported: the content': [report('failed', '1', ['content', 'message'])],
  'reported: the country': [report('failed', '1', ['country', 'country'])],
  'reported: later': [report('failed', '1', ['later', 'recipient'])],
  'a mail came back for its recipient': [bounce('recipient')],
  'a mail came back for its content': [bounce('content')],
  'a mail came back: the mailbox is full': [bounce('limit')],
  'a mail came back: its server did not answer': [bounce('later')],
  'a report with words of the other side': [
    {
      receipt: {
        ...report('undelivered', 'MK:0001', ['limit', 'recipient']).receipt,
        reply: '手机关机',
      } as never,
    },
  ],
  'expired, and no carrier fitted': [
    {
      state: 'expired',
      ...last({
        provider: 'aliyun',
        outcome: 'skipped',
        code: 'no-carrier-fits',
        reply: 'no template for it',
      }),
    },
  ],
  'expired, and has no words': [{ state: 'expired', ...last({ code: 'RENDER', reply: 'no word for it' }) }],
  'waits for its first attempt': [{ ...waits, attempts: 0, dueAt: NOW }],
  'waits for its time': [
    { ...waits, ...last({ provider: 'smtp', code: '535', reply: '535 5.7.8 no' }), dueAt: NOW + 5000 },
  ],
  'is due': [due],
  'is due, all carriers rest': [due, rests],
  'was never tried, all carriers rest': [{ ...due, attempts: 0 }, rests],
  'was never tried, and another message was grey-listed': [{ ...due, attempts: 0 }, met],
  'was tried, and another message was grey-listed': [{ ...due, ...last({}) }, met],
  'is due before the rest ends': [{ ...due, dueAt: NOW + 5000 }, rests],
  'is due after the rest ends': [{ ...due, dueAt: NOW + 50_000 }, rests],
  'is due, the carrier is tried': [due, { ...rests, breaker: 'half-open', breakerUntil: NOW }],
  'is due, the carrier asked for a pause': [
    due,
    {
      ...works,
      limitReason: 'paused',
      limitWhy: say('the provider asked for a pause; it ends in {n} s', { n: 9 }),
    },
  ],
  'is due, one of two carriers rests': [due, rests, { ...works, provider: 'aliyun' }],
  'is due, two carriers rest': [due, rests, { ...rests, provider: 'aliyun', breakerUntil: NOW + 3000 }],
  'is due, the other channel’s carrier rests': [due, { ...rests, channel: 'email' }],
  'its template is refused': [due, refuses('template')],
  'its template is refused by reports': [due, refuses('template', { recipients: 3 })],
  'another kind’s template is refused, and one of the other channel': [
    due,
    refuses('template', { kind: 'phone-update' }),
    { ...refuses('template'), channel: 'email' },
  ],
  'the sender is refused, as it was': [{ ...due, ...last({ code: '63038' }) }, refuses('sender')],
  'the sender is refused, but it was not': [{ ...due, ...last({}) }, refuses('sender')],
  'the sender is refused, but another carrier said so': [
    { ...due, ...last({ code: 'part-refused', provider: 'aliyun' }) },
    refuses('sender'),
  ],
  'the country is refused, so that the carrier was not asked': [
    {
      ...due,
      ...last({
        code: 'part-refused',
        reply: 'left alone for a while: it refuses the country of this message',
      }),
    },
    refuses('country', { name: 'US' }),
  ],
  'mail to its domain is slow': [MAIL, busyWith('example.com')],
  'SMS to its country are slow': [{ ...due, attempts: 0 }, busyWith('+86')],
  'mail to another domain is slow': [MAIL, busyWith('example.org')],
  'one is under way to its domain, and one waits': [
    MAIL,
    { ...busyWith('example.com'), channel: 'sms' },
    busyWith('example.com', { inFlight: 0 }),
    busyWith('example.com', { waiting: 0 }),
    busyWith('example.com', { inFlight: 1, waiting: 1 }),
  ],
  'is not due, and its domain is slow': [{ ...MAIL, dueAt: NOW + 1 }, busyWith('example.com')],
  'its domain has rested': [MAIL, busyWith('example.com', { restsUntil: NOW, why: 'why' })],
  'its domain rests': [MAIL, busyWith('example.com', { restsUntil: NOW + 8000, why: 'why' })],
}

t.test('each message is explained: what became of it, and the next step', async t => {
  const lines = Object.entries(CASES).flatMap(([name, [more, ...providers]]) => {
    const { what, next } = explainMessage(
      { ...row, ...more },
      providers.length === 0 ? [works] : providers,
      NOW,
    )
    return [name, `  ${String(what)}`, `  → ${String(next)}`]
  })
  const expected = readFileSync(join(import.meta.dirname, '../fixtures/explained.txt'), 'utf8')
  t.same(lines, expected.trimEnd().split('\n'))
})

t.test('a reply has its code once; a length of time is in its two largest units', async t => {
  const reply = (code: string, text: string) => String(describeReply({ code, reply: quote(text) }))
  t.equal(reply('535', '535 5.7.8 no'), '535 5.7.8 no')
  t.equal(reply('450', 'try after 450 s'), '450 try after 450 s')
  t.equal(reply('dropped', ''), 'dropped')
  t.equal(reply('timeout', 'said nothing'), 'timeout: said nothing')
  t.same(
    [0, 999, 1000, 59_900, 60_000, 3_599_000, 3_600_000, 172_799_000, 172_800_000].map(ms =>
      String(formatDuration(ms)),
    ),
    ['0 ms', '999 ms', '1.0 s', '59.9 s', '1 min 0 s', '59 min 59 s', '1 h 0 min', '47 h 59 min', '2 days'],
  )
})

t.test(
  'in Chinese nothing is English but names and the words of others, and no space parts two words',
  async t => {
    const inChinese = (more: Partial<MessageView>) =>
      explainMessage({ ...row, ...more }, [works], NOW).what.in('zh-CN')
    t.equal(
      inChinese({
        ...waits,
        ...last({ provider: 'smtp', code: '535', reply: packWords('the answer took too long') }),
        dueAt: NOW + 5000,
      }),
      '还没有被接收，下次重试：5.0 秒后，最晚到 2026-11-21 02:13:00 UTC。smtp 最近的应答：535 应答太慢',
    )
    t.equal(
      inChinese(report('undelivered', '30003')),
      'twilio 于 2026-11-21 02:03:00 UTC 接收，距消息到达 200 毫秒。没有送达：30003。',
    )
  },
)

t.test('where there is no message, the platform’s own calls are what is known', async t => {
  const refusals = { count: 3, last: { at: NOW - 1000, reason: quote('signature invalid') } }
  t.same(
    explainAbsence({
      newestAt: NOW,
      refusals,
      heldBack: [{ quota: 'sms-day', to: '', count: 2, lastAt: NOW - 2000 }],
      validation: { at: NOW - 3000, ok: false, reason: quote('key') },
    }).map(String),
    [
      'The newest message to anybody came at 2026-11-21 02:04:00 UTC.',
      'Callers refused since the start: 3, the last at 2026-11-21 02:03:59 UTC: signature invalid.',
      'Held back by the quota sms-day since the start: 2, the last at 2026-11-21 02:03:58 UTC.',
      'The last validation of the URL failed at 2026-11-21 02:03:57 UTC: key.',
    ],
  )
  t.same(
    explainAbsence({
      newestAt: null,
      refusals: { count: 0, last: null },
      heldBack: [],
      validation: { at: NOW, ok: true, reason: '' },
    }).map(String),
    ['No message of anybody is stored, or none came lately.', 'No caller was refused since the start.'],
  )
})
