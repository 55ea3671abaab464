import { generateKeyPairSync } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import t, { type Test } from 'tap'
import { createCallbackClient } from '../../src/commands/callback-client.ts'
import type { ResolveTxt } from '../../src/commands/check/sender.ts'
import { type CheckDependencies, runChecks } from '../../src/commands/check.ts'
import type { CheckResult } from '../../src/runtime/check-result.ts'
import { restoreTrust } from '../rigs/authorities.ts'
import { createTestCertificate } from '../rigs/certificate.ts'
import { type Act, startImap } from '../rigs/imap-server.ts'
import { listen } from '../rigs/listen.ts'
import { CLIENT, startTokenEndpoint } from '../rigs/token-endpoint.ts'
import { makeChain } from '../tls/authority.ts'
import { linesOf, plenty } from './check/lines.ts'
import { command, type Env, running, standInsFor } from './rig.ts'

/** What the DNS says where it matters not. */
const wellKnown: ResolveTxt = async name =>
  name.startsWith('_dmarc.') ? [['v=DMARC1; p=reject']] : [['v=spf1 include:_spf.example.com ~all']]

/** Findings as lines, without going to the terminal or asking any name server. */
async function found(env: Env, world: CheckDependencies = {}): Promise<readonly string[]> {
  const write = () => {}
  const io = {
    stdout: { write },
    stderr: { write },
    env,
    readFile: (path: string) => readFileSync(path, 'utf8'),
    dotenvPath: '/nowhere/.env',
  }
  return linesOf(await runChecks(io, { resolveTxt: wellKnown, machine: plenty, ...world }))
}

const only = (lines: readonly string[], is: CheckResult['is']) => lines.filter(line => line.startsWith(is))

async function stage(t: Test): Promise<{ env: Record<string, string> }> {
  const { env } = await standInsFor(t)
  return { env: { ...env, PORT: '8443', ADMIN_PORT: '9' } }
}

t.test('a running service is well from end to end', async t => {
  const trusted = getCACertificates('default')
  restoreTrust(t)
  const { standIns, env } = await running(t, {
    ADMIN_TOKENS: 'a-password-of-my-own',
    MAIL_FROM: 'Example <no-reply@courier.example.com>',
  })
  // The platform does not know whom we trust.
  setDefaultCACertificates(trusted)
  const lines = (await found({ ...env, TLS_CA_FILE: env['TLS_CERT_FILE'] })).map(line =>
    line
      .replaceAll(/127\.0\.0\.1:\d+/g, 'HOST:PORT')
      .replace(/in \d+ ms/, 'in MS')
      .replace(/until \d{4}-\d\d-\d\d/, 'until DAY')
      .replace(/ at \/\S+/, ' at DIRECTORY'),
  )
  // The record was read.
  const record = readFileSync(join(import.meta.dirname, '../fixtures/check.txt'), 'utf8')
  t.same(lines, record.trimEnd().split('\n'))
  t.equal(standIns.mails().length + standIns.sms().length, 0, 'nothing was sent')
  t.notMatch(lines.join('\n'), env['EMAIL_TOKEN'] ?? '')

  // A sender under a name for examples is not looked up.
  const offline = { ...env, MAIL_FROM: 'Example <no-reply@courier.example>' }
  const text = await command(['check'], offline)
  t.equal(text.code, 0)
  t.match(text.out, /^ok {4}settings /)
  t.match(text.out, /\nwarn {2}MAIL_FROM +courier\.example is no domain of the internet/)
  t.match(text.out, /\n\d+ ok, [23] to look at, 0 failed\n$/)
  const json = await command(['check', '--json'], offline)
  t.match(JSON.parse(json.out), { ok: true, findings: [{ about: 'settings', is: 'ok' }] })
})

