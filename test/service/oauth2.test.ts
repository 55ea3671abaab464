import t from 'tap'
import { mailBody, startRig, until } from '../rigs/service.ts'
import { startSmtpServer } from '../rigs/smtp-server.ts'
import { CLIENT, startTokenEndpoint } from '../rigs/token-endpoint.ts'

t.test('while the token endpoint is away mails wait, and all go out afterwards', async t => {
  const endpoint = await startTokenEndpoint({
    expiresIn: 3600,
    refreshToken: 'canary-refresh',
    rotates: true,
  })
  t.teardown(() => endpoint.close())
  const takes = (_user: string, token: string) => endpoint.issued.includes(token)
  const { server: smtp, port } = await startSmtpServer(t, { xoauth2: { takes } })
  const rig = await startRig(t, {
    SMTP_URL: `smtp://courier%40courier.example@127.0.0.1:${port}?ignoreTLS=true`,
    SMTP_OAUTH2_TOKEN_URL: endpoint.url,
    SMTP_OAUTH2_CLIENT_ID: CLIENT.id,
    SMTP_OAUTH2_CLIENT_SECRET: CLIENT.secret,
    SMTP_OAUTH2_REFRESH_TOKEN: 'canary-refresh',
    ANSWER_WITHIN_MS: '200',
    LOG_LEVEL: 'trace',
  })
  endpoint.act = { is: 'answer', status: 503, body: 'out of order' }
  // A code: it is tried again within a second.
  const code = { type: 5, code: '482913' }
  for (const to of ['ann@example.com', 'ben@example.com'])
    t.match(await rig.post('email', mailBody({ to }, code)), { status: 200, errCode: 0 })
  await until(() => endpoint.requests.length > 0, 'it is asked')
  t.equal(smtp.connections.length, 0)
  const attempts = () => rig.events().filter(({ event }) => event === 'attempt')
  await until(() => attempts().length > 0, 'an attempt has ended')
  endpoint.act = undefined
  await until(() => smtp.mails.length === 2, 'all are sent')
  t.same(smtp.mails.flatMap(({ to }) => to).sort(), ['ann@example.com', 'ben@example.com'])
  t.equal(endpoint.issued.length, 1)
  t.match(rig.log.join('\n'), /http-503/)
  t.notMatch(rig.log.join('\n'), /canary\.access|canary-client|canary-refresh|canary-rotated/)
})
