import t from 'tap'
import { createDescriptors } from '../../src/callback/descriptors.ts'
import { createPublicListener } from '../../src/callback/listener.ts'
import { createTestCertificate } from '../rigs/certificate.ts'
import { listenAs } from '../rigs/listen.ts'
import { openRaw } from '../rigs/raw.ts'

/** Longer than a connection may say nothing before its first request, or take for one, ms. */
const IDLE_MS = 8000

t.test('408 is for who says nothing from the start, and never comes between two requests', async t => {
  const nobody = () => {}
  const tls = await createTestCertificate()
  const { app } = createPublicListener({
    tls,
    callerOf: undefined,
    onNotHttp: nobody,
    onBadUrl: nobody,
    descriptors: createDescriptors(Number.POSITIVE_INFINITY, Date.now),
  })
  app.get('/', async () => 'here')
  const url = `https://127.0.0.1:${await listenAs(t, app)}`
  const kept = await openRaw(url)
  const silent = await openRaw(url)
  for (let n = 1; n <= 3; n += 1) {
    kept.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await kept.says(new RegExp(`(here[^]*){${n}}`))
    await new Promise(resolve => setTimeout(resolve, IDLE_MS))
  }
  t.notMatch(kept.text(), '408')
  t.notOk(kept.socket.destroyed)
  await silent.ended()
  t.match(silent.text(), /^HTTP\/1\.1 408 /)
})