t.test('what check asks is not taken for the platform, and what the service has met is read', async t => {
  const { env } = await running(t, {
    ALLOWED_SOURCES: '198.51.100.0/24',
    ADMIN_TOKENS: 'a-password-of-this-test',
  })
  const calls = async () => {
    const headers = { authorization: `Bearer ${env['ADMIN_TOKENS']}` }
    return (await fetch(`http://127.0.0.1:${env['ADMIN_PORT']}/api/v1/calls`, { headers })).json()
  }
  const before = await found(env)
  t.same(only(before, 'fail'), [], 'networks of the platform alone are well')
  t.match(
    before.join('\n'),
    'ok email URL: answers, and lets nobody in from this machine (ALLOWED_SOURCES, TRUSTED_PROXIES)',
  )
  const untouched = { refusals: { count: 0, last: null }, validation: null }
  t.match(await calls(), { channels: [untouched, untouched] })

  const [url = ''] = /https:\S+\/email/.exec((await command(['urls'], env)).out) ?? []
  const platform = createCallbackClient({ insecure: true })
  t.teardown(() => platform.close())
  await platform.post(url, { to: 'ann@example.com' })
  const after = await command(['check'], env)
  t.equal(after.code, 1)
  t.match(
    after.out,
    /\nfail {2}email callbacks +Every e-mail callback with the right key is refused since .*\n +→ the running service says so/,
  )
  t.match(await calls(), { channels: [{ refusals: { count: 1 }, validation: null }, untouched] })
  const inChinese = await command(['check'], { ...env, LANG: 'zh_CN.UTF-8' })
  t.match(inChinese.out, /密钥正确的邮件回调全部被拒绝/)
  const stranger = { ...env, ADMIN_TOKENS: 'another-password-of-nobody' }
  t.match((await found(stranger)).join('\n'), /warn service: .* says 401: .*ADMIN_TOKENS/)
})

t.test('a carrier’s account without money is said, though its key works', async t => {
  const { standIns, env } = await running(t)
  t.ok(standIns.setFault('sms', 'aliyun isv.AMOUNT_NOT_ENOUGH'))
  await command(['send', 'sms', '--to', '+8613800138000', '--type', '4', '--local'], env)
  const lines = (await found(env)).join('\n')
  t.match(lines, 'ok aliyun: the key works')
  t.match(lines, /fail aliyun: aliyun has failed for .*AMOUNT_NOT_ENOUGH.* This is ours to mend/)
})

t.test('settings that cannot be used are all told, and nothing else is tried', async t => {
  const lines = await found({ CORP_ID: 'c', EMAIL_TOKEN: 'short' })
  t.equal(only(lines, 'fail').length, lines.length)
  t.match(lines.join('\n'), /fail SMTP_URL: is missing → e-mail is on/)
  t.equal((await command(['check', '--json'], {})).code, 1)
})

t.test('before the start: the store is to be made, and is not made by looking', async t => {
  const { env } = await stage(t)
  const lines = await found(env)
  t.same(only(lines, 'fail'), [])
  t.match(lines.join('\n'), /ok store: .*outbox\.db will be made at the first start/)
  t.match(lines.join('\n'), /warn PUBLIC_URL: is not set/)
  t.notOk(existsSync(dirname((env['DATABASE_URL'] ?? '').slice(5))))
})

t.test('a channel by which no code goes to PROBE_TO is named, and one that reports is not', async t => {
  const { env } = await stage(t)
  const given = { PROBE_TO: '+8613800138000, me@example.com', SMS_ROUTES: '*=twilio' }
  const about = async (more: Env) =>
    (await found({ ...env, PUBLIC_URL: 'https://courier.example.com', ...given, ...more })).filter(line =>
      line.includes('to PROBE_TO: '),
    )
  t.match(await about({}), [/^warn PROBE_TO: no mail is sent to PROBE_TO: BOUNCE_IMAP_URL names no mailbox/])
  const unsigned = { TWILIO_AUTH_TOKEN: '', TWILIO_API_KEY: `SK${'0'.repeat(32)}:secret-of-the-key` }
  t.match((await about(unsigned)).at(-1) ?? '', /no SMS is sent to PROBE_TO: its carrier does not report/)
  t.match((await about({ SMS_TOKEN: '' }))[0] ?? '', /no SMS is sent to PROBE_TO: SMS are off \(SMS_TOKEN\)/)
})

