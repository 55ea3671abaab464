import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { createComposer, encodeBody } from '../../src/words/mime.ts'
import { readMail } from './rendering.ts'

const composer = createComposer({
  from: '云智科技 <no-reply@northwind.example>',
  replyTo: 'Help, Desk <help@northwind.example>',
  messageIdDomain: 'mail.northwind.example',
})
const compose = ({ text, html, ...mail }: typeof base) =>
  composer({ ...mail, text: encodeBody(text), html: encodeBody(html) })
const base = {
  id: '0123456789abcdef0123456789abcdef',
  to: 'reader@example.org',
  subject: 'Hello',
  arrivedAt: Date.UTC(2026, 0, 2, 3, 4, 5),
  text: 'Hello\nthere',
  html: '<p>Hello</p>',
}
const lines = (raw: Buffer) => raw.toString('latin1').split('\r\n')

t.test('a mail has the headers it needs, once each', async t => {
  const raw = compose(base)
  const mail = await readMail(raw)
  t.same(mail.from, { name: '云智科技', address: 'no-reply@northwind.example' })
  const expected = readFileSync(join(import.meta.dirname, '../fixtures/mail.txt'), 'utf8')
  t.same(lines(raw), expected.split('\n'))
})

t.test('lines stay short, end with CRLF and hold ASCII only', async t => {
  const long = `${'word '.repeat(400)}${'x'.repeat(3000)} é€😀 =?utf-8?q?no?= .\n.\nFrom me\n\ttab \n`
  const raw = compose({ ...base, subject: 'ü'.repeat(300), text: long, html: `<p>${long}</p>` })
  const all = lines(raw)
  t.ok(all.every(line => line.length <= 78))
  t.ok(raw.every(byte => byte < 128))
  t.notMatch(raw.toString('latin1'), /[^\r]\n|\r(?!\n)/, 'no bare CR or LF')
  t.equal((await readMail(raw)).text.replaceAll('\r\n', '\n').trimEnd(), long.trimEnd())
})

t.test(
  'a line of a body has at most 76 characters (RFC 2045, 6.7 and 6.8), and makes use of them',
  async t => {
    const ascii = 'x'.repeat(1000)
    const chinese = '验证码'.repeat(300)
    for (const text of [ascii, chinese, `${'word '.repeat(400)}é=`]) {
      const raw = compose({ ...base, text, html: `<p>${text}</p>` })
      t.equal(Math.max(...lines(raw).map(line => line.length)), 76)
      t.equal((await readMail(raw)).text.trimEnd(), text.trimEnd())
    }
    const mostlyChinese =
      /text\/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n[\w+/]{76}\r\n/
    t.match(compose({ ...base, text: chinese }).toString('latin1'), mostlyChinese)
    t.match(compose({ ...base, text: ascii }).toString('latin1'), /quoted-printable\r\n\r\nx{75}=\r\n/)
  },
)

t.test('a long subject is folded at blanks into lines of at most 76 characters', async t => {
  const subject = `${'long words '.repeat(60)}end`
  const raw = compose({ ...base, subject })
  const header = /^Subject: .*(?:\r\n .*)*/m.exec(raw.toString('latin1'))?.[0].split('\r\n') ?? []
  t.ok(header.length > 8, `${header.length} lines`)
  t.ok(header.every(line => line.length <= 76))
  t.equal((await readMail(raw)).subject, subject)
})

t.test(
  'a line of 76 characters stays whole, a longer one is broken, and a blank at its end is kept',
  async t => {
    const line = (text: string) => encodeBody(text).split('\r\n').slice(3)
    t.same(line('x'.repeat(76)), ['x'.repeat(76)])
    t.ok(line('x'.repeat(77)).every(each => each.length <= 76))
    t.same(line('a \nb'), ['a=20', 'b'])
    t.same(line('a\rb\r\nc'), ['a', 'b', 'c'])
  },
)

t.test('a subject is encoded where it has to be, and so that most of its letters can be read', async t => {
  const header = (subject: string) =>
    lines(compose({ ...base, subject })).find(line => line.startsWith('Subject: '))
  t.equal(header('x'.repeat(66)), `Subject: ${'x'.repeat(66)}`)
  t.match(header('x'.repeat(70)), /^Subject: =\?UTF-8\?Q\?/)
  t.match(header('Hällo world'), /^Subject: =\?UTF-8\?Q\?/)
  t.match(header('您的验证码'), /^Subject: =\?UTF-8\?B\?/)
  t.match(header('=?utf-8?q?not_an_encoded_word?='), /^Subject: =\?UTF-8\?Q\?=3D/)
})

t.test('nothing in a subject can become a header', async t => {
  for (const subject of [
    'a\r\nBcc: evil@example.net',
    'a\nBcc: x@y.test',
    'a\rBcc: x@y.test',
    'a\r\n\r\nbody',
    'a\u0000b',
    'a\r\n Bcc: x',
  ]) {
    const raw = compose({ ...base, subject }).toString('latin1')
    t.notMatch(raw, /^Bcc/m)
    t.equal((await readMail(Buffer.from(raw, 'latin1'))).header('bcc').length, 0)
  }
})

t.test('an invalid address or id is a bug, and throws', async t => {
  for (const to of [
    '',
    'a',
    'a@b\r\nBcc: c@d',
    'a@b, c@d',
    '<a@b>',
    'a b@c',
    'ä\u200d@b.test',
    'ä@b.test\nBcc: c@d',
    'a@b;c@d',
    '"a"b"@b.test',
    '"a\r\nBcc: c@d"@b.test',
    'a@b(c)',
    'a@b\r\n',
    ' a@b',
  ]) {
    t.throws(() => compose({ ...base, to }), TypeError)
  }
  for (const id of ['', 'x', `${base.id}\r\nBcc: a@b`, base.id.toUpperCase()])
    t.throws(() => compose({ ...base, id }), TypeError)
  t.throws(() => createComposer({ from: 'nobody', messageIdDomain: 'a.test' }), TypeError)
  t.throws(() => createComposer({ from: 'a@b.test\r\nBcc: c@d', messageIdDomain: 'a.test' }), TypeError)
  t.throws(() => createComposer({ from: 'a@b.test', messageIdDomain: 'a.test>' }), TypeError)
})

t.test('whatever the parts hold, they are read back as they were, and nothing is added', async () => {
  const text = fc
    .string({ unit: 'grapheme', maxLength: 300 })
    .map(s => s.replaceAll('\r', '').replaceAll('\0', '').toWellFormed())
  const subject = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 200 })
    .map(s => s.replace(/[\p{Cc}\u2028\u2029]/gu, '').trim())
  await fc.assert(
    fc.asyncProperty(text, text, subject, async (text, html, subject) => {
      const mail = await readMail(compose({ ...base, text, html: `<p>${html}</p>`, subject }))
      const read = (part: string) => part.replaceAll('\r\n', '\n').replace(/\n$/, '')
      return (
        read(mail.text) === text.replace(/\n$/, '') &&
        read(mail.html) === `<p>${html}</p>` &&
        (mail.subject ?? '').replace(/\s+/g, ' ') === subject.replace(/\s+/g, ' ') &&
        mail.headers.length === 11
      )
    }),
    { numRuns: 300 },
  )
})
