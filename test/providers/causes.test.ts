import { createServer as createTcpServer } from 'node:net'
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
import { SHORT_SMTP } from './short.ts'
import { startOauth2, USER } from './smtp/oauth2.ts'
import { LOGIN, openSmtp } from './smtp/rig.ts'

const certificate = await createTestCertificate()

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
  t.same(said, [
    'ok smtp: connected and logged in; takes bounces@example.com as sender',
    'fail smtp: nothing listens at 127.0.0.1:1 (connect ECONNREFUSED 127.0.0.1:1) → look at host and port in SMTP_URL, and whether the server runs',
    "fail smtp: the certificate of 127.0.0.1 is of an authority that is not trusted here (the server's certificate was not accepted: self-signed certificate) → set TLS_CA_FILE to the certificate of that authority; a server of the internet has to send its whole chain",
    "fail smtp: the certificate is not for the name 127.0.0.1 (the server's certificate was not accepted: Hostname/IP does not match certificate's altnames: IP: 127.0.0.1 is not in the cert's list: ) → write the name into SMTP_URL that is in the certificate",
    'fail smtp: HOST:PORT does not speak TLS from the first byte (wrong version number) → write smtp:// (STARTTLS) instead of smtps://, or the port for smtps://, which is 465',
    'fail smtp: the connection to HOST:PORT fails (ssl/tls alert handshake failure) → look at host and port in SMTP_URL',
    'fail smtp: HOST:PORT offers no TLS (the server offers no TLS, without which nothing is sent: 500 5.5.2 what?) → look at the port in SMTP_URL; 587 is the usual one',
    'fail smtp: HOST:PORT takes the connection, and says nothing (Greeting never received) → write smtps:// if it begins with TLS, as on port 465; else look at the server, and whether a firewall or proxy on the way answers in its place',
    'fail smtp: the server refuses the login (535 5.7.8 Authentication credentials invalid) → look at user and password in SMTP_URL; many providers want an app password, or SMTP switched on for the mailbox',
    'fail smtp: the server refuses the sender (550 5.7.1 no) → set MAIL_BOUNCE_TO, or MAIL_FROM, to an address that this login may send as',
    'fail smtp: the server wants a login (530 5.7.0 Authentication required) → write user and password into SMTP_URL, percent-encoded, or the user alone with SMTP_OAUTH2_TOKEN_URL',
    'fail smtp: the server refuses the connection (554 go away) → its own words say why: often the address that this machine connects from has to be allowed',
  ])
  t.equal(well.server.mails.length, 0, 'nothing was sent')
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
  t.match(await say(), /^ok smtp: connected and logged in with an access token; takes courier@example\.com/)
  t.match(await say('http://127.0.0.1:1/x'), /nothing listens at 127\.0\.0\.1:1 .* → .*SMTP_OAUTH2_TOKEN_URL/)
  t.match(
    await say(endpoint.url, { secret: 'canary-wrong' }),
    /^fail smtp: the token endpoint refuses the client \(.*invalid_client AADSTS7000215\) → .*CLIENT_SECRET/,
  )
  t.match(await say(endpoint.url, { refreshToken: 'canary' }), /refuses the request .*unauthorized_client/)
  const refuse = (error: string) => {
    endpoint.act = { is: 'answer', status: 400, body: JSON.stringify({ error }) }
  }
  refuse('invalid_grant')
  t.match(
    await say(endpoint.url, { refreshToken: 'canary' }),
    /refuses the refresh token .* → it has expired, was revoked/,
  )
  refuse('invalid_scope')
  t.match(await say(), /refuses the request .*invalid_scope.* → .*SMTP_OAUTH2_SCOPE/)
  refuse('invalid_request')
  t.match(await say(), /refuses the request .* → its own words say why: often SMTP_OAUTH2_SCOPE/)
  refuse('temporarily_unavailable')
  t.match(await say(), /asks for time .* → nothing is to be mended here/)
  endpoint.act = { is: 'answer', status: 404, body: 'nothing' }
  t.match(await say(), /answers HTTP 404, and no token .* → look at SMTP_OAUTH2_TOKEN_URL/)
  endpoint.act = { is: 'stall' }
  t.match(await say(), /^fail smtp: .* → .*SMTP_OAUTH2_TOKEN_URL/)

  endpoint.act = undefined
  server.act = ({ step }) =>
    step === 'AUTH' ? { is: 'say', reply: '535-5.7.8 no\r\n535 5.7.8 no' } : undefined
  t.match(await say(), /the server does not take it \(535 5\.7\.8 .* → .*mail\.google\.com/)
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
      limits: { connectMs: 500, answerMs: 500, bodyMs: 500 },
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
  t.same(said, [
    'ok twilio: the login works',
    'fail twilio: Twilio refuses the login (Authenticate) → look at TWILIO_ACCOUNT_SID and TWILIO_AUTH_TOKEN, or at the API key and its secret: a token that was rotated has ended',
    'fail twilio: Twilio knows the login, and does not allow it this (Forbidden) → look at the rights of the API key, at the allowed networks of the account, and that TWILIO_API_URL is of its region',
    'fail twilio: the account is suspended or closed (Account not active) → look at https://console.twilio.com: a bill that is open, or a question of Twilio that waits for an answer',
    'fail twilio: Twilio does not know the account (Not found) → look at TWILIO_ACCOUNT_SID, and that TWILIO_API_URL is of its region',
    'fail twilio: Twilio refuses the request (HTTP 503) (Unavailable) → look at https://console.twilio.com and https://status.twilio.com, and check again later',
  ])
  server.fault = undefined
  t.match(await say('http://127.0.0.1:1'), /nothing listens at .* → look at host and port in TWILIO_API_URL/)
})
