import t from 'tap'
import { describeReply, formatDuration } from '../../src/admin/console/html.ts'
import { explainAbsence, explainMessage } from '../../src/admin/explain.ts'
import type { ProviderView } from '../../src/admin/status/status.ts'
import { PART_REFUSED } from '../../src/delivery/carrier.ts'
import type { PartialFault } from '../../src/delivery/circuits.ts'
import { FAULT_SCOPES } from '../../src/messages/message.ts'
import { FAULT_VERDICTS, type MessageView, type ReportFault } from '../../src/outbox/outbox.ts'

const STATES = ['queued', 'sending', 'sent', 'refused', 'expired', 'superseded', 'unknown'] as const
const MINUTE = 60_000
const NOW = Date.parse('2026-11-21T02:04:00Z')
const row: MessageView = {
  id: 'a'.repeat(32),
  channel: 'sms',
  kind: 'login-code',
  purpose: 'code',
  maskedRecipient: '+86*******8000',
  state: 'sent',
  answer: null,
  attempts: 1,
  ambiguous: 0,
  arrivedAt: NOW - MINUTE,
  expiresAt: NOW + 9 * MINUTE,
  dueAt: null,
  finalAt: NOW - MINUTE + 200,
  providerId: 'SM1',
  receipt: null,
  timeline: [
    { at: NOW - MINUTE, tookMs: 200, provider: 'twilio', outcome: 'sent', code: '201', reply: 'queued' },
  ],
}
const works: ProviderView = {
  inFlight: 0,
  waiting: 0,
  awaitingReply: 0,
  limit: 1,
  isSecond: false,
  up: null,
  since: null,
  lastSentAt: null,
  channel: 'sms',
  provider: 'twilio',
  breaker: 'closed',
  breakerUntil: null,
  limitReason: 'start',
  limitWhy: '',
  lastError: null,
  partialFaults: [],
}
const explain = (more: Partial<MessageView>, providers: readonly ProviderView[] = [works]) =>
  explainMessage({ ...row, ...more }, providers, NOW)
const what = (more: Partial<MessageView>, providers?: readonly ProviderView[]) =>
  String(explain(more, providers).what)
const next = (more: Partial<MessageView>) => String(explain(more).next)
const failed = (reply: string): MessageView['timeline'] => [
  { at: NOW, tookMs: 5, provider: 'smtp', outcome: 'retry', code: '535', reply },
]

t.test('every state has an answer, and something to do', t => {
  const answers = STATES.map(state => what({ state }))
  t.equal(new Set(answers).size, 7, answers.join('\n'))
  for (const state of STATES) t.ok(next({ state }).length > 20, state)
  for (const answer of ['recipient', 'content', 'country', 'limit'] as const)
    t.match(what({ state: 'refused', answer }), 'the platform was told')
  t.end()
})

t.test('what a provider refuses is a reason to wait, and what its reports say is none', t => {
  const { kind } = row
  const fault = { scope: 'template', name: 'SMS_1', kind, since: NOW, until: null, code: '1', reply: 'no' }
  const said = (more: object) =>
    what({ state: 'queued', attempts: 1, dueAt: NOW + 1000 }, [
      { ...works, partialFaults: [{ ...fault, ...more } as PartialFault] },
    ])
  t.match(said({}), 'twilio refuses the template')
  t.notMatch(said({ recipients: 3 }), /template|did not arrive/)
  t.end()
})

t.test(
  'a partial fault is the reason only of what it holds up: by kind, or by the last line of its timeline',
  t => {
    const since = NOW - MINUTE
    const fault = {
      name: '',
      kind: 'registration-code',
      since,
      until: null,
      code: '63038',
      reply: 'no',
    } as const
    const said = (scope: PartialFault['scope'], last: object, more: object = {}) =>
      what(
        {
          state: 'queued',
          finalAt: null,
          timeline: [
            { at: NOW, tookMs: 1, outcome: 'retry', provider: 'twilio', code: '1', reply: '', ...last },
          ],
        },
        [{ ...works, partialFaults: [{ ...fault, scope }], ...more }],
      )
    t.notMatch(said('template', {}), 'refuses the template', 'another kind’s')
    t.match(said('sender', { code: '63038' }), 'twilio refuses the sender of all messages since')
    t.notMatch(said('sender', {}), 'refuses the sender')
    t.notMatch(
      said('sender', { code: '63038', provider: 'aliyun' }),
      'refuses the sender',
      'of another carrier',
    )
    t.notMatch(said('sender', { code: '63038' }, { channel: 'email' }), 'refuses the sender')
    t.match(
      said('country', { reply: PART_REFUSED.country }),
      'twilio refuses the country',
      'it was not asked',
    )
    t.notMatch(said('sender', { reply: PART_REFUSED.country }), 'refuses the sender')
    t.end()
  },
)

