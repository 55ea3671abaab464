import type { AddressInfo } from 'node:net'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { callbackify } from 'node:util'
import { SMTPServer, type SMTPServerSession } from 'smtp-server'
import { createTwilioStandIn } from '../../sandbox/carriers/twilio.ts'
import { CODE } from '../faults/callbacks.ts'
import type { Arrival } from '../faults/checker.ts'
import { ACCOUNT_SID, AUTH_TOKEN } from '../rigs/twilio-server.ts'

/** An SMTP server and a Twilio that take everything, after a while, and keep of each message what it is known by. */
export interface Sinks {
  readonly smtpPort: number
  readonly twilioUrl: string
  readonly arrivals: readonly Arrival[]
  close(): Promise<void>
}

/**
 * @param delayMs asked for each message: how long its acceptance takes, so that a kill finds some on their way.
 */
export async function startSinks(delayMs: () => number): Promise<Sinks> {
  const arrivals: Arrival[] = []
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    closeTimeout: 100,
    // A message counts with its dot.
    onData: callbackify(async (stream: Readable, { envelope }: SMTPServerSession): Promise<void> => {
      const mail = await text(stream)
      const id = /^Message-ID: <(\w+)@/im.exec(mail)?.[1]
      const to = envelope.rcptTo[0]?.address ?? ''
      arrivals.push({ channel: 'email', to, code: CODE.exec(mail)?.[0] ?? '', id, at: Date.now() })
      await pause(delayMs())
    }),
  })
  // Clients that are killed reset their connections.
  server.on('error', () => {})
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port: smtpPort } = server.server.address() as AddressInfo
  const twilio = createTwilioStandIn({
    accountSid: ACCOUNT_SID,
    authToken: AUTH_TOKEN,
    keep: 1_000_000,
    fault: () => ({ is: 'delay', ms: delayMs() }),
    onMessage: ({ to, body, at }) =>
      void arrivals.push({ channel: 'sms', to, code: CODE.exec(body)?.[0] ?? '', id: undefined, at }),
  })
  const { port } = await twilio.listen()
  return {
    smtpPort,
    twilioUrl: `http://127.0.0.1:${port}`,
    arrivals,
    async close() {
      await new Promise<void>(resolve => server.close(resolve))
      await twilio.close()
    },
  }
}
