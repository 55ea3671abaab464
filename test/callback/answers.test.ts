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
    t.same(given, { status, err_code: code, err_msg: 'why', retryAfter: undefined }, name)
  }
  t.equal(new Set(Object.values(ERR_CODES)).size, Object.keys(ERR_CODES).length, 'no code has two names')
})

t.test('refusals speak in the channel’s own codes, and say when to come again', async t => {
  t.match(answerInvalidContent('sms', 'x', 413), { status: 413, err_code: 4002001 })
  t.equal(answerRefusal('email', 'country', 'x').err_code, 4002012, 'e-mail has no country')
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
  const taken = (channel: 'email' | 'sms') =>
    Object.values(ERR_CODES).filter(
      err_code => statusOfAnswer(channel, { status: 400, err_code, err_msg: '' }, '200') === 200,
    )
  t.same(taken('email'), [4002011, 4002012])
  t.same(taken('sms'), [4002001, 4002002, 4002003, 4031003, 4041010])
})

t.test('the body of an answer is JSON whatever its words are', async t => {
  const words = `"a" \\ b`
  t.same(JSON.parse(encodeAnswer(createAnswer('fault', words))), { err_code: 5021001, err_msg: words })
  t.equal(encodeAnswer(OK), '{"err_code":0,"err_msg":""}')
})

t.test('one answer speaks for all recipients', async t => {
  const stored: Accepted = { is: 'stored', superseded: [] }
  const over = (retryAfterSeconds: number): Accepted => ({ is: 'over-quota', quota: 'q', retryAfterSeconds })
  const refused = (answer: FinalAnswer): Verdict => ({ is: 'final', state: 'refused', answer })
  const sent: Verdict = { is: 'final', state: 'sent', answer: null }
  const [content, recipient] = [refused('content'), refused('recipient')]
  const nothing = '429 4291001 too many messages; nothing was sent'
  const all = 'every recipient was refused'
  for (const [channel, invalid, accepted, verdicts, said, mailbox = 'a@x.test'] of [
    ['email', 0, [over(60), over(7)], [null, null], `${nothing} 60`],
    ['email', 0, [over(7), over(60)], [null, null], `${nothing} 60`],
    ['email', 0, [over(0)], [null], `${nothing} 1`],
    ['email', 0, [stored, stored], [sent, { is: 'pending' }], '200 0 '],
    ['email', 0, [stored, over(60), stored], [sent, null, sent], '200 0 1 of 3 recipients refused'],
    ['email', 2, [stored], [sent], '200 0 2 of 3 recipients refused'],
    ['email', 0, [stored, stored], [content, recipient], `400 4002011 ${all}`],
    ['email', 0, [stored, stored], [recipient, content], `400 4002012 ${all}`],
    ['email', 1, [stored], [recipient], `400 4002012 ${all}`],
    ['email', 0, [over(60), stored], [null, content], `400 4002011 ${all}`],
    ['email', 0, [stored], [recipient], '400 4002012 refused by the provider'],
    ['sms', 0, [stored], [refused('country')], '400 4002003 refused by the provider'],
    ['email', 0, [stored], [refused('limit')], '429 4291001 refused by the provider 3600'],
    ['email', 0, [{ is: 'refused' }], [content], '400 4002011 the message cannot be stored'],
    [
      'email',
      0,
      [{ is: 'bounced' }],
      [recipient],
      '400 4002012 mail to this address came back: it is refused for a while',
    ],
    [
      'email',
      0,
      [stored],
      [recipient],
      '400 4002012 refused by the provider (an address beyond ASCII needs a mail server with SMTPUTF8)',
      'aü@x.test',
    ],
  ] as const) {
    const valid = accepted.map(() => ({ to: mailbox, masked: 'a***@x.test' }))
    const to = { valid, invalid, why: 'recipient' } as const
    const { status, err_code, err_msg, retryAfter } = combineAnswers(channel, to, accepted, verdicts)
    t.equal([status, err_code, err_msg, ...(retryAfter === undefined ? [] : [retryAfter])].join(' '), said)
  }
})
