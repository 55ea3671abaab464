import net from 'node:net'

/**
 * Starts an SMTP server that takes every mail as fast as it can: it reads the commands that the service sends, and
 * checks none of them.
 * @param onMessage gets the address of RCPT and the whole message.
 * @param latencyMs asked for each recipient and each message: how long it waits before it accepts it; Infinity: for ever.
 * @returns its port, any free one.
 */
export async function startSmtpSink(
  onMessage: (recipient: string, message: Buffer) => void,
  latencyMs: Latency = () => 0,
): Promise<number> {
  const server = net.createServer({ noDelay: true }, socket => takeMails(socket, onMessage, latencyMs))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as net.AddressInfo).port
}

/** Says how long the server waits before it accepts a recipient, or the message to it, ms. */
export type Latency = (what: 'recipient' | 'message', recipient: string) => number

const END = Buffer.from('\r\n.\r\n')
const ACCEPTED = '250 2.0.0 Ok: queued as 4F2C1A\r\n'
const REPLIES: Readonly<Record<string, string>> = {
  EHLO: '250-sink\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 ENHANCEDSTATUSCODES\r\n',
  MAIL: '250 2.1.0 Ok\r\n',
  RCPT: '250 2.1.5 Ok\r\n',
  DATA: '354 go\r\n',
}

function takeMails(
  socket: net.Socket,
  onMessage: (recipient: string, message: Buffer) => void,
  latencyMs: Latency,
): void {
  let unread: Buffer = Buffer.alloc(0)
  let inMessage = false
  let recipient = ''
  socket.on('error', () => {})
  socket.write('220 sink ESMTP\r\n')
  const answerAfter = (ms: number, answer: string): void => {
    if (Number.isFinite(ms)) setTimeout(() => socket.write(answer), ms)
  }
  socket.on('data', (chunk: Buffer) => {
    unread = unread.length ? Buffer.concat([unread, chunk]) : chunk
    let replies = ''
    for (;;) {
      const end = unread.indexOf(inMessage ? END : '\r\n')
      if (end < 0) break
      const part = unread.subarray(0, end)
      unread = unread.subarray(end + (inMessage ? END.length : 2))
      if (inMessage) {
        inMessage = false
        onMessage(recipient, part)
        const waitMs = latencyMs('message', recipient)
        if (waitMs > 0) answerAfter(waitMs, ACCEPTED)
        else replies += ACCEPTED
        continue
      }
      const line = part.toString('latin1')
      const verb = line.slice(0, 4).toUpperCase()
      if (verb === 'QUIT') {
        socket.end('221 bye\r\n')
        continue
      }
      if (verb === 'RCPT') recipient = /<([^>]*)>/.exec(line)?.[1] ?? ''
      inMessage = verb === 'DATA'
      const waitMs = verb === 'RCPT' ? latencyMs('recipient', recipient) : 0
      if (waitMs > 0) answerAfter(waitMs, REPLIES['RCPT'] ?? '')
      else replies += REPLIES[verb] ?? '250 2.0.0 Ok\r\n'
    }
    if (replies) socket.write(replies)
  })
}
