import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import net, { type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import tls from 'node:tls'
import t, { type Test } from 'tap'
import { createDescriptors } from '../../src/callback/descriptors.ts'
import { createPublicListener, rejectPipelining, renewTicketKeys } from '../../src/callback/listener.ts'
import { createTestCertificate } from '../rigs/certificate.ts'
import { listen, listenAs } from '../rigs/listen.ts'
import { until } from '../rigs/until.ts'
import { enterVirtualTime, settled } from '../rigs/virtual-time.ts'

t.test('the key of session tickets is replaced, and an old ticket opens nothing', async t => {
  const server = tls.createServer(await createTestCertificate(), socket => socket.on('error', () => {}).end())
  const port = await listen(t, server)
  const connect = (session?: Buffer) =>
    new Promise<{ readonly session: Buffer; readonly isReused: boolean }>((resolve, reject) => {
      const options = { port, host: '127.0.0.1', rejectUnauthorized: false, maxVersion: 'TLSv1.2' as const }
      const socket = tls.connect({ ...options, ...(session && { session }) }, () => {
        resolve({ session: socket.getSession() as Buffer, isReused: socket.isSessionReused() })
        socket.destroy()
      })
      socket.once('error', reject)
    })
  const first = await connect()
  t.ok((await connect(first.session)).isReused)
  const time = enterVirtualTime(t)
  renewTicketKeys(server, 20)
  time.tick(20)
  t.notOk((await connect(first.session)).isReused)
})

/** A listener that answers a body of more than 1 KB before it has come. */
async function listenForShortBodies(
  t: Test,
  options: Partial<Parameters<typeof createPublicListener>[0]> = {},
) {
  const nobody = () => {}
  const { app, unauthenticated } = createPublicListener({
    tls: undefined,
    callerOf: undefined,
    onNotHttp: nobody,
    onBadUrl: nobody,
    descriptors: createDescriptors(Number.POSITIVE_INFINITY, Date.now),
    ...options,
  })
  app.post('/', { bodyLimit: 1024 }, async () => 'taken')
  app.setErrorHandler((_error, _request, reply) =>
    reply.code(413).header('connection', 'close').send('too large'),
  )
  return { port: await listenAs(t, app), unauthenticated, server: app.server }
}

const HEAD = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'
/** More than the kernel keeps for whoever does not read. */
const OCTETS = 16 * 1024 * 1024

for (const protocol of ['http', 'https'])
  t.test(`over ${protocol} an answer is read by a caller that sends all of its body first`, async t => {
    const certificate = protocol === 'https' ? await createTestCertificate() : undefined
    const { port, unauthenticated, server } = await listenForShortBodies(t, { tls: certificate })
    // However slow the machine is, it is in time.
    Object.assign(server, { headersTimeout: 0, requestTimeout: 0 })
    const { setTimeout: startTimer } = globalThis
    const afterAnHour = (then: () => void, ms: number) => startTimer(then, ms === 2000 ? 3_600_000 : ms)
    t.capture(globalThis, 'setTimeout', afterAnHour as typeof setTimeout)
    const open = (): Socket =>
      certificate === undefined
        ? net.connect({ port, host: '127.0.0.1' })
        : tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
    const size = OCTETS.toString(16)
    for (const [head, tail] of [
      [`Content-Length: ${OCTETS}\r\n\r\n`, ''],
      [`Transfer-Encoding: CHUNKED\r\n\r\n${size}\r\n`, '\r\n0\r\n\r\n'],
    ] as const) {
      const socket = open()
      await once(socket, certificate === undefined ? 'connect' : 'secureConnect')
      socket.write(`${HEAD}${head}`)
      await new Promise<void>((resolve, reject) => {
        socket.once('error', reject)
        socket.write(Buffer.concat([Buffer.alloc(OCTETS, 0x20), Buffer.from(tail)]), () => resolve())
      })
      t.match(await text(socket), /^HTTP\/1\.1 413 [^]*connection: close[^]*too large$/i)
    }
    await until(() => unauthenticated.count() === 0, 'who is gone is not counted')
  })

t.test('what a client may take of time, octets and connections', async t => {
  const descriptors = createDescriptors(Number.POSITIVE_INFINITY, Date.now)
  const nobody = () => {}
  const given = { callerOf: undefined, onNotHttp: nobody, onBadUrl: nobody, descriptors }
  const intervals = t.capture(globalThis, 'setInterval', setInterval)
  const cleared = t.capture(globalThis, 'clearInterval', clearInterval)
  const { app } = createPublicListener({ ...given, tls: {} })
  await listenAs(t, app)
  t.match(app.server, {
    connectionsCheckingInterval: 1000,
    headersTimeout: 5000,
    requestTimeout: 5000,
    keepAliveTimeout: 75_000,
    maxHeaderSize: 8192,
    maxConnections: 10_000,
    requireHostHeader: false,
    allowHalfOpen: true,
    httpAllowHalfOpen: true,
  })
  t.match(app.initialConfig, {
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 256 },
  })
  await app.close()
  const ended = new Set(cleared().map(({ args: [timer] }) => timer))
  t.same(
    intervals().flatMap(call => ('returned' in call && ended.has(call.returned) ? [call.args[1]] : [])),
    [3_600_000],
    'the key of session tickets is replaced by the hour',
  )
})

