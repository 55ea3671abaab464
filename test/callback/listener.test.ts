import type { AddressInfo } from 'node:net'
import t from 'tap'
import { createPublicListener } from '../../src/callback/listener.ts'
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
