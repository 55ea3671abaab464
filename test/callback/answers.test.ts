import t from 'tap'
import {
  answerInvalidContent,
  answerRefusal,
  answerUnavailable,
  combineAnswers,
  createAnswer,
  ERR_CODES,
  type ErrName,
  encodeAnswer,
  OK,
  refuseRecipients,
  statusOfAnswer,
} from '../../src/callback/answers.ts'
import type { Recipients } from '../../src/callback/recipients.ts'
import type { Verdict } from '../../src/delivery/port.ts'
import type { Accepted, FinalAnswer } from '../../src/outbox/outbox.ts'

/** The codes of the contract, and the two of ours: written down here a second time on purpose. */
const EXPECTED: Record<ErrName, { code: number; status: number; from: string }> = {
  ok: { code: 0, status: 200, from: 'callback tables' },
  smsContent: { code: 4002001, status: 400, from: 'SMS table' },
  smsRecipient: { code: 4002002, status: 400, from: 'SMS table' },
  smsCountry: { code: 4002003, status: 400, from: 'SMS table' },
  mailContent: { code: 4002011, status: 400, from: 'e-mail table' },
  mailRecipient: { code: 4002012, status: 400, from: 'e-mail table' },
  credential: { code: 4031003, status: 403, from: 'validation and SMS tables' },
  path: { code: 4041001, status: 404, from: 'general list' },
  corp: { code: 4041010, status: 404, from: 'validation and SMS tables' },
  method: { code: 4051001, status: 405, from: 'general list' },
  quota: { code: 4291001, status: 429, from: 'ours' },
  head: { code: 4311001, status: 431, from: 'ours' },
  fault: { code: 5021001, status: 502, from: 'general list' },
  unavailable: { code: 5031002, status: 503, from: 'general list' },
}

t.test('every code is listed here, with the status its first three digits say', async t => {
  t.same(ERR_CODES, Object.fromEntries(Object.entries(EXPECTED).map(([name, { code }]) => [name, code])))
  for (const [name, { code, status }] of Object.entries(EXPECTED)) {
    const given = createAnswer(name as ErrName, 'why')
    t.equal(given.err_code, code)
    t.equal(given.status, status, name)
  }
  t.equal(new Set(Object.values(ERR_CODES)).size, Object.keys(ERR_CODES).length, 'no code has two names')
})

t.test('refusals speak in the channel’s own codes, and say when to come again', async t => {
  t.match(answerInvalidContent('sms', 'x', 413), { status: 413, err_code: 4002001 })
  t.equal(answerRefusal('email', 'country', 'x').err_code, 4002012, 'e-mail has no country')
  t.equal(answerRefusal('email', 'content', 'x').err_code, 4002011)
  t.match(answerRefusal('sms', 'limit', 'x'), { status: 429, err_code: 4291001, retryAfter: 3600 })
  t.match(answerUnavailable('x'), { status: 503, err_code: 5031002, retryAfter: 5 })
})

t.test('nobody to send to, or too many: which field is at fault, and of how many', async t => {
  const nobody = { valid: [], why: 'recipient' } as const
  for (const [channel, to, err_code, err_msg] of [
    ['email', { ...nobody, invalid: 0 }, 4002012, '/to: no recipient'],
    ['email', { ...nobody, invalid: 1 }, 4002012, '/to: not an address'],
    ['email', { ...nobody, invalid: 2 }, 4002012, '/to: none of 2 is an address'],
    ['email', { ...nobody, invalid: 4 }, 4002012, '/to: more than 3 recipients'],
    ['sms', { ...nobody, invalid: 0 }, 4002002, '/to: no recipient'],
    ['sms', { ...nobody, invalid: 1 }, 4002002, '/to: not a mobile number'],
    ['sms', { ...nobody, invalid: 3 }, 4002002, '/to: none of 3 is a mobile number'],
    ['sms', { ...nobody, invalid: 1, why: 'country' }, 4002003, '/to: not a number of an allowed country'],
    [
      'sms',
      { ...nobody, invalid: 1, why: 'area' },
      4002003,
      '/area_code: missing, no calling code, or not that of the number',
    ],
  ] as const)
    t.same(
      refuseRecipients(channel, to, 3),
      { status: 400, err_code, err_msg, retryAfter: undefined },
      err_msg,
    )
  const [ann] = [{ to: 'a@x.test', masked: 'a***@x.test' }]
  t.equal(refuseRecipients('email', { valid: [ann], invalid: 2, why: 'recipient' }, 3), null)
})

