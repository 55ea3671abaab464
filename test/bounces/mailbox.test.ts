import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { createBounceMailbox } from '../../src/bounces/mailbox.ts'
import { until } from '../rigs/service.ts'

const HEAD = 'Content-Type: multipart/report; report-type=delivery-status\r\n\r\n'

/** Starts a mail server whose mailbox gets reports, and which says of a folder that exists what servers without RFC 5530 say. */
async function startServer(t: Test) {
  const said: string[] = []
  const sockets: Socket[] = []
  const gone = new Set<number>()
  let count = 2
  let validity = 7
  const uids = () => Array.from({ length: count }, (_, at) => at + 1).filter(uid => !gone.has(uid))
  const literal = (text: string) => `{${text.length}}\r\n${text}`

  function answer(command: string, rest: string): readonly string[] {
    switch (command) {
      case 'LOGIN':
      case 'CAPABILITY':
        return ['* CAPABILITY IMAP4rev1 MOVE UIDPLUS IDLE', 'OK']
      case 'LIST':
        return ['* LIST () "/" "INBOX"', 'OK']
      case 'SELECT':
        return [
          `* ${count} EXISTS`,
          `* OK [UIDVALIDITY ${validity}]`,
          `* OK [UIDNEXT ${count + 1}]`,
          'OK [READ-WRITE]',
        ]
      case 'CREATE':
        return ['NO Mailbox already exists']
      case 'UID SEARCH':
        return [`* SEARCH ${uids().join(' ')}`, 'OK']
      case 'UID FETCH': {
        const asked = rest.split(' ')[0] ?? ''
        const [from = 0, to = from] = asked.split(/[:,]/).map(Number)
        const part = rest.includes('HEADER') ? 'BODY[HEADER.FIELDS (CONTENT-TYPE)]' : 'BODY[]<0>'
        const found = uids().filter(uid => uid >= from && uid <= to)
        return [...found.map(uid => `* ${uid} FETCH (UID ${uid} ${part} ${literal(HEAD)})`), 'OK']
      }
      case 'UID MOVE':
        gone.add(Number(rest.split(' ')[0]))
        return ['OK']
      default:
        return ['OK']
    }
  }

  const server = createServer(socket => {
    sockets.push(socket)
    let idle = ''
    let before = ''
    socket.on('error', () => {})
    socket.write('* OK ready\r\n')
    socket.on('data', data => {
      const lines = (before + data.toString()).split('\r\n')
      before = lines.pop() ?? ''
      for (const line of lines) {
        if (line === 'DONE') socket.write(`${idle} OK\r\n`)
        const [, tag = '', command = '', rest = ''] = /^(\w+) ((?:UID )?\w+) ?(.*)$/.exec(line) ?? []
        if (tag === '') continue
        said.push(command)
        if (command === 'IDLE') {
          idle = tag
          socket.write('+ idling\r\n')
        } else
          socket.write(
            answer(command, rest)
              .map(each => `${each.startsWith('*') ? '' : `${tag} `}${each}\r\n`)
              .join(''),
          )
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    said,
    gone,
    /** One more report comes. */
    add(): void {
      count += 1
      sockets.at(-1)?.write(`* ${count} EXISTS\r\n`)
    },
    /** The mailbox is made anew, with one report in it. */
    renew(): void {
      sockets.at(-1)?.destroy()
      validity += 1
      count = 1
      gone.clear()
    },
  }
}

t.test(
  'a report is moved where the folder is there already, however the server says so; many at once leave nothing behind',
  async t => {
    const server = await startServer(t)
    const warnings: string[] = []
    const warned = (warning: Error) => void warnings.push(warning.message)
    process.on('warning', warned)
    t.teardown(() => process.off('warning', warned))
    const failures: string[] = []
    const mailbox = createBounceMailbox({
      address: {
        host: '127.0.0.1',
        port: server.port,
        secure: false,
        startTls: false,
        user: 'u',
        pass: 'p',
        mailbox: 'INBOX',
      },
      take: async () => true,
      takeLease: undefined,
      clock: { now: Date.now },
      // It connects again at once.
      random: () => -1.46,
      emit: event => {
        if (event.type === 'bounce-mailbox' && event.is === 'failed') failures.push(event.reason)
      },
    })
    mailbox.start()
    t.teardown(() => mailbox.stop())
    await until(() => server.gone.size === 2 || failures.length > 0, 'both reports are moved', 5000)
    t.same(failures, [])
    // A report that comes while the others are read is found with the next one.
    const coming = setInterval(server.add, 20)
    t.teardown(() => clearInterval(coming))
    await until(() => server.gone.size >= 20, 'all that come are moved', 10_000)
    clearInterval(coming)
    const took: number[] = []
    for (let n = 0; n < 7; n += 1) {
      const began = performance.now()
      server.renew()
      await until(() => server.gone.size === 1, 'what was read in the one before says nothing of it', 9000)
      took.push(performance.now() - began)
    }
    t.ok((took.at(-1) ?? 0) < 10 * (took[0] ?? 0) + 500, 'what failed before it was open is over')
    t.same(warnings, [])
  },
)
