import t from 'tap'
import type { SmtpStep } from '../rigs/smtp-server.ts'
import { startTwilioServer } from '../rigs/twilio-server.ts'
import { mail, SMS, startSmtp } from './smtp/rig.ts'
import { openTwilio } from './twilio/rig.ts'

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
    const { server, send } = await startSmtp(t, {}, { clock })
    server.act = moment => {
      if (moment.step === step) clock.pass(1000)
      return undefined
    }
    const late = { ...mail(), expiresAt: clock.now() + 1000 }
    const outcome = await send(late)
    t.match(outcome, { is: 'retry', code: 'expired' }, step)
    const early = step === 'greeting' || step === 'EHLO'
    t.equal('untouched' in outcome, early, `${step}: before MAIL FROM nothing of the message has left`)
    const commands = server.connections.flatMap(connection => connection.commands)
    const isNamed = commands.some(command => command.startsWith('MAIL'))
    t.equal(isNamed, !early, step)
    server.act = undefined
    const next = { ...mail(), expiresAt: clock.now() + 1000 }
    t.match(await send(next), { is: 'sent' }, 'and the next one is')
    t.equal(server.mails.length, 1)
  }
})

t.test('an SMS whose life ends while connecting is not sent', async t => {
  const server = await startTwilioServer()
  let reads = 0
  // The first look is before the connection is made, the second just before the request is written.
  const clock = { now: () => 1_000_000 + (reads++ > 0 ? 2000 : 0) }
  const provider = openTwilio(server.url, { clock })
  const outcome = await provider.send({ ...SMS, expiresAt: 1_002_000 }, new AbortController().signal)
  t.match(outcome, { is: 'retry', code: 'expired', untouched: true })
  // It is over at its end, before a connection is asked for.
  const ended = { code: 'expired', reply: 'its validity is over', untouched: true }
  reads = 0
  t.match(await provider.send({ ...SMS, expiresAt: 1_000_000 }, new AbortController().signal), ended)
  t.same([server.requests.length, reads], [0, 1])
  await provider.close()
  await server.close()
})
