import t from 'tap'
import { refuseRecipients } from '../../src/callback/answers.ts'
import {
  countedDomainOf,
  createDestinationOf,
  createPhoneParser,
  createRecipientReader,
  readTypedRecipient,
} from '../../src/callback/recipients.ts'

const read = createRecipientReader(createPhoneParser({ countries: new Set(['CN']), defaultAreaCode: '86' }))

t.test('a list is split at commas, trimmed, and each counts once', async t => {
  const [a, b] = [
    { to: 'a@x.test', masked: 'a***@x.test' },
    { to: 'b@x.test', masked: 'b***@x.test' },
  ]
  const mails = read('email', ' a@x.test,b@x.test,,A@X.test ,\tb@x.test,', undefined)
  t.same(mails, { valid: [a, b], invalid: 0, why: 'recipient' })
  const number = { to: '+8613800138000', masked: '+86*******8000', country: 'CN' }
  const sms = read('sms', '13800138000, +8613800138000,008613800138000', undefined)
  t.same(sms, { valid: [number], invalid: 0, why: 'recipient' })
})

t.test('who cannot be written to counts once too, before a limit is applied', async t => {
  const mails = read('email', `a@x.test,${' nobody ,nobody,'.repeat(60)}`, undefined)
  t.match(mails, { valid: [{ to: 'a@x.test' }], invalid: 1, why: 'recipient' })
  t.equal(refuseRecipients('email', mails, 2), null)
  t.match(refuseRecipients('email', mails, 1), { err_msg: '/to: more than 1 recipients' })
  const numbers = read('sms', '13800138000, 123,123 ,+15005550006,+15005550006', undefined)
  t.match(numbers, { valid: { length: 1 }, invalid: 2 })
})

t.test('of too many recipients only so many are read as show it, and each text once', async t => {
  let reads = 0
  const counting = createRecipientReader(() => {
    reads += 1
    return reads % 2 === 0
      ? 'recipient'
      : { number: `+8613800138${String(reads).padStart(3, '0')}`, country: 'CN' }
  })
  const numbers = (count: number) => Array.from({ length: count }, (_, at) => `1380013${at}`).join(',')
  const many = counting('sms', numbers(2000), undefined, 20)
  t.equal(reads, 21)
  t.match(refuseRecipients('sms', many, 20), { err_msg: '/to: more than 20 recipients' })
  t.equal(refuseRecipients('sms', counting('sms', numbers(20), undefined, 20), 20), null)
  reads = 0
  t.equal(counting('sms', '13800138000,'.repeat(2000), undefined, 20).valid.length, 1)
  t.equal(reads, 1)
})

t.test('the country is at fault only when it is for all of them', async t => {
  t.equal(read('sms', '+14155552671,+14155552671', undefined).why, 'country')
  t.equal(read('sms', '+14155552671,123', undefined).why, 'recipient')
  t.equal(read('sms', '13800138000', undefined).why, 'recipient')
  t.equal(read('sms', '13800138000', '999').why, 'area')
  t.equal(
    read('sms', '+8613800138000,+14155552671', '1').why,
    'country',
    'rather than the area of one of them',
  )
})

t.test('people’s spellings of a recipient are read, and what is none stays none', async t => {
  const spellings: readonly [typed: string, read: string][] = [
    ['you@example.com', 'you@example.com'],
    ['"Doe, Jane" <jane@example.com> ', 'jane@example.com'],
    ['<jane@example.com>', 'jane@example.com'],
    ['MAILTO:jane@example.com', 'jane@example.com'],
    ['ｊａｎｅ＠example.com', 'jane@example.com'],
    ['(+86)138 0013 8000', '+8613800138000'],
    ['（＋８６）１３８００１３８０００', '+8613800138000'],
    ['\u202a+86 138\u00a00013\u20118000\u202c', '+8613800138000'],
    ['+44 (0)7400 123456', '+447400123456'],
    ['(+44) (0)7400·123456', '+447400123456'],
    ['(0)7400 123456', '07400123456'],
    ['TEL:0086-138-0013-8000', '008613800138000'],
    ['sms:+86 138.0013.8000', '+8613800138000'],
    ['nobody', 'nobody'],
    ['<>', ''],
    ['', ''],
  ]
  for (const [typed, reading] of spellings) t.equal(readTypedRecipient(typed), reading, typed)
  // Signs in a row that a pattern tries in all combinations would keep this test for ever.
  for (const sign of ['<', '(0)', '+(', ' ', '\u200b']) readTypedRecipient(sign.repeat(30_000))
})

t.test('an address counts for the domain that was registered, or for its mailbox provider', async t => {
  const counted = ['a@Shop.Example.co.uk', 'b***@Gmail.com', 'c@my.gmail.com', 'd@x.github.io', 'e@co.uk']
  const domains = ['example.co.uk', 'gmail.com', 'gmail.com', 'github.io', 'co.uk']
  t.same(counted.map(countedDomainOf), domains)
})

t.test('a destination is a domain or a country, and a kind where a carrier judges by templates', async t => {
  const destinationHash = (...fields: readonly string[]) => fields.join('|')
  const nameOf = createDestinationOf({ destinationHash }, new Set(['sms']))
  const mail = { channel: 'email', kind: 'login-code', recipient: 'A@CN.example.com' } as const
  const sms = { channel: 'sms', kind: 'login-code', recipient: '+8613800138000' } as const
  const names = () => [
    nameOf(mail, undefined),
    nameOf({ ...mail, kind: 'reset-password' }, undefined),
    nameOf(sms, 'CN'),
    nameOf({ ...sms, kind: 'reset-password' }, 'CN'),
    nameOf(sms, 'cn.example.com'),
    nameOf(sms, undefined),
  ]
  const wanted = [
    'email|cn.example.com',
    'email|cn.example.com',
    'sms|CN|login-code',
    'sms|CN|reset-password',
    'sms|cn.example.com|login-code',
    'sms||login-code',
  ]
  t.same(names(), wanted)
  // Whatever others were asked for meanwhile.
  for (let n = 0; n < 3000; n += 1) nameOf({ ...mail, recipient: `a@${n}.example.net` }, undefined)
  t.same(names(), wanted)
})