t.test('a service that takes connections and never answers is said, and its store is left alone', async t => {
  const { env } = await running(t, { ADMIN_TOKENS: 'a-password-of-this-test' })
  const silent = createServer(socket => socket.on('error', () => undefined))
  const beside = { ...env, ADMIN_PORT: String(await listen(t, silent)) }
  const [lines, ...others] = await Promise.all([
    found(beside),
    ...['find ann@example.com', 'forget ann@example.com', `backup ${t.testdirName}/copy`].map(line =>
      command(line.split(' '), beside),
    ),
  ])
  t.match(only(lines, 'fail'), [
    /^fail store: the running service does not accept callbacks: .*: no answer within 3 s → look at its log$/,
  ])
  t.equal(only(lines, 'fail').length, 1)
  for (const each of others)
    t.match(each, { code: 1, err: /the running service does not answer: look at its log/ })
})

t.test('the mailbox of mails that came back is tried by its password, or without one by a token', async t => {
  const { env } = await stage(t)
  const endpoint = await startTokenEndpoint({ expiresIn: 3600 })
  t.teardown(() => endpoint.close())
  const refuse: Act = (verb, tag) => (verb === 'AUTHENTICATE' ? `${tag} NO canary-password\r\n` : undefined)
  const tried = async (user: string, act?: Act) => {
    const { port, commands } = await startImap(t, [], act)
    const lines = await found({
      ...env,
      SMTP_OAUTH2_TOKEN_URL: endpoint.url,
      SMTP_OAUTH2_CLIENT_ID: CLIENT.id,
      SMTP_OAUTH2_CLIENT_SECRET: CLIENT.secret,
      SMTP_URL: 'smtp://courier@127.0.0.1:9?ignoreTLS=true',
      BOUNCE_IMAP_URL: `imap://${user}@127.0.0.1:${port}?ignoreTLS=true`,
    })
    const [, method] = /AUTHENTICATE (\S+)/.exec(commands.join('\n')) ?? []
    return [method, ...lines.filter(line => line.includes('BOUNCE_IMAP_URL: '))]
  }
  const well = 'ok BOUNCE_IMAP_URL: logs in, and opens the folder'
  t.same(await tried('ann:canary-password'), ['PLAIN', well])
  t.same(await tried('ann'), ['XOAUTH2', well])
  t.same(await tried('ann:canary-password', refuse), [
    'PLAIN',
    'fail BOUNCE_IMAP_URL: the login is refused → look at user, password and folder in BOUNCE_IMAP_URL',
  ])
})

t.test('a certificate that clients will refuse', async t => {
  const { env } = await stage(t)
  const { intermediate, leaf } = await makeChain()
  const certFile = join(t.testdir(), 'cert.pem')
  const served = { ...env, TLS_CERT_FILE: certFile, TLS_KEY_FILE: `${certFile}.key` }
  writeFileSync(certFile, leaf.cert)
  writeFileSync(served.TLS_KEY_FILE, leaf.key)
  const about = async (settings: object) =>
    (await found({ ...served, ...settings })).filter(line => / (?:certificate|TLS_KEY_FILE): /.test(line))

  t.match(await about({}), [/^ok .*courier\.example\.com/, /^fail .*Example Intermediate\) is missing/])
  const elsewhere = { PUBLIC_URL: 'https://localhost:9' }
  t.match(await about(elsewhere), [/^ok/, /^fail certificate: .*, not for localhost/, /^fail .*is missing/])
  writeFileSync(served.TLS_KEY_FILE, intermediate.key)
  t.match(await about({}), [/^fail TLS_KEY_FILE: is not the key/])
  t.match(await about({ TLS_KEY_FILE: '/nowhere/key.pem' }), [
    /^fail TLS_KEY_FILE: names \/nowhere\/key\.pem, which cannot be read \(ENOENT\) → it is not there/,
  ])
  t.match(await about({ TLS: 'off' }), [/^ok certificate: TLS=off/])

  for (const [hours, said] of [
    [-1, /^fail certificate: .* expired on /],
    [14 * 24 - 1, /^warn certificate: the certificate in TLS_CERT_FILE expires on \S+ → renew it$/],
    [14 * 24 + 1, null],
  ] as const) {
    const made = await createTestCertificate({ notAfter: new Date(Date.now() + hours * 3_600_000) })
    writeFileSync(certFile, made.cert)
    writeFileSync(served.TLS_KEY_FILE, made.key)
    const lines = await about({})
    t.match(lines, [/^ok/, ...(said === null ? [] : [said]), /^warn .*self-signed/])
    t.equal(lines.length, said === null ? 2 : 3)
  }
})

