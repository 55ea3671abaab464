import net from 'node:net'
import { answerParent } from '../child.ts'

/** An SMTP server that takes everything and counts alarms by the device in their subject. */
const counts = new Map<string, number>()
let messages = 0
const END = Buffer.from('\r\n.\r\n')

const server = net.createServer({ noDelay: true }, socket => {
  let held: Buffer = Buffer.alloc(0)
  let inMessage = false
  socket.on('error', () => {})
  socket.write('220 sink ESMTP\r\n')
  socket.on('data', (chunk: Buffer) => {
    held = held.length > 0 ? Buffer.concat([held, chunk]) : chunk
    for (;;) {
      const end = held.indexOf(inMessage ? END : '\r\n')
      if (end < 0) return
      const part = held.toString('latin1', 0, end)
      held = held.subarray(end + (inMessage ? END.length : 2))
      if (inMessage) {
        inMessage = false
        messages += 1
        const device = /^Subject: Alarm: device (\d+)/m.exec(part)?.[1] ?? 'none'
        counts.set(device, (counts.get(device) ?? 0) + 1)
        socket.write('250 2.0.0 Ok: queued as 4F2C1A\r\n')
        continue
      }
      const verb = part.slice(0, 4).toUpperCase()
      if (verb === 'DATA') {
        inMessage = true
        socket.write('354 go\r\n')
      } else if (verb === 'EHLO') socket.write('250-sink\r\n250-8BITMIME\r\n250 ENHANCEDSTATUSCODES\r\n')
      else if (verb === 'QUIT') socket.end('221 bye\r\n')
      else socket.write('250 2.0.0 Ok\r\n')
    }
  })
})

server.listen(0, '127.0.0.1', () => {
  answerParent(({ is }) => {
    if (is === 'port') return (server.address() as net.AddressInfo).port
    const doubled = [...counts.values()].filter(count => count > 1).length
    return { messages, devices: counts.size, doubled, nameless: counts.get('none') ?? 0 }
  })
})
