import t from 'tap'
import { createSmtpProvider } from '../../src/providers/smtp/provider.ts'
import { createTwilioProvider } from '../../src/providers/twilio.ts'
import { createSmtpServer, type SmtpStep } from '../rigs/smtp-server.ts'
import { ACCOUNT_SID, AUTH_TOKEN, startTwilioServer } from '../rigs/twilio-server.ts'
import { SHORT_SMTP } from './short.ts'
import { mail, SMS } from './smtp/rig.ts'

/** A clock that the dialogue moves. */
function clockAt(start: number) {
  let now = start
  return {
    now: () => now,
    pass: (ms: number) => {
      now += ms
    },
  }
}

t.test('a mail whose life ends on the way to its dot is not sent', async t => {
  for (const step of ['greeting', 'EHLO', 'MAIL', 'RCPT', 'DATA'] satisfies SmtpStep[]) {
    const clock = clockAt(1_000_000)
    const server = createSmtpServer()
    const { port } = await server.listen()
    const provider = createSmtpProvider({
      name: 'smtp',
      url: `smtp://127.0.0.1:${port}?ignoreTLS=true`,
      connections: 1,
      ehloName: 'courier.example',
      bounceTo: 'bounces@example.com',
      limits: SHORT_SMTP,
      clock,
    })
    server.act = moment => {
      if (moment.step === step) clock.pass(1000)
      return undefined
    }
    const late = { ...mail(), expiresAt: clock.now() + 1000 }
    const outcome = await provider.send(late, new AbortController().signal)
    t.match(outcome, { is: 'retry', code: 'expired' }, step)
    const early = step === 'greeting' || step === 'EHLO'
    t.equal('untouched' in outcome, early, `${step}: before MAIL FROM nothing of the message has left`)
    const commands = server.connections.flatMap(connection => connection.commands)
    t.equal(
      commands.some(command => command.startsWith('MAIL')),
      !early,
      step,
    )
    server.act = undefined
    const next = { ...mail(), expiresAt: clock.now() + 1000 }
    t.match(await provider.send(next, new AbortController().signal), { is: 'sent' }, 'and the next one is')
    t.equal(server.mails.length, 1)
    await provider.close()
    await server.close()
  }
})

t.test('an SMS whose life ends while connecting is not sent', async t => {
  const server = await startTwilioServer()
  let reads = 0
  // The first look is before the connection is made, the second just before the request is written.
  const clock = { now: () => 1_000_000 + (reads++ > 0 ? 5000 : 0) }
  const provider = createTwilioProvider({
    accountSid: ACCOUNT_SID,
    login: { authToken: AUTH_TOKEN },
    sender: { from: '+15005550006' },
    apiUrl: server.url,
    clock,
  })
  const outcome = await provider.send({ ...SMS, expiresAt: 1_002_000 }, new AbortController().signal)
  t.match(outcome, { is: 'retry', code: 'expired', untouched: true })
  t.equal(server.requests.length, 0)
  await provider.close()
  await server.close()
})
