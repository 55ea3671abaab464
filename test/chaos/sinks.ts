import { createServer, type Socket } from 'node:net'
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
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    const accept = (mail: Arrival) => {
      arrivals.push(mail)
      return delayMs()
    }
    serve(socket, accept)
  })
  const smtpPort = await new Promise<number>(resolve => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port))
  })
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
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
      await twilio.close()
    },
  }
}

const END = '\r\n.\r\n'

/** Just what a client that does everything right needs. A message counts with its dot. */
function serve(socket: Socket, accept: (mail: Arrival) => number): void {
  let held = ''
  let to = ''
  let inMessage = false
  socket.write('220 sink ESMTP\r\n')
  socket.on('data', chunk => {
    held += chunk.toString('latin1')
    for (;;) {
      const end = held.indexOf(inMessage ? END : '\r\n')
      if (end < 0) return
      const text = held.slice(0, end)
      held = held.slice(end + (inMessage ? END.length : 2))
      if (inMessage) {
        inMessage = false
        const id = /^Message-ID: <(\w+)@/im.exec(text)?.[1]
        const wait = accept({ channel: 'email', to, code: CODE.exec(text)?.[0] ?? '', id, at: Date.now() })
        setTimeout(() => socket.write('250 2.0.0 ok\r\n'), wait)
        continue
      }
      const verb = text.slice(0, 4).toUpperCase()
      if (verb === 'RCPT') to = /<(.*?)>/.exec(text)?.[1] ?? ''
      if (verb === 'DATA') inMessage = true
      if (verb === 'QUIT') socket.end('221 bye\r\n')
      else
        socket.write(
          inMessage ? '354 go\r\n' : verb === 'EHLO' ? '250-sink\r\n250 8BITMIME\r\n' : '250 ok\r\n',
        )
    }
  })
}