t.test('what to do next hangs on what is known', t => {
  t.match(next({ state: 'expired', timeline: [] }), 'say whether its provider fails')
  t.match(next({ state: 'expired', timeline: failed('535 no') }), 'What the reply names may need repair')
  const [sent] = row.timeline
  const unreadable = { ...sent, outcome: 'rejected', code: 'UNREADABLE' }
  t.match(what({ state: 'refused', timeline: [sent, unreadable] as never }), 'could not be read')
  t.notMatch(what({ state: 'refused', timeline: [unreadable, sent] as never }), 'could not be read')
  t.match(what({ state: 'refused' }), 'refuses the content')
  const reported = (status: string, more: object = {}, channel: 'email' | 'sms' = 'sms') =>
    explain({ channel, receipt: { status, errorCode: null, at: NOW, ...more } })
  t.match(String(reported('read').what), 'The phone has it, since')
  t.match(String(reported('complained').what), 'and the recipient complained of it at')
  t.match(String(reported('undelivered').what), 'It did not arrive: undelivered.')
  t.match(String(reported('undelivered').next), 'list of errors')
  const because = (verdict: ReportFault['verdict'], reason: string | null) => ({
    fault: { verdict, scope: 'recipient', reason },
  })
  t.match(String(reported('failed', because('later', null)).next), 'list of errors')
  t.match(String(reported('failed', because('later', 'x')).next), 'Nothing is to be mended here')
  t.match(String(reported('failed', because('recipient', 'x'), 'email').next), 'Compare the address')
  t.match(String(reported('failed', because('content', 'x'), 'email').next), 'MAIL_BOUNCE_TO')
  t.notMatch(
    String(
      explainAbsence({
        newestAt: null,
        refusals: { count: 0, last: null },
        heldBack: [],
        validation: { at: NOW, ok: true, reason: '' },
      }),
    ),
    'validation',
  )
  t.end()
})

t.test('a reply has its code once; a length of time is in its two largest units', t => {
  const reply = (code: string, text: string) => String(describeReply({ code, reply: text }))
  t.equal(reply('535', '535 5.7.8 no'), '535 5.7.8 no')
  t.equal(reply('450', 'try after 450 s'), '450 try after 450 s')
  t.equal(reply('dropped', ''), 'dropped')
  t.equal(reply('timeout', 'said nothing'), 'timeout: said nothing')
  t.equal(reply('1', 'x'.repeat(300)).length, 202)
  t.same(
    [0, 999, 1000, 59_900, 60_000, 3_599_000, 3_600_000, 172_799_000, 172_800_000].map(ms =>
      String(formatDuration(ms)),
    ),
    ['0 ms', '999 ms', '1.0 s', '59.9 s', '1 min 0 s', '59 min 59 s', '1 h 0 min', '47 h 59 min', '2 days'],
  )
  t.end()
})

t.test('what waits says until when, when it is tried next, and what the last reply was', t => {
  const waiting = {
    state: 'queued',
    finalAt: null,
    dueAt: NOW + 5000,
    timeline: failed('535 5.7.8 no'),
  } as const
  t.equal(
    what(waiting),
    'It has not been taken yet, and is tried again in 5.0 s, until 2026-11-21 02:13:00 UTC. The last reply, of smtp: 535 5.7.8 no',
  )
  t.equal(
    what({ ...waiting, attempts: 0, dueAt: NOW, timeline: [] }),
    'It waits for its first attempt, due now.',
  )
  t.match(what({ ...waiting, state: 'expired' }), /02:13:00 UTC\. The last reply, of smtp: 535/)
  t.end()
})

t.test('what is due waits for a provider that is left alone, and is not called tried now', t => {
  const due = { state: 'queued', finalAt: null, dueAt: NOW - 30_000, timeline: [] } as const
  const rests = { ...works, breaker: 'open', breakerUntil: NOW + 34_000 } as const
  t.equal(
    what(due),
    'It has not been taken yet, and is tried again when its turn comes, until 2026-11-21 02:13:00 UTC.',
  )
  t.equal(
    what(due, [rests]),
    'It has not been taken yet, and is tried again when twilio takes messages again, until 2026-11-21 02:13:00 UTC. twilio keeps failing and is left alone for 34.0 s; then one message tries it.',
  )
  t.equal(
    what({ ...due, attempts: 0 }, [rests]),
    'It waits for its first attempt, due when twilio takes messages again. twilio keeps failing and is left alone for 34.0 s; then one message tries it.',
  )
  const lastError = { at: NOW, code: '20003', reply: 'Authenticate', whose: 'ours' }
  const untried = explain({ ...due, attempts: 0 }, [{ ...rests, lastError }])
  t.match(
    String(untried.what),
    /then one message tries it\. Its last reply to another message: 20003 Authenticate$/,
  )
  t.match(String(untried.next), 'Repair what the reply names.')
  t.match(what({ ...due, dueAt: NOW + 5000 }, [rests]), /when twilio takes messages again/, 'due before that')
  t.match(
    what({ ...due, dueAt: NOW + 50_000 }, [rests]),
    /again in 50\.0 s, until [-: \d]+ UTC\.$/,
    'due after it',
  )
  t.match(
    what(due, [{ ...rests, breaker: 'half-open', breakerUntil: NOW - 1 }]),
    /twilio keeps failing, and one message is trying it\.$/,
  )
  const pause = 'the provider asked for a pause; it ends in 9 s'
  t.match(
    what(due, [{ ...works, limitReason: 'paused', limitWhy: pause }]),
    /when twilio takes messages again, .* twilio: the provider asked for a pause; it ends in 9 s\.$/,
  )
  t.match(
    what(due, [rests, { ...works, provider: 'aliyun' }]),
    /when its turn comes/,
    'another carrier works',
  )
  t.match(
    what(due, [rests, { ...rests, provider: 'aliyun', breakerUntil: NOW + 3000 }]),
    /when aliyun takes messages again/,
    'the first that is tried',
  )
  t.match(what(due, [{ ...rests, channel: 'email' }]), /when its turn comes/, 'the other channel’s')
  t.end()
})

