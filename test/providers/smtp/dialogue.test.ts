import t from 'tap'
import { createTestCertificate } from '../../rigs/certificate.ts'
import { until } from '../../rigs/until.ts'
import { DKIM, LOGIN, mail, startSmtp as start, urlOf } from './rig.ts'

const certificate = await createTestCertificate()

for (const pipelining of [true, false])
  await t.test(`one message per envelope, ${pipelining ? 'with' : 'without'} PIPELINING`, async t => {
    const { server, send } = await start(t, { pipelining })
    const messages = [mail('a@example.com'), mail('b@example.org'), mail('c@example.net')]
    for (const message of messages) t.match(await send(message), { is: 'sent' })
    t.equal(server.connections.length, 1, 'one connection for all')
    t.strictSame(server.connections[0]?.commands, [
      'EHLO courier.example.com',
      ...messages.flatMap(({ to }) => ['MAIL FROM:<bounce@example.com>', `RCPT TO:<${to}>`, 'DATA']),
    ])
    const expected = messages.map(({ to }) => ({ from: 'bounce@example.com', to: [to] }))
    t.match(server.mails, expected)
    t.equal(server.mails.length, expected.length)
    t.ok(server.mails.every(({ data }, i) => data.equals(messages[i]?.raw ?? Buffer.alloc(0))))
  })

await t.test('dots are stuffed, lines end in CRLF, nothing else is touched', async t => {
  const { server, send } = await start(t)
  const raw = Buffer.from('Subject: x\r\n\r\n.\r\n..\r\n.a\r\n \r\ntäxt\r\n\r\n.\r\nend.\r\n')
  await send({ ...mail(), raw })
  t.equal(
    server.mails[0]?.wire.toString(),
    'Subject: x\r\n\r\n..\r\n...\r\n..a\r\n \r\ntäxt\r\n\r\n..\r\nend.\r\n.\r\n',
  )
  t.ok(server.mails[0]?.data.equals(raw))
  const reads = server.connections[0]?.bytes.map(each => each.toString('latin1')) ?? []
  const whole = reads.find(read => read.startsWith('Subject: x'))
  t.match(whole, /end\.\r\n\.\r\n$/, 'the dot comes with its mail')
  await send({ ...mail(), raw: Buffer.from('.x\r\n\r\n.y') })
  t.equal(server.mails[1]?.wire.toString(), '..x\r\n\r\n..y\r\n.\r\n')
})

await t.test('bare CR and bare LF never leave: no smuggled end of message', async t => {
  const { server, send } = await start(t)
  const raw = Buffer.from('Subject: x\r\n\r\na\r.\rMAIL FROM:<e@e>\nb\n.\nRCPT TO:<e@e>\r\n.\ncc\r')
  t.match(await send({ ...mail(), raw }), { is: 'sent' })
  t.match(await send({ ...mail(), raw: Buffer.from('Subject: x\r\n\r\na\r.\rb\r\n') }), { is: 'sent' })
  t.match(await send(), { is: 'sent' })
  const bytes = Buffer.concat(server.connections[0]?.bytes ?? []).toString('latin1')
  t.notMatch(bytes, /\r(?!\n)|(?<!\r)\n/)
  t.equal(server.mails.length, 3)
  t.ok(server.mails.every(({ to }) => to.length === 1 && to[0] !== 'e@e'))
})

await t.test('a connection goes on after a refusal, whatever was refused', async t => {
  const { server, send } = await start(t)
  for (const step of ['RCPT', 'dot'] as const) {
    server.act = moment => (moment.step === step ? { is: 'say', reply: '550 5.1.1 no' } : undefined)
    t.match(await send(), { is: 'rejected' })
  }
  server.act = undefined
  t.match(await send(), { is: 'sent' })
  t.equal(server.connections.length, 1)
})

await t.test('no address becomes a command or a second recipient', async t => {
  const { server, send } = await start(t)
  const hostile = [
    'a@g.test\r\nRCPT TO:<e@e.test>',
    'a@g.test>\r\nDATA\r\n',
    'a@g.test, e@e.test',
    'group: e@e.test, f@f.test;',
    'a <e@e.test>',
  ]
  for (const to of hostile) await send({ ...mail(), to })
  const commands = server.connections.flatMap(connection => connection.commands)
  t.notOk(commands.some(line => /^RCPT TO:<[ef]@/.test(line)))
  t.ok(commands.filter(line => line.startsWith('RCPT')).length <= hostile.length)
  t.ok(server.mails.every(({ to }) => to.length === 1))
})

await t.test('STARTTLS comes before login and envelope', async t => {
  const { server, send } = await start(t, { certificate, login: LOGIN }, { tls: { ca: certificate.cert } })
  t.match(await send(), { is: 'sent' })
  t.equal(server.mails[0]?.tls, true)
  t.equal(server.connections[0]?.user(), LOGIN.user)
  const verbs = server.connections[0]?.commands.map(line => line.split(' ', 1)[0])
  t.strictSame(verbs, ['EHLO', 'STARTTLS', 'EHLO', 'AUTH', 'MAIL', 'RCPT', 'DATA'])
})

await t.test('requireTLS=false takes what the server offers, ignoreTLS=true never asks', async t => {
  const lenient = (port: number) => `smtp://127.0.0.1:${port}?requireTLS=false`
  const plain = await start(t, {}, { url: lenient })
  t.match(await plain.send(), { is: 'sent' })
  const offered = await start(t, { certificate }, { url: lenient, tls: { ca: certificate.cert } })
  t.match(await offered.send(), { is: 'sent' })
  t.equal(offered.server.mails[0]?.tls, true)
  const ignored = await start(t, { certificate }, { url: port => `smtp://127.0.0.1:${port}?ignoreTLS=true` })
  t.match(await ignored.send(), { is: 'sent' })
  t.equal(ignored.server.mails[0]?.tls, false)
})

