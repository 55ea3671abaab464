import t from 'tap'
import { SMTP_USER } from '../../sandbox/carriers/smtp.ts'
import type { ReceivedMail } from '../../sandbox/carriers/stand-in.ts'
import { answerFaults, checkMailArrival, checkSmsArrival } from '../../sandbox/once.ts'
import type { SampleCallback } from '../../sandbox/sample-callbacks.ts'
import { type CarriedSms, ENVELOPE_SENDER } from '../../sandbox/stand-ins.ts'

const link = 'https://iot.example.com/#!/a?x=1&y=2'
const sample: SampleCallback = { body: {}, words: link, subject: 'Activate' }
const mail: ReceivedMail = {
  id: 1,
  at: 0,
  envelope: { from: ENVELOPE_SENDER, to: ['a@example.com'] },
  tls: true,
  user: SMTP_USER,
  subject: 'Activate',
  messageId: '<1@example.com>',
  from: '',
  to: '',
  headers: [],
  text: `Open ${link} now`,
  html: '<a href="https://iot.example.com/#!/a?x=1&amp;y=2">Open</a>',
  raw: Buffer.from('raw'),
}
const sms: CarriedSms = {
  id: 'SM1',
  to: '+8613800138000',
  from: '+15005550006',
  body: `Open ${link}`,
  validityPeriod: 600,
  at: 0,
  carrier: 'Twilio',
}

t.test('whatever is wrong with a mail is said', async t => {
  const faults = (...mails: readonly Partial<ReceivedMail>[]) =>
    checkMailArrival(
      mails.map(change => ({ ...mail, ...change })),
      'a@example.com',
      sample,
    ).faults.join()
  t.equal(faults(), 'no mail arrived')
  t.equal(faults({}, {}), 'arrived 2 times')
  t.match(faults({ envelope: { from: ENVELOPE_SENDER, to: ['a@example.com', 'b@example.com'] } }), /shares/)
  t.match(faults({ envelope: { from: 'x@example.com', to: ['a@example.com'] } }), /came from <x@example.com>/)
  t.match(faults({ subject: 'Other' }), /subject "Other"/)
  t.equal(faults({ text: 'Open it' }), 'lacks its words in the text part')
  t.equal(faults({ html: '' }), 'lacks its words in the HTML part')
  t.equal(
    faults({ html: '<a href="https://iot.example.com/#!/a?x=1&amp;amp;y=2">' }),
    'lacks its words in the HTML part',
  )
  t.equal(faults({ tls: false }), 'came without TLS')
  t.equal(faults({ user: null }), 'came without a login')
  t.equal(faults({ messageId: '' }), 'has no Message-ID')
})

t.test('an SMS is judged by its number, its words and its life', async t => {
  const judge = (...messages: readonly CarriedSms[]) => checkSmsArrival(messages, sms.to, sample, 'Twilio')
  t.match(judge(sms), { arrived: 1, faults: [], files: { txt: sms.body } })
  t.same(judge({ ...sms, to: '+8613800138001' }).faults, ['no SMS arrived'])
  t.same(judge(sms, sms).faults, ['arrived 2 times'])
  t.same(judge({ ...sms, body: 'Open' }).faults, ['lacks its words'])
  t.same(judge({ ...sms, validityPeriod: null }).faults, ['has no validity period'])
  t.same(judge({ ...sms, carrier: 'Aliyun' }).faults, ['went by Aliyun'])
  const { validityPeriod: _, ...without } = sms
  t.same(judge(without).faults, [], 'a carrier that knows none')
})

t.test('only HTTP 200 with err_code 0 is a success', async t => {
  const answered = { is: 'answered', status: 200, errCode: 0, errMsg: '', body: '', ms: 1 } as const
  t.same(answerFaults(answered), [])
  t.match(answerFaults({ ...answered, status: 500 })[0], /HTTP 500/)
  t.match(answerFaults({ ...answered, errCode: 4_002_012, errMsg: 'nobody' })[0], /4002012: nobody/)
  t.match(answerFaults({ ...answered, errCode: null })[0], /missing/)
  t.match(
    answerFaults({ is: 'unreachable', why: 'refused', certificateRefused: false, ms: 1 })[0],
    /no answer: refused/,
  )
})