t.test('what was sent says who took it, and what the carrier reported since', t => {
  const report = (status: string, errorCode: string | null = null) =>
    what({ receipt: { status, errorCode, at: NOW } })
  t.equal(
    what({}),
    'twilio took it 200 ms after it came, at 2026-11-21 02:03:00 UTC. There is no delivery report.',
  )
  t.match(report('delivered'), 'The phone has it, since 2026-11-21 02:04:00 UTC.')
  t.match(report('sent'), 'Its last report, at 2026-11-21 02:04:00 UTC: sent.')
  t.match(report('undelivered', '30003'), 'It did not arrive: 30003.')
  t.match(report('failed'), 'It did not arrive: failed.')
  const because = (verdict: ReportFault['verdict'], scope: ReportFault['scope'], errorCode = 'X') =>
    explain({
      receipt: {
        status: 'undelivered',
        errorCode,
        fault: { verdict, scope, reason: 'as the table says' },
        at: NOW,
      },
    })
  const advice = FAULT_VERDICTS.flatMap(verdict =>
    FAULT_SCOPES.map(scope => {
      const { what, next } = because(verdict, scope)
      t.match(String(what), /X: as the table says/, `${verdict} ${scope}`)
      return String(next)
    }),
  )
  t.ok(new Set(advice).size >= 9, 'each has its own remedy')
  t.match(String(because('ours', 'sender', '30034').what), 'It did not arrive: 30034 as the table says.')
  t.match(String(because('ours', 'sender').next), /ours to mend: register the sender/)
  t.match(String(because('limit', 'account').next), /ours to mend: look at the account/)
  t.notMatch(String(because('limit', 'recipient').next), /ours to mend/)
  t.match(String(because('ambiguous', 'recipient').what), 'Its last report', 'it may still arrive')
  t.match(
    next({ channel: 'email', providerId: '4F2C1A0B9D' }),
    'the queue id 4F2C1A0B9D, then in the junk folder',
  )
  t.match(
    next({ channel: 'email', providerId: null }),
    'Message-ID, which begins with the id, then in the junk folder',
  )
  t.end()
})

t.test('in Chinese nothing is English but names and the words of others, and no space parts two words', t => {
  const inChinese = (more: Partial<MessageView>) => explain(more).what.in('zh-CN')
  t.equal(
    inChinese({
      state: 'queued',
      finalAt: null,
      dueAt: NOW + 5000,
      timeline: failed('connecting took too long'),
    }),
    '还没有被接收，下次重试：5.0 秒后，最晚到 2026-11-21 02:13:00 UTC。smtp 最近的应答：535 连接太慢',
  )
  t.equal(
    inChinese({ receipt: { status: 'undelivered', errorCode: '30003', at: NOW } }),
    'twilio 于 2026-11-21 02:03:00 UTC 接收，距消息到达 200 毫秒。没有送达：30003。',
  )
  t.end()
})

t.test('what an operator cancelled is not taken for a newer code', t => {
  const cancelled = [{ ...row.timeline[0], outcome: 'cancelled' }] as MessageView['timeline']
  t.match(what({ state: 'superseded', timeline: cancelled }), 'cancelled')
  t.match(what({ state: 'superseded' }), 'newer code for the same person came before this one left')
  t.match(what({ state: 'superseded', ambiguous: 1 }), /^It may have arrived\. A newer code/)
  t.end()
})

t.test('where there is no message, the platform’s own calls are what is known', t => {
  const refusals = { count: 3, last: { at: NOW, reason: 'signature invalid' } }
  t.same(
    explainAbsence({
      newestAt: NOW,
      refusals,
      heldBack: [{ quota: 'sms-day', count: 2, lastAt: NOW }],
      validation: { at: NOW, ok: false, reason: 'key' },
    }).map(String),
    [
      'The newest message to anybody came at 2026-11-21 02:04:00 UTC.',
      'Callers refused since the start: 3, the last at 2026-11-21 02:04:00 UTC: signature invalid.',
      'Held back by the quota sms-day since the start: 2, the last at 2026-11-21 02:04:00 UTC.',
      'The last validation of the URL failed at 2026-11-21 02:04:00 UTC: key.',
    ],
  )
  t.same(
    explainAbsence({
      newestAt: null,
      refusals: { count: 0, last: null },
      heldBack: [],
      validation: null,
    }).map(String),
    ['No message of anybody is stored.', 'No caller was refused since the start.'],
  )
  t.end()
})