await t.test(
  'on a server that hides STARTTLS no password crosses the network, unless a setting says so',
  async t => {
    // On Linux this address is this machine, too, but nothing that stands in the URL says so.
    const local = (port: number) => `${urlOf(port)}?requireTLS=false`
    const url = (port: number) => local(port).replace('127.0.0.1', '0.0.0.0')
    const hidden = await start(t, { login: LOGIN }, { url })
    t.match(await hidden.send(), { is: 'retry', whose: 'ours', untouched: true, reply: /offers no TLS/ })
    const bytes = Buffer.concat(hidden.server.connections.flatMap(({ bytes }) => bytes)).toString('latin1')
    t.notMatch(bytes, /AUTH|MAIL|RCPT/)

    const told = await start(t, { login: LOGIN }, { url, loginWithoutTls: true })
    t.match(await told.send(), { is: 'sent' })
    const here = await start(t, { login: LOGIN }, { url: local })
    t.match(await here.send(), { is: 'sent' }, 'this machine has no network between')
    const unasked = await start(t, {}, { url: local })
    t.match(await unasked.send(), { is: 'sent' }, 'a server that knows no login is shown none')
    const withoutLogin = await start(t, {}, { url: port => url(port).replace(/\/\/.*@/, '//') })
    t.match(await withoutLogin.send(), { is: 'sent' }, 'there is no password to lose')
  },
)

await t.test(
  'a server with DSN is asked to give back the headers, by our id; another one is asked nothing',
  async t => {
    const { server, send } = await start(t, { dsn: true, smtpUtf8: true })
    const [plain, beyond] = [mail('ann+1=x@example.com'), mail('üser@example.com')]
    for (const each of [plain, beyond]) t.match(await send(each), { is: 'sent' })
    const commands = server.connections[0]?.commands ?? []
    t.same(
      commands.filter(line => /^(MAIL|RCPT)/.test(line)).map(line => Buffer.from(line, 'latin1').toString()),
      [
        `MAIL FROM:<bounce@example.com> RET=HDRS ENVID=${plain.id}`,
        'RCPT TO:<ann+1=x@example.com> NOTIFY=FAILURE ORCPT=rfc822;ann+2B1+3Dx@example.com',
        `MAIL FROM:<bounce@example.com> SMTPUTF8 RET=HDRS ENVID=${beyond.id}`,
        'RCPT TO:<üser@example.com> NOTIFY=FAILURE',
      ],
    )
    const without = await start(t)
    await without.send()
    t.notMatch(without.server.connections[0]?.commands.join(' '), /ENVID|NOTIFY/)
  },
)

await t.test('an address beyond ASCII goes to a server with SMTPUTF8, and to no other', async t => {
  const to = 'üser@example.com'
  const taker = await start(t, { smtpUtf8: true })
  t.match(await taker.send(mail(to)), { is: 'sent' })
  t.match(await taker.send(), { is: 'sent' })
  const commands = taker.server.connections[0]?.commands
  t.match(commands?.[1], / SMTPUTF8$/)
  t.equal(Buffer.from(commands?.[2] ?? '', 'latin1').toString(), `RCPT TO:<${to}>`)
  t.notMatch(commands?.[4], /SMTPUTF8/)
  t.match(taker.server.mails[0]?.data.toString(), `To: ${to}`)

  const { server, send } = await start(t)
  const refused = await send(mail(to))
  t.match(refused, { is: 'rejected', scope: 'recipient', reply: /SMTPUTF8/ })
  t.match(refused, { incapable: true }, 'so a second server is asked')
  t.match(await send(), { is: 'sent' })
  t.match(await send(mail(to)), { is: 'rejected' })
  t.equal(server.connections.length, 1, 'the connection is kept')
  t.notMatch(server.connections[0]?.commands.join('\n'), /ser@/)
})

await t.test('a server that changes its mind about SMTPUTF8 is believed at its next EHLO', async t => {
  const to = 'üser@example.com'
  const { server, send } = await start(t, {}, { connections: 1 })
  let offers = '250 SMTPUTF8'
  server.act = ({ step }) => (step === 'EHLO' ? { is: 'say', reply: offers } : undefined)
  t.match(await send(mail(to)), { is: 'sent' })
  offers = '250 8BITMIME'
  t.match(await send(mail(to)), { is: 'sent' }, 'over the connection that it was offered on')
  for (const change of [true, false]) {
    const { length } = server.connections
    server.connections.at(-1)?.end()
    await until(() => server.openConnections() === 0, 'it is closed')
    t.match(await send(mail(to)), change ? { is: 'rejected', code: 'no-smtputf8' } : { is: 'sent' })
    t.equal(server.connections.length, length + 1)
    offers = '250 SMTPUTF8'
  }
})

await t.test('with DKIM the message is signed and otherwise the same', async t => {
  const { server, send } = await start(t, {}, { dkim: DKIM })
  const message = mail()
  t.match(await send(message), { is: 'sent' })
  const data = server.mails[0]?.data.toString() ?? ''
  const [, header = '', rest = ''] = /^(DKIM-Signature:(?:.*\r\n)(?:[ \t].*\r\n)*)([^]*)$/.exec(data) ?? []
  t.match(header, /d=example\.com;/)
  t.match(header, /s=s1;/)
  t.equal(rest, message.raw.toString())
  server.act = moment => (moment.step === 'dot' ? { is: 'stall', accept: true } : undefined)
  t.match(await send(), { is: 'ambiguous' }, 'the end of a signed message is seen as well')
  server.act = moment => (moment.step === 'DATA' ? { is: 'drop' } : undefined)
  t.match(await send(), { is: 'retry' })
})
