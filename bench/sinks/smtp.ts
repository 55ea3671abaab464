import net from 'node:net'
import { answerParent } from '../child.ts'
import { codeOf } from '../distinct.ts'
import { createTally } from './tally.ts'

/** An SMTP server that takes everything, as fast as it can, and counts. `LATENCY_MS`: what it waits before it accepts. */
const latencyMs = Number(process.env['LATENCY_MS'] ?? 0)
const tally = createTally()
const END = Buffer.from('\r\n.\r\n')
let last: Buffer | undefined

const server = net.createServer({ noDelay: true }, socket => {
  let held: Buffer = Buffer.alloc(0)
  let inMessage = false
  let number = 0
  socket.on('error', () => {})
  socket.write('220 sink ESMTP\r\n')
  socket.on('data', (chunk: Buffer) => {
    held = held.length ? Buffer.concat([held, chunk]) : chunk
    let replies = ''
    for (;;) {
      const end = inMessage ? held.indexOf(END) : held.indexOf('\r\n')
      if (end < 0) break
      if (inMessage) {
        const message = held.subarray(0, end + 2)
        tally.note(number, message.includes(codeOf(number)))
        last = message
        held = held.subarray(end + END.length)
        inMessage = false
        if (latencyMs > 0) setTimeout(() => socket.write('250 2.0.0 Ok: queued as 4F2C1A\r\n'), latencyMs)
        else replies += '250 2.0.0 Ok: queued as 4F2C1A\r\n'
        continue
      }
      const line = held.toString('latin1', 0, end)
      held = held.subarray(end + 2)
      const verb = line.slice(0, 4).toUpperCase()
      if (verb === 'MAIL') replies += '250 2.1.0 Ok\r\n'
      else if (verb === 'RCPT') {
        number = Number(/<reader\.(\d{8})@/.exec(line)?.[1] ?? 0)
        replies += '250 2.1.5 Ok\r\n'
      } else if (verb === 'DATA') {
        replies += '354 go\r\n'
        inMessage = true
      } else if (verb === 'EHLO')
        replies += '250-sink\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 ENHANCEDSTATUSCODES\r\n'
      else if (verb === 'QUIT') socket.end('221 bye\r\n')
      else replies += '250 2.0.0 Ok\r\n'
    }
    if (replies) socket.write(replies)
  })
})

server.listen(0, '127.0.0.1', () => {
  answerParent(question => {
    if (question.is === 'port') return (server.address() as net.AddressInfo).port
    if (question.is === 'last') return last?.toString('latin1') ?? ''
    return tally.received(question['asked'] as [number, number][])
  })
})
