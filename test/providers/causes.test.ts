import { readFileSync } from 'node:fs'
import { createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { quote } from '../../src/language/sentence.ts'
import { checkLogin } from '../../src/providers/module.ts'
import { createAccessTokens } from '../../src/providers/smtp/oauth2.ts'
import { tokenLimits } from '../../src/providers/smtp/settings.ts'
import { createTwilioProvider } from '../../src/providers/twilio.ts'
import { linesOf } from '../commands/check/lines.ts'
import { createTestCertificate } from '../rigs/certificate.ts'
import { listen } from '../rigs/listen.ts'
import { type SmtpServerOptions, type SmtpStep, startSmtpServer } from '../rigs/smtp-server.ts'
import { CLIENT } from '../rigs/token-endpoint.ts'
import { ACCOUNT_SID, AUTH_TOKEN, startTwilioServer } from '../rigs/twilio-server.ts'
import { until } from '../rigs/until.ts'
import { SHORT_HTTP, SHORT_SMTP } from './short.ts'
import { startOauth2, USER } from './smtp/oauth2.ts'
import { LOGIN, openSmtp } from './smtp/rig.ts'

const certificate = await createTestCertificate()

/** What check says of a mail server, of an access token and of Twilio; it was read. */
const RECORD = readFileSync(join(import.meta.dirname, '../fixtures/causes.txt'), 'utf8')
const [MAIL, TOKEN, TWILIO] = RECORD.trimEnd()
  .split('\n\n')
  .map(part => part.split('\n'))

/** What `check` says of a mail server. */
async function sayOfMail(t: Test, url: string, ca: string | undefined = certificate.cert): Promise<string> {
  const provider = openSmtp({
    url,
    bounceTo: 'bounces@example.com',
    ...(ca !== undefined && { tls: { ca } }),
  })
  t.teardown(() => provider.close())
  return linesOf([await checkLogin(provider, quote('nobody knows'))]).join()
}

async function start(t: Test, options: SmtpServerOptions, refuse?: SmtpStep, reply = '550 5.7.1 no') {
  const { server, port } = await startSmtpServer(t, options)
  if (refuse !== undefined) server.act = ({ step }) => (step === refuse ? { is: 'say', reply } : undefined)
  return { server, port, at: `courier:${encodeURIComponent(LOGIN.pass)}@127.0.0.1:${port}` }
}

t.test('a mail server: each cause has its words and its advice', async t => {
  const well = await start(t, { certificate, login: LOGIN })
  const misnamed = await createTestCertificate({ name: 'other.example.com' })
  const wrongName = await start(t, { certificate: misnamed })
  const plain = await start(t, {})
  const secure = await start(t, { certificate, secure: true })
  // A TLS alert: handshake_failure.
  const alert = await listen(
    t,
    createTcpServer(socket => void socket.on('error', () => {}).end(Buffer.from([21, 3, 3, 0, 2, 2, 40]))),
  )
  const login = await start(t, { certificate, login: { user: 'courier', pass: 'another' } })
  const sender = await start(t, { certificate, login: LOGIN }, 'MAIL')
  const unknown = await start(t, { certificate }, 'MAIL', '530 5.7.0 Authentication required')
  const banned = await start(t, { certificate }, 'greeting', '554 go away')
  const said: string[] = []
  for (const [url, ca] of [
    [`smtp://${well.at}`],
    ['smtp://127.0.0.1:1'],
    [`smtp://${well.at}`, ''],
    [`smtp://${wrongName.at}`, misnamed.cert],
    [`smtps://${plain.at}`],
    [`smtps://127.0.0.1:${alert}`],
    [`smtp://${plain.at}`],
    [`smtp://${secure.at}`],
    [`smtp://${login.at}`],
    [`smtp://${sender.at}`],
    [`smtp://127.0.0.1:${unknown.port}`],
    [`smtp://${banned.at}`],
  ] as const)
    said.push(
      (await sayOfMail(t, url, ca))
        .replaceAll(/127\.0\.0\.1:\d{2,}/g, 'HOST:PORT')
        // Node's own advice.
        .replace(/; if the root CA [^)]*/, ''),
    )
  t.same(said, MAIL)
  const commands = well.server.connections[0]?.commands ?? []
  await until(() => commands.at(-1) === 'QUIT', 'the goodbye')
  t.same(commands.slice(-3), ['MAIL FROM:<bounces@example.com>', 'RSET', 'QUIT'], 'nothing was sent')
})