t.test('DKIM: the key and what the DNS has', async t => {
  const { env } = await stage(t)
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const path = join(t.testdir(), 'dkim.pem')
  writeFileSync(path, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const dkim = { ...env, DKIM_NAME: 's1._domainkey.example.com', DKIM_KEY_FILE: path }
  const p = publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
  const about = async (resolveTxt: ResolveTxt) =>
    (await found(dkim, { resolveTxt })).filter(line => / DKIM(?:_KEY_FILE)?: /.test(line))

  const asked: string[] = []
  const right: ResolveTxt = async name => {
    asked.push(name)
    return [['v=DKIM1; k=rsa; ', `p=${p.slice(0, 200)}`, p.slice(200)]]
  }
  t.same(await about(right), ['ok DKIM: signs for example.com; the DNS has the same key'])
  t.same(asked, ['s1._domainkey.example.com'])
  t.same(await about(async () => [['v=DKIM1; p=MIIB']]), [
    'fail DKIM: the key under s1._domainkey.example.com is another one → publish the public half of DKIM_KEY_FILE, or change DKIM_NAME',
  ])
  const failing = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }))
  t.same(await about(failing('ENODATA')), [
    `warn DKIM: there is no key under s1._domainkey.example.com → publish there: v=DKIM1; k=rsa; p=${p}`,
  ])
  t.same(await about(failing('ETIMEOUT')), [
    'warn DKIM: could not be looked up from here (ETIMEOUT) → look from elsewhere: dig +short TXT s1._domainkey.example.com',
  ])
  writeFileSync(path, 'nonsense')
  t.match(await about(right), [
    'fail DKIM_KEY_FILE: holds no private key in PEM without a passphrase → mails would go out unsigned',
  ])
})

t.test('files that settings name are tried, and the rest is checked all the same', async t => {
  const { env } = await stage(t)
  const lines = await found({
    ...env,
    DATABASE_URL: `file:${t.testdirName}`,
    TEMPLATES_DIR: '/nowhere',
    DKIM_NAME: 's1._domainkey.example.com',
    DKIM_KEY_FILE: '/nowhere/dkim.pem',
    SMTP_CLIENT_CERT_FILE: '/nowhere/client.pem',
    TLS_CA_FILE: '/nowhere/ca.pem',
  })
  for (const pattern of [
    /^fail DATABASE_URL: names \S+, which is a directory → name a file in it/,
    /^fail TEMPLATES_DIR: names \/nowhere, which cannot be read \(ENOENT\) → it is not there/,
    /^fail TLS_CA_FILE: names \/nowhere\/ca\.pem, which cannot be read/,
    /^fail SMTP_CLIENT_CERT_FILE: names \/nowhere\/client\.pem, which cannot be read/,
    /^fail DKIM_KEY_FILE: names \/nowhere\/dkim\.pem, which cannot be read \(ENOENT\) → it is not there/,
    /^ok smtp: /,
  ])
    t.ok(
      lines.some(line => pattern.test(line)),
      String(pattern),
    )
  t.notOk(existsSync(join(t.testdirName, 'store.secret')), 'and nothing is left behind')
})
