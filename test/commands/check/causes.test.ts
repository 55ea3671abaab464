import { createServer as createTcpServer } from 'node:net'
import t, { type Test } from 'tap'
import { quote } from '../../../src/language/sentence.ts'
import { checkLogin } from '../../../src/providers/module.ts'
import { createAccessTokens } from '../../../src/providers/smtp/oauth2.ts'
import { tokenLimits } from '../../../src/providers/smtp/settings.ts'
import { createTwilioProvider } from '../../../src/providers/twilio.ts'
import { SHORT_SMTP } from '../../providers/short.ts'
import { startOauth2, USER } from '../../providers/smtp/oauth2.ts'
import { LOGIN, openSmtp } from '../../providers/smtp/rig.ts'
import { createTestCertificate } from '../../rigs/certificate.ts'
import { listen } from '../../rigs/listen.ts'
import { createSmtpServer, type SmtpServerOptions, type SmtpStep } from '../../rigs/smtp-server.ts'
import { CLIENT } from '../../rigs/token-endpoint.ts'
import { ACCOUNT_SID, AUTH_TOKEN, startTwilioServer } from '../../rigs/twilio-server.ts'
import { linesOf } from './lines.ts'

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
  const server = createSmtpServer(options)
  if (refuse !== undefined) server.act = ({ step }) => (step === refuse ? { is: 'say', reply } : undefined)
  const { port } = await server.listen()
  t.teardown(() => server.close())
  return { server, port, at: `courier:${encodeURIComponent(LOGIN.pass)}@127.0.0.1:${port}` }
}

t.test('a mail server: each cause has its words and its advice', async t => {
  const well = await start(t, { certificate, login: LOGIN })
  const misnamed = await createTestCertificate({ name: 'other.example.com' })
  const wrongName = await start(t, { certificate: misnamed })
  const plain = await start(t, {})
  const secure = await start(t, { certificate, secure: true })
  const mute = await listen(t, createTcpServer())
  const login = await start(t, { certificate, login: { user: 'courier', pass: 'another' } })
  const sender = await start(t, { certificate, login: LOGIN }, 'MAIL')
  const unknown = await start(t, { certificate }, 'MAIL', '530 5.7.0 Authentication required')
  const banned = await start(t, { certificate }, 'greeting', '554 go away')
  for (const [url, words, ca] of [
    [`smtp://${well.at}`, /^ok smtp: connected and logged in; takes bounces@example\.com/],
    [
      'smtp://127.0.0.1:1',
      /^fail smtp: nothing listens at 127\.0\.0\.1:1 .* → look at host and port in SMTP_URL/,
    ],
    [`smtp://${well.at}`, /of an authority that is not trusted here .* → set TLS_CA_FILE/, ''],
    [`smtp://${wrongName.at}`, /not for the name 127\.0\.0\.1 .* → write the name/, misnamed.cert],
    [
      `smtps://${plain.at}`,
      /does not speak TLS from the first byte \(wrong version number\) → write smtp:\/\//,
    ],
    [`smtp://${plain.at}`, /^fail smtp: 127\.0\.0\.1:\d+ offers no TLS .* → look at the port/],
    [`smtp://${secure.at}`, /takes the connection, and says nothing .* → write smtps:/],
    [`smtp://127.0.0.1:${mute}`, /takes the connection, and says nothing .* → .*look at the server/],
    [`smtp://${login.at}`, /the server refuses the login \(535.* → look at user and password/],
    [`smtp://${sender.at}`, /refuses the sender \(550 5\.7\.1 no\) → set MAIL_BOUNCE_TO/],
    [
      `smtp://127.0.0.1:${unknown.port}`,
      /wants a login \(530 5\.7\.0 .* → write user and password into SMTP_URL/,
    ],
    [`smtp://${banned.at}`, /refuses the connection \(554 go away\) → its own words/],
  ] as const) {
    const said = await sayOfMail(t, url, ca)
    t.match(said, words)
    t.notMatch(said, LOGIN.pass)
  }
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
  const answer = (status: number, body: object) => {
    server.fault = () => ({ is: 'answer', status, body: JSON.stringify(body) })
  }
  t.match(await say(), /^ok twilio: the login works/)
  for (const [status, body, words] of [
    [
      401,
      { code: 20003, message: 'Authenticate' },
      /^fail twilio: Twilio refuses the login \(Authenticate\) → look at TWILIO_ACC/,
    ],
    [403, { code: 20403, message: 'Forbidden' }, /does not allow it this .* → look at the rights/],
    [
      403,
      { code: 20005, message: 'Account not active' },
      /suspended or closed .* → look at https:\/\/console/,
    ],
    [404, { code: 20404, message: 'Not found' }, /does not know the account/],
    [503, { message: 'Unavailable' }, /refuses the request \(HTTP 503\) .* → .*status\.twilio\.com/],
  ] as const) {
    answer(status, body)
    t.match(await say(), words)
  }
  server.fault = undefined
  t.match(await say('http://127.0.0.1:1'), /nothing listens at .* → look at host and port in TWILIO_API_URL/)
})
