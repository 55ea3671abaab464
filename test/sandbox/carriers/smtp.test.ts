import nodemailer from 'nodemailer'
import t, { type Test } from 'tap'
import { createInbox, type InboxOptions } from '../../../sandbox/carriers/smtp.ts'
import { createCertificate } from '../../../sandbox/certificate.ts'
import { createClock } from '../../../src/runtime/clock.ts'

const certificate = await createCertificate(Date.now())
const account = { user: 'courier', password: 'p@ss:word/1' }

async function open(t: Test, more: Partial<InboxOptions> = {}) {
  const inbox = await createInbox({ certificate, account, clock: createClock(), ...more })
  t.teardown(() => inbox.close())
  const mailer = (auth?: { user: string; pass: string }) =>
    nodemailer.createTransport({
      host: '127.0.0.1',
      port: inbox.port,
      requireTLS: true,
      tls: { ca: certificate.cert },
      ...(auth ? { auth } : {}),
    })
  return { inbox, mailer }
}

/** What the mailer's error says; null when there was none. */
const refusal = (sending: Promise<unknown>): Promise<unknown> =>
  sending.then(
    () => null,
    (error: unknown) => error,
  )

const mail = {
  from: 'Exämple <no-reply@courier.example>',
  to: 'lin.wei@example.com',
  subject: 'Grüße, 你好',
  text: 'Your code is 204816.\n.a line that begins with a dot',
  html: '<p>Your code is <b>204816</b>.</p>',
}

t.test('a mail is kept with its envelope, its words and its bytes', async t => {
  const seen: number[] = []
  const { inbox, mailer } = await open(t, { onMail: kept => seen.push(kept.id) })
  await mailer({ user: account.user, pass: account.password }).sendMail({
    ...mail,
    envelope: { from: 'bounces@courier.example', to: 'lin.wei@example.com' },
  })
  const [kept] = inbox.mails()
  t.match(kept, {
    id: 1,
    envelope: { from: 'bounces@courier.example', to: ['lin.wei@example.com'] },
    tls: true,
    user: 'courier',
    subject: mail.subject,
    from: mail.from,
    to: mail.to,
    html: mail.html,
  })
  t.equal(kept?.text.trim(), mail.text)
  t.match(kept?.raw.toString(), /^From: /)
  t.equal(
    inbox.mails().find(({ id }) => id === 1),
    kept,
  )
  t.same(seen, [1])
})

t.test('mail comes in without a login, but not with a wrong one', async t => {
  const { inbox, mailer } = await open(t)
  await mailer().sendMail(mail)
  t.equal(inbox.mails()[0]?.user, null)
  t.match(await refusal(mailer({ user: 'courier', pass: 'wrong' }).sendMail(mail)), { responseCode: 535 })
  t.equal(inbox.mails().length, 1)
})

t.test('a fault is answered instead, until it is taken away', async t => {
  const { inbox, mailer } = await open(t)
  inbox.setFault({ is: 'refuse', at: 'rcpt', code: 550, message: '5.1.1 No such user here' })
  t.match(await refusal(mailer().sendMail(mail)), { responseCode: 550, command: 'RCPT TO' })
  inbox.setFault({ is: 'refuse', at: 'data', code: 554, message: '5.7.1 Refused' })
  t.match(await refusal(mailer().sendMail(mail)), { responseCode: 554, command: 'DATA' })
  inbox.setFault({ is: 'delay', ms: 150 })
  const began = performance.now()
  await mailer().sendMail(mail)
  t.ok(performance.now() - began >= 149)
  inbox.setFault(null)
  await mailer().sendMail(mail)
  t.equal(inbox.mails().length, 2)
})

t.test('only the newest mails are kept, newest first', async t => {
  const { inbox, mailer } = await open(t, { keep: 2 })
  for (const subject of ['one', 'two', 'three']) await mailer().sendMail({ ...mail, subject })
  t.same(
    inbox.mails().map(kept => kept.subject),
    ['three', 'two'],
  )
  t.equal(
    inbox.mails().find(({ id }) => id === 1),
    undefined,
  )
  inbox.clear()
  t.same(inbox.mails(), [])
})
