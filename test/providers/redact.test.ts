import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createRedactor, type RepeatedMessage } from '../../src/providers/redact.ts'

const READER = createRedactor({ to: 'reader@example.com' })

await t.test('what the provider repeats of the message is taken out', async t => {
  const record = readFileSync(join(import.meta.dirname, '../fixtures/redacted.txt'), 'utf8')
  for (const [text, shown] of record
    .trimEnd()
    .split('\n')
    .map(line => line.split(' ⇒ ').map(each => String(JSON.parse(each)))))
    t.equal(READER.reply(text ?? ''), shown)
  const known = createRedactor({ to: 'reader@example.com' }, ['top(secret'])
  t.equal(known.reply('you sent top(secret as password'), 'you sent … as password')
  t.equal(READER.reply('x'.repeat(5000)).length, 200)
})

await t.test('a number is taken out with and without its plus', async t => {
  const { reply } = createRedactor({ to: '+8613800138000' })
  t.equal(reply('To +8613800138000 (8613800138000) is wrong'), 'To <recipient> (<recipient>) is wrong')
})

await t.test('a hostile reply is no work', async () => {
  // What takes time with the square of the length does not end.
  for (const text of [
    '@'.repeat(1e6),
    '<'.repeat(1e6),
    'a1'.repeat(5e5),
    'http://'.repeat(2e5),
    '1 '.repeat(5e5),
  ])
    READER.reply(text)
})

t.test('a code is shown unless it repeats the number or a secret', async t => {
  const { code: shown } = createRedactor({ to: '+8613800138000' }, ['test', '4711', 'abc'])
  for (const code of ['latest', 'isv.LIMIT', 'abc', 'E4710', 'x'.repeat(80)]) t.equal(shown(code), code)
  for (const code of ['test', 'E4711', 'for:00138000', 'two words', '', 'x'.repeat(81)])
    t.equal(shown(code), undefined, code)
})

t.test('where a long reply is cut no half of an address is left', async t => {
  const links = `https://example.com/${'a'.repeat(225)} `.repeat(2)
  for (let filler = 50; filler < 150; filler += 1) {
    const text = `${links}${'x'.repeat(filler)} canary.other@example.org unknown`
    t.notMatch(READER.reply(text), /canary/)
  }
  t.equal(READER.reply(`554 ${'x'.repeat(700)}`).length, 200, 'where no word ends')
})

t.test('an emoji that is cut in half, by the server or by the limit, is not passed on', async t => {
  t.equal(READER.reply('250 thanks \ud83d'), '250 thanks')
  for (const before of [198, 199, 200]) {
    const reply = READER.reply(`${'x'.repeat(before)}😀`)
    t.ok(reply.isWellFormed(), `after ${before} letters`)
  }
  t.notMatch(READER.reply('250 a\0b'), /\0/)
})

const content = {
  params: { code: 'QWERTY', username: 'Ann (Sales)', hour: '24' },
  subject: 'Your code',
}
const redact = (text: string, says: RepeatedMessage['content']) =>
  createRedactor({ to: 'marmalade@example.com', content: says }).reply(text)

t.test('what a message says is taken out of what its provider replies, in any case', async t => {
  const reply = redact('451 qwerty for ANN (sales): "your code" looks odd, 24', content)
  t.equal(reply, '451 … for …: "…" looks odd, 24')
})

t.test('a word of a longer value goes from four letters on; shorter ones are in every reply', async t => {
  const named = { params: { username: 'Anna Lee Smith' } }
  t.equal(redact('550 the lee of anna', named), '550 the lee of …')
})

t.test('a reply that says nothing of it stays as it is', async t => {
  t.equal(redact('250 2.0.0 Ok: queued', content), '250 2.0.0 Ok: queued')
  const plain = { params: {}, plain: 'Your message was sent to this address: the code is Xylophone' }
  const reply = '550 5.7.1 message refused: relay denied for this user'
  t.equal(redact(reply, plain), reply, 'nor do the words that every reply is made of')
})

t.test(
  'words of a carrier that look as if one character was encoded stay, unless the message has such a word',
  async t => {
    for (const reply of [
      '550 5.7.26 rejected: spf=fail dkim=fail dmarc=fail policy=reject',
      '554 rejected: reason=bad-reputation key=default action=defer',
    ])
      t.equal(redact(reply, content), reply)
    const named = { params: { username: 'Zo\u00eb Krab\u0119' } }
    t.equal(redact('550 for Zo=eb Krab=ea of spf=fail', named), '550 for … … of spf=fail')
  },
)

