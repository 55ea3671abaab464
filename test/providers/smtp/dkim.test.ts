import { generateKeyPairSync } from 'node:crypto'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import t from 'tap'
import { createDkimSigner } from '../../../src/providers/smtp/dkim.ts'
import { createComposer, encodeBody } from '../../../src/words/mime.ts'

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const sign = createDkimSigner({ domain: 'example.com', selector: 's1', privateKey: pem })

const compose = createComposer({
  from: '"Example, Inc." <no-reply@example.com>',
  replyTo: 'support@example.com',
  messageIdDomain: 'example.com',
})
function mail(text = 'Your code is 351706.'): Buffer {
  return compose({
    id: '0'.repeat(32),
    to: 'reader@example.org',
    subject: '您的验证码 and a subject that is long enough to be folded into two lines of the header',
    arrivedAt: 1_790_000_000_000,
    text: encodeBody(text),
    html: encodeBody(`<p>${text}</p>`),
  })
}

/** Whether a message verifies, by another implementation than ours. */
async function verifies(message: Buffer | string): Promise<boolean> {
  const { results } = await dkimVerify(message, {
    resolver: async () => [
      [`v=DKIM1; k=rsa; p=${publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`],
    ],
  })
  t.equal(results.length, 1, 'there is one signature')
  return results.every(({ status }) => status.result === 'pass')
}

t.test('an independent verifier accepts the signature', async t => {
  for (const text of ['Your code is 351706.', '您的验证码', ' blanks \t at  ends \t\n\n\n', ''])
    t.equal(await verifies(await sign(mail(text))), true, JSON.stringify(text))
  const bare = Buffer.from('From: a@example.com\r\nSubject: no body\r\n\r\n')
  t.equal(await verifies(await sign(bare)), true)
  const folded =
    'From:\ta@example.com\r\nSUBJECT : \t folded \r\n\t  twice \r\n\r\na \t b  \r\n \r\n\r\nc\r\n \t\r\n\r\n'
  t.equal(await verifies(await sign(Buffer.from(folded))), true)
})

t.test('an address beyond ASCII is signed as the bytes that it is sent as', async t => {
  const message = Buffer.from('From: a@example.com\r\nTo: üser@example.org\r\n\r\nx\r\n')
  t.equal(await verifies(await sign(message)), true)
})

t.test('what was added, changed or taken away does not verify', async t => {
  const signed = (await sign(mail())).toString('latin1')
  const end = signed.indexOf('\r\n\r\n')
  const added = {
    From: 'Bank <security@bank.example>',
    To: 'victim@example.net',
    Cc: 'victim@example.net',
    Subject: 'Your account is locked',
    Date: 'Thu, 01 Jan 2026 00:00:00 +0000',
    'Reply-To': 'evil@example.net',
    'Message-ID': '<other@example.net>',
    'MIME-Version': '2.0',
    'Content-Type': 'text/html',
    'Content-Transfer-Encoding': 'base64',
    'Auto-Submitted': 'no',
    Sender: 'evil@example.net',
    'Resent-From': 'evil@example.net',
    'In-Reply-To': '<other@example.net>',
    References: '<other@example.net>',
    'List-Unsubscribe': '<https://evil.example/collect>',
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  }
  for (const [name, value] of Object.entries(added)) {
    const field = `${name}: ${value}\r\n`
    t.equal(await verifies(field + signed), false, `${name} above`)
    const below = `${signed.slice(0, end + 2)}${field}${signed.slice(end + 2)}`
    t.equal(await verifies(below), false, `${name} below`)
    const changed = signed.replace(new RegExp(`^${name}: (?:.*\\r\\n)(?:[ \\t].*\\r\\n)*`, 'm'), field)
    if (changed !== signed) t.equal(await verifies(changed), false, `another ${name}`)
  }
  t.equal(await verifies(signed.replace(/^Auto-Submitted: .*\r\n/m, '')), false, 'without Auto-Submitted')
  t.equal(await verifies(signed.replace(/^Reply-To: .*\r\n/m, '')), false, 'without Reply-To')
  t.equal(await verifies(signed.replace('351706', '351707')), false, 'another code')
  t.equal(await verifies(`${signed}more\r\n`), false, 'a longer body')
})

t.test('without an optional header nobody can add it either', async t => {
  const bare = Buffer.from('From: a@example.com\r\nSubject: x\r\n\r\nx\r\n')
  const signed = (await sign(bare)).toString('latin1')
  t.equal(await verifies(signed), true)
  t.equal(await verifies(`Reply-To: evil@example.net\r\n${signed}`), false)
  t.equal(await verifies(`Content-Type: text/html\r\n${signed}`), false)
})

t.test('the header is folded, and no line is too long', async t => {
  const signed = (await sign(mail())).toString('latin1')
  const [header = ''] = /^DKIM-Signature:(?:.*\r\n)(?:[ \t].*\r\n)*/.exec(signed) ?? []
  t.ok(header.split('\r\n').every(line => line.length <= 78))
})

t.test('a key that cannot sign is refused at once, without a word of it', async t => {
  const { privateKey: other } = generateKeyPairSync('ed25519')
  const ed25519 = other.export({ type: 'pkcs8', format: 'pem' }).toString()
  for (const wrong of ['', 'canary', ed25519, pem.slice(0, 200)]) {
    const make = () => createDkimSigner({ domain: 'example.com', selector: 's1', privateKey: wrong })
    t.throws(make, { name: 'TypeError', message: 'the DKIM key is no RSA key in PEM' })
  }
})