t.test('who says nothing has no handshake, and is hung up on after five seconds', async t => {
  const { port, server } = await listenForShortBodies(t, { tls: await createTestCertificate() })
  const silent = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const [connection] = (await once(server, 'connection')) as [Socket]
  t.equal(connection.timeout, 5000)
  connection.emit('timeout')
  t.ok(connection.destroyed)
  silent.destroy()
  const speaks = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
  const [begun] = (await once(server, 'connection')) as [Socket]
  await once(speaks, 'secureConnect')
  t.equal(begun.timeout, 0, 'from then on the limits of HTTP hold')
  await once(speaks.resume().end(), 'close')
})

t.test('an expectation is ignored, what is no HTTP is told, and each connection is looked at', async t => {
  const told: string[] = []
  const { port } = await listenForShortBodies(t, {
    onNotHttp: () => void told.push('no HTTP'),
    descriptors: {
      ...createDescriptors(Number.POSITIVE_INFINITY, Date.now),
      note: () => void told.push('connection'),
    },
  })
  for (const [said, answer] of [
    [
      'GET / HTTP/1.1\r\nHost: x\r\nExpect: much\r\nVia: host\r\nConnection: close\r\n\r\n',
      /^HTTP\/1\.1 404 /,
    ],
    ['no HTTP\r\n\r\n', /^HTTP\/1\.1 400 /],
    ['GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n', /^HTTP\/1\.1 400 /],
    ['GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2), /^HTTP\/1\.1 404 (?![^]*HTTP)/],
  ] as const)
    t.match(await text(net.connect({ port, host: '127.0.0.1' }).end(said)), answer)
  const noHttp = ['connection', 'no HTTP']
  t.same(told, ['connection', ...noHttp, ...noHttp, ...noHttp])
})

t.test('a connection through a proxy counts where its caller is', async t => {
  const { port } = await listenForShortBodies(t, {
    callerOf: (proxy, forwarded) => (proxy === '127.0.0.1' ? (forwarded ?? proxy) : ''),
    descriptors: { ...createDescriptors(Number.POSITIVE_INFINITY, Date.now), forStrangers: 2 },
  })
  const open: Socket[] = []
  for (const caller of ['203.0.113.1', '127.0.0.1', '127.0.0.1']) {
    const socket = net.connect({ port, host: '127.0.0.1' })
    open.push(socket)
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${caller}\r\n\r\n`)
    await Promise.race([once(socket, 'data'), once(socket, 'close')])
  }
  const [caller, older, newer] = open
  await until(() => open.some(each => each.destroyed), 'one is closed')
  t.same([caller?.destroyed, older?.destroyed, newer?.destroyed], [false, true, false])
  for (const socket of open) socket.destroy()
})

t.test('strangers who hold their connections leave half of the descriptors to others', async t => {
  const limited = createDescriptors(400, Date.now)
  // This process has other things open, too.
  const { port } = await listenForShortBodies(t, { descriptors: { ...limited, note: () => {} } })
  const strangers: Socket[] = []
  t.teardown(() => strangers.forEach(each => each.destroy()))
  for (let n = 0; n < 200; n += 1) {
    const stranger = net.connect({ port, host: '127.0.0.1' })
    strangers.push(stranger.on('error', () => {}).resume())
    await once(stranger, 'connect')
  }
  const kept = () =>
    strangers.filter(({ destroyed, readyState }) => !destroyed && readyState === 'open').length
  await until(() => kept() <= limited.forStrangers, 'the oldest are hung up on')
  t.equal(kept(), (400 - 64) / 2)
})

t.test('over TLS the next request may come before Node calls the answer finished', async t => {
  const seen: string[] = []
  const handle = rejectPipelining(
    () => void seen.push('handled'),
    { isAuthenticated: () => false } as never,
    () => void seen.push('rejected'),
  )
  const socket = new net.Socket()
  const response = { writableEnded: true, writableFinished: false } as ServerResponse
  for (let n = 0; n < 2; n += 1) {
    handle({ socket } as IncomingMessage, response)
    await settled()
  }
  for (let n = 0; n < 3; n += 1) handle({ socket } as IncomingMessage, response)
  t.same(seen, ['handled', 'handled', 'handled', 'rejected'], 'but not within the turn that read the first')
})

t.test('a caller that goes on sending after its answer is hung up on', async t => {
  const time = enterVirtualTime(t)
  const { port } = await listenForShortBodies(t)
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()))
  socket.write(`${HEAD}Content-Length: ${OCTETS}\r\n\r\n${' '.repeat(2000)}`)
  await once(socket.resume(), 'end')
  await new Promise(resolve => socket.write(' '.repeat(OCTETS - 10_000), resolve))
  t.notOk(socket.destroyed, 'what it had begun to send was read')
  time.tick(2000)
  await until(() => !socket.write(' ') || socket.destroyed, 'a write fails')
  await closed
})
