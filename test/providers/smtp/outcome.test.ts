import t from 'tap'
import { createRedactor } from '../../../src/providers/redact.ts'
import { acceptedOutcome, type SmtpError, smtpFailure } from '../../../src/providers/smtp/outcome.ts'
import { inEnglish } from '../../language/english.ts'
import { judgementOf } from '../sms.ts'

const TO = 'reader@example.com'
const OF_READER = createRedactor({ to: TO })

function failed(command: string, code: string, response: string): SmtpError {
  const responseCode = Number(response.slice(0, 3))
  return { message: `failed: ${response}`, command, code, response, responseCode }
}
const fresh = { begun: false, dotted: false }
const begun = { begun: true, dotted: false }
const dotted = { begun: true, dotted: true }

/** Replies by the command that they answer; dot: the end of the message. What becomes of the message, and what the reply is about. */
const REPLIES = {
  'content, message': [
    'dot: 554 5.6.0 spam',
    'dot: 554',
    'dot: 552 5.3.4 too big',
    'dot: 550 no',
    'dot: 554 5.7.1 looks like spam',
  ],
  'later, message': ['dot: 451 later', 'dot: 451 4.7.1 later'],
  'later, recipient': [
    'RCPT TO: 450 4.2.0 greylisted',
    'RCPT TO: 451 later',
    'RCPT TO: 452 4.5.3 too many recipients',
    'dot: 452 4.2.2 full',
  ],
  'later, sender': ['RCPT TO: 450 4.1.8 sender domain not found', 'MAIL FROM: 450 4.1.8 x'],
  'later, transport': [
    'RCPT TO: 421 4.3.2 closing',
    'MAIL FROM: 452 4.3.1 no room',
    'MAIL FROM: 421 4.3.2 x',
    'DATA: 451 4.3.0 x',
    'dot: 421 4.3.2 closing',
    'dot: 452 4.3.1 full',
    'AUTH PLAIN: 421 4.3.2 closing',
  ],
  'ours, account': [
    'RCPT TO: 530 5.7.0 log in first',
    'MAIL FROM: 530 5.7.0 log in first',
    'MAIL FROM: 454 4.7.0 later',
    'AUTH PLAIN: 535 5.7.8 no',
    'AUTH PLAIN: 454 4.7.0 later',
    'AUTH PLAIN: 534 5.7.9 too weak',
    'AUTH PLAIN: 530 5.7.0 x',
    'AUTH PLAIN: 504 x',
  ],
  'ours, message': ['MAIL FROM: 552 5.3.4 too big', 'MAIL FROM: 552 too big', 'MAIL FROM: 554 5.3.4 too big'],
  'ours, recipient': [
    'RCPT TO: 554 bare',
    'RCPT TO: 552 bare',
    'RCPT TO: 550 5.7.1 relaying denied',
    'RCPT TO: 503 5.5.1 bad sequence',
    'RCPT TO: 454 4.7.1 relay access denied',
    'RCPT TO: 550 5.7.28 mail flood',
  ],
  'ours, sender': [
    'RCPT TO: 553 5.1.8 sender domain not found',
    'RCPT TO: 553 5.1.7 bad sender',
    'RCPT TO: 550 5.7.26 SPF',
    'MAIL FROM: 550 5.7.1 no',
    'MAIL FROM: 553 5.1.7 bad sender',
    'dot: 550 5.7.27 sender without MX',
    'MAIL FROM: 550 5.1.1 x',
    'MAIL FROM: 550 no',
    'MAIL FROM: 554 5.7.1 no',
    'MAIL FROM: 501 5.5.4 syntax',
    'dot: 550-5.7.26 this mail\n550-5.7.26 is unauthenticated\n550 5.7.26 x',
    'dot: 550 5.7.23 SPF',
    'dot: 550 5.7.20 DKIM',
  ],
  'ours, transport': ['STARTTLS: 454 4.7.0 no', 'EHLO: 554 no', 'DATA: 554 5.5.1 no'],
  'recipient, recipient': [
    'RCPT TO: 550 5.1.1 no such user',
    'RCPT TO: 550 5.1.10 null MX',
    'RCPT TO: 550-5.1.1 no\n550 5.1.1 such user',
    'RCPT TO: 552 5.2.2 full',
    'RCPT TO: 550 5.2.1 disabled',
    'RCPT TO: 550 no such user',
    'RCPT TO: 551 user not local',
    'RCPT TO: 553 mailbox name not allowed',
    'RCPT TO: 550',
    'dot: 550 5.1.1 no such user',
    'DATA: 550 5.1.1 no such user',
    'dot: 552 5.2.2 full',
  ],
} as const

await t.test('a reply says what becomes of the message, and what it is about', async t => {
  for (const [expected, replies] of Object.entries(REPLIES))
    for (const each of replies) {
      const [step = '', response = ''] = each.split(/: (.*)/s)
      const code = step === 'dot' ? 'EMESSAGE' : step.startsWith('AUTH') ? 'EAUTH' : 'EENVELOPE'
      const error = failed(step === 'dot' ? 'DATA' : step, code, response)
      const { verdict, scope } = judgementOf(smtpFailure(error, step === 'dot' ? dotted : begun, OF_READER))
      t.equal(`${verdict}, ${scope}`, expected, each)
    }
})

