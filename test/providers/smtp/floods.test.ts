import net from 'node:net'
import tls from 'node:tls'
import t, { type Test } from 'tap'
import { createTestCertificate } from '../../rigs/certificate.ts'
import { listen } from '../../rigs/listen.ts'
import { mail, openSmtp, urlOf } from './rig.ts'

const MB = 1024 * 1024

/** Where a server begins to flood. */
type Moment = 'greeting' | 'EHLO' | 'DATA' | 'dot' | 'TLS'

const FLOODS = {
  'empty lines': '\r\n',
  'bare line ends': '\n',
  'blank lines': ' \r\n',
  replies: '250 ok\r\n',
  'a reply without an end': '250-ok\r\n',
  'a line without an end': '2',
} as const

const MOMENTS = {
  greeting: 'retry',
  EHLO: 'retry',
  // What comes at once and unasked ends the connection before the message is on its way, or after it.
  DATA: /retry|ambiguous/,
  dot: /sent|ambiguous/,
  TLS: 'retry',
} as const satisfies Record<Moment, unknown>

const certificate = await createTestCertificate()

/** An SMTP server that speaks until then, and after it as fast as it is read. */
async function startFlooder(t: Test, moment: Moment, unit: string, { key, cert }: typeof certificate) {
  const block = unit.repeat(Math.ceil(65_536 / unit.length))
  const flooder = { port: 0, octets: 0 }
  const flood = (socket: net.Socket) => {
    const write = () => {
      while (socket.writable && !socket.writableNeedDrain) {
        socket.write(block)
        flooder.octets += block.length
      }
    }
    socket.on('drain', write)
    write()
  }
  const sockets = new Set<net.Socket>()
  const speak = (socket: net.Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    if (moment === 'greeting') return flood(socket)
    socket.write('220 hello\r\n')
    let isBody = false
    socket.setEncoding('latin1').on('data', (text: unknown) => {
      for (const line of String(text).split('\r\n').slice(0, -1)) {
        if (isBody && line !== '.') continue
        const command = isBody ? 'dot' : (line.split(' ')[0] ?? '')
        isBody = command === 'DATA'
        if (command === moment) flood(socket)
        else
          socket.write(
            command === 'DATA'
              ? '354 go on\r\n'
              : command === 'EHLO'
                ? '250-rig\r\n250 AUTH PLAIN\r\n'
                : '250 ok\r\n',
          )
      }
    })
  }
  const server = moment === 'TLS' ? tls.createServer({ key, cert }, flood) : net.createServer(speak)
  server.on('tlsClientError', () => {})
  server.on('secureConnection', (socket: net.Socket) => sockets.add(socket.on('error', () => {})))
  const port = await listen(t, server)
  flooder.port = port
  return flooder
}

await t.test('a mail server that floods is hung up on', async t => {
  for (const [moment, outcome] of Object.entries(MOMENTS) as [Moment, RegExp | string][]) {
    for (const [name, unit] of Object.entries(FLOODS)) {
      const flooder = await startFlooder(t, moment, unit, certificate)
      const url = urlOf(flooder.port).replace('smtp:', moment === 'TLS' ? 'smtps:' : 'smtp:')
      const provider = openSmtp({
        url: moment === 'TLS' ? url : `${url}?ignoreTLS=true`,
        ...(moment === 'TLS' && { tls: { ca: certificate.cert } }),
      })
      const { is, reply } = await provider.send(mail(), new AbortController().signal)
      await provider.close()
      const figures = `${moment}, ${name}: ${is} (${String(reply)}), ${(flooder.octets / MB).toFixed(1)} MB`
      t.match(is, outcome, figures)
      t.ok(flooder.octets < 16 * MB, figures)
    }
  }
})