const sent: RepeatedMessage = {
  to: 'marmalade@example.com',
  content: {
    params: { code: 'Xylophone', username: 'Zoë Q' },
    subject: 'Zeppelin tickets',
    plain: 'Platform says: your passphrase is Kaleidoscope! Do not tell anybody about Nightingale.',
  },
  text: () => 'Example: Xylophone is your sign-in code, valid for 10 minutes. Do not share it.',
}
const ofSent = createRedactor(sent)
const SECRETS = [
  'Xylophone',
  'Zoë Q',
  'Zeppelin tickets',
  'Kaleidoscope',
  'Nightingale',
  'marmalade@example.com',
]
const percent = (text: string) =>
  Array.from(Buffer.from(text), byte => `%${byte.toString(16).padStart(2, '0')}`).join('')

t.test('neither whole nor in words, neither plain nor encoded', async t => {
  for (const secret of SECRETS) {
    const base64 = Buffer.from(`so ${secret} is it`).toString('base64')
    for (const said of [
      secret,
      secret.toUpperCase(),
      encodeURIComponent(secret),
      percent(secret),
      percent(secret).replaceAll('%', '='),
      percent(secret).replaceAll('%', '=').toUpperCase(),
      Array.from(secret, each => `&#${each.codePointAt(0)};`).join(''),
      Array.from(secret, each => `&#x${each.codePointAt(0)?.toString(16)};`).join(''),
      base64,
      Buffer.from(`x${secret}y ${secret} z`).toString('base64url'),
      ...[1, 2, 3].map(from => base64.slice(from)),
      percent(base64),
      Buffer.from(percent(secret)).toString('base64'),
      `=?utf-8?B?${Buffer.from(secret).toString('base64')}?=`,
      `=?utf-8?Q?${percent(secret).replaceAll('%', '=')}?=`,
      `(body=${base64})`,
    ]) {
      const reply = ofSent.reply(`554 5.6.0 rejected: ${said} (blocked)`)
      t.notOk(reply.toLowerCase().includes(said.toLowerCase()), `${secret} as ${said}`)
      t.match(reply, /^554 5\.6\.0 rejected: .*(?:…|<recipient>)/)
    }
  }
})

t.test('half of a word at the end of a reply that was cut goes, too', async t => {
  const cut = `554 5.6.0 ${'rejected '.repeat(30)}`.slice(0, 190).trim()
  const reply = ofSent.reply(`${cut} Nightingale and more`.slice(0, 200))
  t.notMatch(reply, /Night/)
  const usual = 'rejected '.repeat(21)
  t.equal(ofSent.reply(`${usual}abcd Night`), `${usual}abcd …`, 'of 199 characters')
  t.equal(ofSent.reply(`${usual}abc Night`), `${usual}abc Night`, 'of 198')
})

t.test('nor the finished text, whole or in part', async t => {
  t.equal(ofSent.reply(`spam: ${sent.text?.()}`).includes('sign-in'), false)
  t.notMatch(ofSent.reply('filtered: "Xylophone is your sign-in code, valid for 10 minutes"'), /Xylophone/)
  t.equal(ofSent.reply('filtered: Do not share it'), 'filtered: …')
  for (const sign of '\n.!?。！？') {
    const text = () => `您的验证码是马上失效的${sign}如果不是本人操作请不要理会`
    const chinese = createRedactor({ to: '+8613800138000', content: { params: {} }, text })
    t.equal(chinese.reply('拦截: 如果不是本人操作请不要理会'), '拦截: …', sign)
  }
})

t.test('a long text and a long reply take no long time', async () => {
  // What looks for each piece of the one in the other does not end.
  const long = { params: { code: '1234' }, plain: 'word '.repeat(6500) }
  for (let n = 0; n < 50; n += 1) redact(`554 ${'aaaa%41=41&#65; '.repeat(12)}`, long)
})

t.test('a word of every reply goes when a parameter is that word, and hides no other one', async t => {
  t.equal(redact('accepted, queued', { params: { code: 'queued' } }), 'accepted, …')
  t.equal(redact('250 2.0.0 Ok: queued, 4711', { params: { code: '4711' } }), '250 2.0.0 Ok: queued, …')
  t.equal(redact('accepted: Zo\u00eb', { params: { name: 'Zo\u00eb Q' } }), 'accepted: Zo\u00eb')
  const [text, params] = ['550 the gale of a farmer', { name: 'Nightingale Farm' }]
  t.equal(redact(text, { params }), text)
})

// What has a digit beside a letter may be a code, and goes for that alone.
t.test('a value is found in encodings that look like no code', async t => {
  const record = readFileSync(join(import.meta.dirname, '../fixtures/encoded.txt'), 'utf8')
  for (const row of record.trimEnd().split('\n')) {
    const [code = '', said = ''] = row.split(' ⇒ ')
    t.equal(redact(`550 ${said}`, { params: { code } }), '550 …', said)
  }
  const phrase = '一二三四五六七八九十百千'
  const chinese = createRedactor({ to: '', content: { params: {}, plain: '' }, text: () => `${phrase}。` })
  for (const before of ['拦截了: ', ''])
    t.equal(chinese.reply(`${before}${phrase}`), `${before}…`, 'a piece of twelve characters')
})