await t.test('a 421 means too many connections before a message begins, unless the server ends', async t => {
  const overload = (response: string, progress: typeof begun) => {
    const outcome = smtpFailure(failed('EHLO', 'EPROTOCOL', response), progress, OF_READER)
    return outcome.is === 'retry' ? outcome.overload : 'no retry'
  }
  for (const response of ['421 too many', '421 4.7.0 too many']) {
    t.equal(overload(response, fresh), 'connections', response)
    t.equal(overload(response, begun), undefined, response)
  }
  t.equal(overload('421 4.3.2 closing', fresh), undefined)
  t.equal(overload('450 4.7.0 slow down', fresh), undefined)
})

await t.test('a login that we have no password for is ours to mend', async t => {
  const missing = { message: 'Missing credentials for "PLAIN"', code: 'EAUTH', command: 'API' }
  t.match(smtpFailure(missing, fresh, OF_READER), { is: 'retry', untouched: true })
})

await t.test('without a reply the dot decides', async t => {
  for (const code of ['ECONNECTION', 'ESOCKET', 'ETIMEDOUT', 'EPROTOCOL', 'EABORT']) {
    const error = { message: 'gone', code, command: 'CONN' }
    t.match(smtpFailure(error, fresh, OF_READER), { is: 'retry', whose: 'later', untouched: true })
    t.match(smtpFailure(error, begun, OF_READER), { is: 'retry', whose: 'later', untouched: undefined })
    t.match(smtpFailure(error, dotted, OF_READER), { is: 'ambiguous' })
    const stopped = smtpFailure(error, { ...dotted, stopped: 'reply-limit' }, OF_READER)
    t.match(stopped, { is: 'ambiguous', code: 'reply-limit' })
  }
})

await t.test('what we ended ourselves is judged by that, whatever the server said', async t => {
  const error = failed('RCPT TO', 'EENVELOPE', '550 5.1.1 no such user')
  const stopped = { ...begun, stopped: 'dialogue-limit' }
  t.match(smtpFailure(error, stopped, OF_READER), { is: 'retry', whose: 'later', code: 'dialogue-limit' })
})

await t.test('a certificate that is not accepted is ours to mend, and is named by its own code', async t => {
  const error = { message: 'certificate has expired', code: 'ESOCKET', command: 'CONN' }
  t.match(smtpFailure({ ...error, originalCode: 'CERT_HAS_EXPIRED' }, fresh, OF_READER), {
    is: 'retry',
    whose: 'ours',
    code: 'CERT_HAS_EXPIRED',
    reply: /certificate was not accepted: certificate has expired$/,
  })
  t.match(smtpFailure({ ...error, originalCode: 'ECONNRESET' }, fresh, OF_READER), {
    whose: 'later',
    code: 'ECONNRESET',
  })
  const openssl = '40DD:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:record.c:1:'
  t.match(smtpFailure({ ...error, message: openssl }, fresh, OF_READER), { reply: /^wrong version number$/ })
})

await t.test('a refused STARTTLS is said to be one', async t => {
  const outcome = smtpFailure(failed('STARTTLS', 'ETLS', '454 4.7.0 not now'), fresh, OF_READER)
  t.match(outcome, { code: '454 4.7.0', reply: /^the server offers no TLS.*: 454 4\.7\.0 not now$/ })
})

await t.test('the name that a server gives an accepted message is kept', async t => {
  const accepted = (said: string) => inEnglish(acceptedOutcome(said, OF_READER))
  t.same(accepted('250-2.0.0 Ok\r\n250 2.0.0 Queued as 4bX.9-1_z'), {
    is: 'sent',
    reply: '250 2.0.0 Ok Queued as …',
    providerId: '4bX.9-1_z',
  })
  for (const id of ['1234', 'x'.repeat(64)])
    t.match(accepted(`250 2.0.0 Ok: queued as ${id}`), { providerId: id })
  t.same(accepted('250 2.0.0 Ok: queued as 123'), { is: 'sent', reply: '250 2.0.0 Ok: queued as 123' })
  t.match(accepted('250 2.0.0 requeued as 1234'), { providerId: undefined })
})

await t.test('words that are no reply are no verdict', async t => {
  for (const response of ['250', 'ok I guess', 'hello', '5500 x']) {
    const error = failed('DATA', 'EMESSAGE', response)
    t.match(smtpFailure(error, dotted, OF_READER), { is: 'ambiguous' }, response)
    t.match(smtpFailure(error, begun, OF_READER), { is: 'retry', whose: 'later' }, response)
  }
})

await t.test('code and reply are for people', async t => {
  const response = `550-5.1.1 <${TO}>\r\n550-5.1.1 does not\r\n550 5.1.1 exist`
  const error = failed('RCPT TO', 'EENVELOPE', response)
  t.strictSame(inEnglish(smtpFailure(error, begun, OF_READER)), {
    is: 'rejected',
    scope: 'recipient',
    code: '550 5.1.1',
    reply: '550 5.1.1 <recipient> does not exist',
  })
})