t.test('an access token: each cause has its words and its advice', async t => {
  const { endpoint, server, port } = await startOauth2(t)
  const say = async (url = endpoint.url, { secret = CLIENT.secret, refreshToken = '' } = {}) => {
    const provider = openSmtp({
      url: `smtp://${encodeURIComponent(USER)}@127.0.0.1:${port}?ignoreTLS=true`,
      bounceTo: USER,
      accessTokens: createAccessTokens(
        { url, clientId: CLIENT.id, clientSecret: secret, refreshToken: refreshToken || undefined },
        { clock: { now: Date.now }, limits: tokenLimits(SHORT_SMTP) },
      ),
    })
    t.teardown(() => provider.close())
    const said = linesOf([await checkLogin(provider, quote('nobody knows'))]).join()
    t.notMatch(said, /canary/)
    return said
  }
  const said = [
    await say(),
    await say('http://127.0.0.1:1/x'),
    await say(endpoint.url, { secret: 'canary-wrong' }),
    await say(endpoint.url, { refreshToken: 'canary' }),
  ]
  const refuse = (error: string) => {
    endpoint.act = { is: 'answer', status: 400, body: JSON.stringify({ error }) }
  }
  refuse('invalid_grant')
  said.push(await say(endpoint.url, { refreshToken: 'canary' }))
  for (const error of ['invalid_grant', 'invalid_scope', 'invalid_request', 'temporarily_unavailable']) {
    refuse(error)
    said.push(await say())
  }
  endpoint.act = { is: 'answer', status: 404, body: 'nothing' }
  said.push(await say())
  endpoint.act = { is: 'stall' }
  said.push(await say())
  endpoint.act = undefined
  server.act = ({ step }) =>
    step === 'AUTH' ? { is: 'say', reply: '535-5.7.8 no\r\n535 5.7.8 no' } : undefined
  said.push(await say())
  t.same(
    said.map(line =>
      line
        .replaceAll(/127(?:\.\d+){3}:\d{2,}/g, 'HOST:PORT')
        // Whichever clock is first.
        .replace(/Headers Timeout Error|the answer took too long/, 'TOO LATE'),
    ),
    TOKEN,
  )
})

t.test('Twilio: each cause has its words and its advice', async t => {
  const server = await startTwilioServer()
  t.teardown(() => server.close())
  const say = async (apiUrl = server.url) => {
    const provider = createTwilioProvider({
      accountSid: ACCOUNT_SID,
      login: { authToken: AUTH_TOKEN },
      apiUrl,
      clock: { now: Date.now },
      limits: SHORT_HTTP,
    })
    t.teardown(() => provider.close())
    return linesOf([await checkLogin(provider, quote('nobody knows'))]).join()
  }
  const said = [await say()]
  for (const [status, body] of [
    [401, { code: 20003, message: 'Authenticate' }],
    [403, { code: 20403, message: 'Forbidden' }],
    [403, { code: 20005, message: 'Account not active' }],
    [404, { code: 20404, message: 'Not found' }],
    [503, { message: 'Unavailable' }],
  ] as const) {
    server.fault = () => ({ is: 'answer', status, body: JSON.stringify(body) })
    said.push(await say())
  }
  server.fault = undefined
  said.push(await say('http://127.0.0.1:1'))
  t.same(said, TWILIO)
})
