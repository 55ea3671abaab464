import type { AddressInfo } from 'node:net'
import tls from 'node:tls'
import t from 'tap'
import { createPublicListener, renewTicketKeys } from '../../src/callback/listener.ts'
import { createTestCertificate } from '../rigs/certificate.ts'
import { openRaw } from '../rigs/raw.ts'

t.test('a connection is kept from request to request, but not by empty lines', async t => {
  const idleLimitMs = 1000
  const nobody = () => {}
  const options = { tls: undefined, callerOf: undefined, onNotHttp: nobody, onBadUrl: nobody, idleLimitMs }
  const { app } = createPublicListener(options)
  app.get('/', async () => 'here')
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => app.close())
  const raw = await openRaw(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`)
  const began = performance.now()
  for (let n = 1; n <= 6; n += 1) {
    raw.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await raw.says(new RegExp(`(here[^]*){${n}}`))
    await new Promise(resolve => setTimeout(resolve, 250))
  }
  t.notOk(raw.socket.destroyed)
  const dripping = setInterval(() => raw.write('\r\n'), 50)
  t.teardown(() => clearInterval(dripping))
  await raw.ended()
  t.ok(performance.now() - began > 2 * idleLimitMs, 'requests keep it')
})

t.test('the key of session tickets is replaced, and an old ticket opens nothing', async t => {
  const server = tls.createServer(await createTestCertificate(), socket => socket.on('error', () => {}).end())
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
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
  renewTicketKeys(server, 20)
  await new Promise(resolve => setTimeout(resolve, 200))
  t.notOk((await connect(first.session)).isReused)
})
