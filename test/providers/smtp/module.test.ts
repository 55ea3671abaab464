import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { SMTPServer } from 'smtp-server'
import t, { type Test } from 'tap'
import { NO_TEMPLATES } from '../../../src/providers/sms-templates.ts'
import { smtp } from '../../../src/providers/smtp/module.ts'
import { enough, load } from '../../config/settings.ts'
import { trustDuring } from '../../rigs/authorities.ts'
import { createTestCertificate } from '../../rigs/certificate.ts'
import { listen } from '../../rigs/listen.ts'
import { startSmtpServer } from '../../rigs/smtp-server.ts'
import { mail } from './rig.ts'

async function open(t: Test, settings: Readonly<Record<string, string>>) {
  const config = load({ ...enough, ...settings })
  const [provider, fallback] = await smtp.open(config, {
    clock: { now: Date.now },
    templates: NO_TEMPLATES,
    limits: smtp.limits,
  })
  if (provider === undefined) throw new Error('e-mail is on')
  t.teardown(async () => Promise.all([provider.close(), fallback?.close()]))
  return { ...provider, fallback }
}

async function start(t: Test) {
  const { server, port } = await startSmtpServer(t)
  return { server, url: `smtp://127.0.0.1:${port}?ignoreTLS=true` }
}

t.test('each setting reaches the mail server', async t => {
  const { server, url } = await start(t)
  const keyFile = join(t.testdir(), 'dkim.pem')
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const provider = await open(t, {
    SMTP_URL: url,
    SMTP_CONNECTIONS: '3',
    PUBLIC_URL: 'https://courier.example.com:8443/iot',
    MAIL_BOUNCE_TO: 'bounces@example.com',
    DKIM_NAME: 'courier._domainkey.example.com',
    DKIM_KEY_FILE: keyFile,
  })
  t.equal(provider.concurrency, 3)
  t.same(provider.scopesOf?.(mail()), { sender: 'bounces@example.com' })
  const timers = t.capture(globalThis, 'setTimeout', setTimeout)
  t.match(await provider.send(mail(), new AbortController().signal), { is: 'sent' })
  t.same(
    timers().flatMap(({ args: [, ms = 0] }) => (ms >= 5000 ? ms : [])),
    // Up to the login, of which connecting has 5 s; what nodemailer sets; idleness, the dialogue and the reply to it.
    [30_000, 30_000, 5000, 25_000, 30_000, 5000, 60_000, 60_000, 300_000],
  )
  t.match(server.connections[0]?.commands, [
    /^EHLO courier\.example\.com$/,
    /^MAIL FROM:<bounces@example\.com>/,
  ])
  t.match(server.mails[0]?.data.toString(), /^DKIM-Signature: .*d=example\.com;\s.*s=courier;/s)
})

t.test('a mail server may know us by our certificate', async t => {
  const [ours, theirs] = [
    await createTestCertificate({ name: 'courier.example.com' }),
    await createTestCertificate(),
  ]
  trustDuring(t, theirs.cert)
  const known: unknown[] = []
  const server = new SMTPServer({
    ...theirs,
    requestCert: true,
    rejectUnauthorized: false,
    ca: [ours.cert],
    disabledCommands: ['AUTH'],
    logger: false,
    onSecure(socket: TLSSocket, _session: unknown, done: (error?: Error) => void) {
      known.push(socket.authorized && socket.getPeerCertificate().subject.CN)
      done(socket.authorized ? undefined : new Error('who are you?'))
    },
    onData: (stream, _session, done) => void stream.resume().once('end', () => done(null, 'OK')),
  })
  const SMTP_URL = `smtp://127.0.0.1:${await listen(t, server.server)}`
  const stranger = await open(t, { SMTP_URL })
  t.match(await stranger.send(mail(), new AbortController().signal), { is: 'retry' })
  const folder = t.testdir({ 'client.pem': `${ours.cert}\n${ours.key}` })
  const provider = await open(t, {
    SMTP_URL,
    SMTP_CLIENT_CERT_FILE: join(folder, 'client.pem'),
  })
  t.match(await provider.send(mail(), new AbortController().signal), { is: 'sent' })
  t.match(await provider.verify(), { ok: true })
  t.same(known.filter(Boolean), ['courier.example.com', 'courier.example.com'])
})

t.test('without them: from the address of MAIL_FROM, unsigned, with the address in EHLO', async t => {
  const { server, url } = await start(t)
  const nameless = ['https://203.0.113.7:8443', 'https://[2001:db8::7]/', 'https://courier']
  const mapped = url.replace('127.0.0.1', '[::ffff:127.0.0.1]')
  const named = nameless.map(PUBLIC_URL => ({ PUBLIC_URL }))
  for (const more of [{} as Record<string, string>, ...named, { SMTP_URL: mapped }]) {
    const provider = await open(t, { SMTP_URL: url, ...more })
    t.match(await provider.send(mail(), new AbortController().signal), { is: 'sent' })
    t.equal(server.connections.at(-1)?.commands[0], 'EHLO [127.0.0.1]', JSON.stringify(more))
  }
  t.equal(server.mails[0]?.from, 'no-reply@example.com')
  t.notMatch(server.mails[0]?.data.toString(), /DKIM-Signature/)
  let said = ''
  const six = createServer(socket => {
    socket.on('error', () => {}).write('220 rig\r\n')
    socket.once('data', line => {
      said = String(line)
      socket.destroy()
    })
  })
  six.listen(0, '::1')
  const [error] = (await Promise.race([once(six, 'listening'), once(six, 'error')])) as unknown[]
  if (error !== undefined) return t.comment('this machine has no IPv6')
  t.teardown(() => six.close())
  const { port } = six.address() as AddressInfo
  const provider = await open(t, { SMTP_URL: `smtp://[::1]:${port}?ignoreTLS=true` })
  await provider.send(mail(), new AbortController().signal)
  t.equal(said, 'EHLO [IPv6:::1]\r\n')
})

t.test('the fallback is a provider of its own, the second one', async t => {
  const { server, url } = await start(t)
  const { name, fallback } = await open(t, {
    SMTP_URL: 'smtp://127.0.0.1:9?ignoreTLS=true',
    SMTP_FALLBACK_URL: url,
  })
  t.same([name, fallback?.name], ['smtp', 'smtp-fallback'])
  t.match(await fallback?.send(mail(), new AbortController().signal), { is: 'sent' })
  t.equal(server.mails.length, 1)
})
