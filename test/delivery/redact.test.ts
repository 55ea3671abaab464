import { Buffer } from 'node:buffer'
import t from 'tap'
import { redactReply, type SentMessage } from '../../src/delivery/redact.ts'

const content: SentMessage = {
  params: { code: 'QWERTY', username: 'Ann (Sales)', hour: '24' },
  subject: 'Your code',
}

t.test('what a message says is taken out of what its provider replies, in any case', async t => {
  const reply = redactReply('451 qwerty for ANN (sales): "your code" looks odd, 24', content)
  t.equal(reply, '451 … for …: "…" looks odd, 24')
})

t.test('a word of a longer value goes from four letters on; shorter ones are in every reply', async t => {
  const named = { params: { username: 'Anna Lee Smith' } }
  t.equal(redactReply('550 the lee of anna', named), '550 the lee of …')
})

t.test('a reply that says nothing of it stays as it is', async t => {
  t.equal(redactReply('250 2.0.0 Ok: queued', content), '250 2.0.0 Ok: queued')
  const plain = { params: {}, plain: 'Your message was sent to this address: the code is Xylophone' }
  const reply = '550 5.7.1 message refused: relay denied for this user'
  t.equal(redactReply(reply, plain), reply, 'nor do the words that every reply is made of')
})

const sent: SentMessage = {
  params: { code: 'Xylophone', username: 'Zoë Q' },
  subject: 'Zeppelin tickets',
  plain: 'Platform says: your passphrase is Kaleidoscope! Do not tell anybody about Nightingale.',
  recipient: 'marmalade@example.com',
  text: 'Example: Xylophone is your sign-in code, valid for 10 minutes. Do not share it.',
}
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
      base64.slice(3),
      percent(base64),
      Buffer.from(percent(secret)).toString('base64'),
      `=?utf-8?B?${Buffer.from(secret).toString('base64')}?=`,
      `=?utf-8?Q?${percent(secret).replaceAll('%', '=')}?=`,
      `(body=${base64})`,
    ]) {
      const reply = redactReply(`554 5.6.0 rejected: ${said} (blocked)`, sent)
      t.notOk(reply.toLowerCase().includes(said.toLowerCase()), `${secret} as ${said}`)
      t.match(reply, /^554 5\.6\.0 rejected: .*…/)
    }
  }
})

t.test('half of a word at the end of a reply that was cut goes, too', async t => {
  const cut = `554 5.6.0 ${'rejected '.repeat(30)}`.slice(0, 190).trim()
  const reply = redactReply(`${cut} Nightingale and more`.slice(0, 200), sent)
  t.notMatch(reply, /Night/)
  t.match(redactReply(`${cut.slice(0, 150)} Nightjar`, sent), /Nightjar$/)
})

t.test('nor the finished text, whole or in part', async t => {
  t.equal(redactReply(`spam: ${sent.text}`, sent).includes('sign-in'), false)
  t.notMatch(
    redactReply('filtered: "Xylophone is your sign-in code, valid for 10 minutes"', sent),
    /Xylophone/,
  )
  t.equal(redactReply('filtered: Do not share it', sent), 'filtered: …')
})

t.test('a long text and a long reply take no long time', async () => {
  // What looks for each piece of the one in the other does not end.
  const long = { params: { code: '1234' }, plain: 'word '.repeat(6500) }
  for (let n = 0; n < 50; n += 1) redactReply(`554 ${'aaaa%41=41&#65; '.repeat(12)}`, long)
})

t.test('a word of every reply goes when a parameter is that word, and hides no other one', async t => {
  t.equal(redactReply('accepted, queued', { params: { code: 'queued' } }), 'accepted, …')
  t.equal(redactReply('250 2.0.0 Ok: queued, 4711', { params: { code: '4711' } }), '250 2.0.0 Ok: queued, …')
  t.equal(redactReply('accepted: a%62c', { params: { code: 'abc' } }), 'accepted: …')
  t.equal(redactReply('accepted: Zo\u00eb', { params: { name: 'Zo\u00eb Q' } }), 'accepted: Zo\u00eb')
  t.equal(redactReply('accepted/YXBwbGVz', { params: { code: 'apples' } }), '…')
})