t.test('ERROR_STATUS=200 leaves what the channel’s own table has not', async t => {
  for (const name of ['quota', 'unavailable'] as const)
    t.equal(statusOfAnswer('sms', createAnswer(name, ''), '200'), createAnswer(name, '').status)
  t.equal(statusOfAnswer('email', createAnswer('mailRecipient', ''), '200'), 200)
})

t.test('the body of an answer is JSON whatever its words are', async t => {
  const words = `"a" \\ b`
  t.same(JSON.parse(encodeAnswer(createAnswer('fault', words))), { err_code: 5021001, err_msg: words })
  t.equal(encodeAnswer(OK), '{"err_code":0,"err_msg":""}')
})

t.test('one answer speaks for all recipients', async t => {
  const to = (valid: number, invalid = 0): Recipients => ({
    valid: Array.from({ length: valid }, (_, at) => ({ to: `${at}@x.test`, masked: '***' })),
    invalid,
    why: 'recipient',
  })
  const stored: Accepted = { is: 'stored', superseded: [] }
  const over = (retryAfterSeconds: number): Accepted => ({ is: 'over-quota', quota: 'q', retryAfterSeconds })
  const refused = (answer: FinalAnswer): Verdict => ({ is: 'final', state: 'refused', answer })
  const sent: Verdict = { is: 'final', state: 'sent', answer: null }

  t.match(combineAnswers('email', to(2), [over(60), over(7)], [null, null]), {
    err_code: 4291001,
    retryAfter: 60,
  })
  t.match(combineAnswers('email', to(2), [over(7), over(60)], [null, null]), { retryAfter: 60 })
  t.match(combineAnswers('email', to(3), [stored, over(60), stored], [sent, null, sent]), {
    err_code: 0,
    err_msg: '1 of 3 recipients refused',
  })
  t.match(combineAnswers('email', to(1, 2), [stored], [sent]), {
    err_code: 0,
    err_msg: '2 of 3 recipients refused',
  })
  const both = [refused('content'), refused('recipient')]
  t.match(combineAnswers('email', to(2), [stored, stored], both), {
    err_code: 4002011,
    err_msg: 'every recipient was refused',
  })
  t.match(combineAnswers('email', to(2), [stored, stored], both.toReversed()), { err_code: 4002012 })
  t.match(combineAnswers('email', to(1, 1), [stored], [refused('recipient')]), {
    err_msg: 'every recipient was refused',
  })
  t.match(combineAnswers('email', to(1), [stored], [refused('recipient')]), {
    err_msg: 'refused by the provider',
  })
  t.match(combineAnswers('email', to(2), [over(60), stored], [null, refused('content')]), {
    err_code: 4002011,
  })
  t.match(combineAnswers('email', to(1), [over(0)], [null]), { retryAfter: 1 })
  t.match(combineAnswers('sms', to(1), [stored], [refused('country')]), { err_code: 4002003 })
  for (const [mailbox, each, why] of [
    ['a@x.test', { is: 'refused' }, 'the message cannot be stored'],
    ['a@x.test', { is: 'bounced' }, 'mail to this address came back: it is refused for a while'],
    [
      'ü@x.test',
      stored,
      'refused by the provider (an address beyond ASCII needs a mail server with SMTPUTF8)',
    ],
  ] as const) {
    const whom = { ...to(1), valid: [{ to: mailbox, masked: '***' }] }
    t.match(combineAnswers('email', whom, [each], [refused('recipient')]), { err_msg: why })
  }
})
