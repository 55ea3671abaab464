import t from 'tap'
import { explainAbsence, explainMessage } from '../../src/admin/explain.ts'
import { FINAL_STATES, LIVE_STATES, type MessageView } from '../../src/outbox/outbox.ts'

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
const what = (more: Partial<MessageView>) => String(explainMessage({ ...row, ...more }, NOW).what)
const next = (more: Partial<MessageView>) => String(explainMessage({ ...row, ...more }, NOW).next)
const failed = (reply: string): MessageView['timeline'] => [
  { at: NOW, tookMs: 5, provider: 'smtp', outcome: 'retry', code: '535', reply },
]

t.test('every state has an answer, and something to do', t => {
  const answers = [...LIVE_STATES, ...FINAL_STATES].map(state => what({ state }))
  t.equal(new Set(answers).size, 7, answers.join('\n'))
  for (const state of [...LIVE_STATES, ...FINAL_STATES]) t.ok(next({ state }).length > 20, state)
  for (const answer of ['recipient', 'content', 'country', 'limit'] as const)
    t.match(what({ state: 'refused', answer }), 'the platform was told')
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
    'It has not been taken yet, and is tried again in 5.0 s, until 2026-11-21 02:13:00. The last reply, of smtp: 535 5.7.8 no',
  )
  t.equal(
    what({ ...waiting, attempts: 0, dueAt: NOW, timeline: [] }),
    'It waits for its first attempt, due now.',
  )
  t.match(what({ ...waiting, state: 'expired' }), /02:13:00\. The last reply, of smtp: 535/)
  t.end()
})

t.test('what was sent says who took it, and what the carrier reported since', t => {
  const report = (status: string, errorCode: string | null = null) =>
    what({ receipt: { status, errorCode, at: NOW } })
  t.equal(
    what({}),
    'twilio took it 200 ms after it came, at 2026-11-21 02:03:00. There is no delivery report.',
  )
  t.match(report('delivered'), 'The phone has it, since 2026-11-21 02:04:00.')
  t.match(report('sent'), 'Its last report, at 2026-11-21 02:04:00: sent.')
  t.match(report('undelivered', '30003'), 'The carrier did not deliver it: undelivered 30003.')
  t.match(report('failed'), 'The carrier did not deliver it: failed.')
  t.match(next({ channel: 'email' }), 'junk folder')
  t.end()
})

t.test('what an operator cancelled is not taken for a newer code', t => {
  const cancelled = [{ ...row.timeline[0], outcome: 'cancelled' }] as MessageView['timeline']
  t.match(what({ state: 'superseded', timeline: cancelled }), 'cancelled')
  t.match(what({ state: 'superseded' }), 'newer code')
  t.end()
})

t.test('where there is no message, the platform’s own calls are what is known', t => {
  const refusals = { count: 3, last: { at: NOW, reason: 'signature invalid' } }
  t.same(
    explainAbsence({
      newestAt: NOW,
      refusals,
      heldBack: [{ quota: 'sms-cost-day', count: 2, lastAt: NOW }],
      validation: { at: NOW, ok: false, reason: 'key' },
    }).map(String),
    [
      'The newest message to anybody came at 2026-11-21 02:04:00.',
      'Callers refused since the start: 3, the last at 2026-11-21 02:04:00: signature invalid.',
      'Held back by the quota sms-cost-day since the start: 2, the last at 2026-11-21 02:04:00.',
      'The last validation of the URL failed at 2026-11-21 02:04:00: key.',
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
