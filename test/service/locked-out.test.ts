import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { createClock } from '../../src/runtime/clock.ts'
import { mailBody, type ServiceRig, startRig } from '../rigs/service.ts'
import { makeCertificate } from '../tls/authority.ts'

async function lookAt(rig: ServiceRig) {
  const { adminUrl } = rig.service()
  const read = async (path: string) => (await fetch(`${adminUrl}${path}`)).text()
  return {
    page: await read('/console'),
    ready: JSON.parse(await read('/readyz')),
    metrics: await read('/metrics'),
  }
}

t.test(
  'another Token of the platform, and signatures are required: said from the first callback on',
  async t => {
    const rig = await startRig(t, { POST_SIGNATURE: 'required' })
    const post = (token?: string) =>
      rig.post('email', mailBody(), { query: rig.sign('email', undefined, token) })
    t.equal((await post('another-Token-of-the-platform')).status, 403)
    const refused = await lookAt(rig)
    t.match(refused.page, /Every e-mail callback with the right key is refused since .*: 1 so far/)
    t.match(refused.page, /POST_SIGNATURE=required/)
    t.same(refused.ready, { status: 'ready', degraded: ['email'] })
    t.match(refused.metrics, 'callback_courier_locked_out_callbacks{channel="email"} 1')
    t.equal((await post()).errCode, 0)
    const accepted = await lookAt(rig)
    t.notMatch(accepted.page, 'Every e-mail callback')
    t.same(accepted.ready, { status: 'ready', degraded: [] })
    t.match(accepted.metrics, 'callback_courier_locked_out_callbacks{channel="email"} 0')
  },
)

t.test('a start with a certificate that has expired is loud, until a renewed one is served', async t => {
  const rig = await startRig(t)
  const wall = () => Date.now() + 50 * 365 * 86_400_000
  // Somebody has set the machine’s clock: certificates go by it, attempts do not.
  await rig.restart({}, { wall, clock: createClock() })
  t.ok(rig.events().some(({ event, level }) => event === 'certificate' && level === 50))
  const { page, ready } = await lookAt(rig)
  t.match(page, /The certificate expired on/)
  t.same(ready, { status: 'ready', degraded: ['certificate'] })
  t.equal((await rig.post('email', mailBody())).errCode, 0)
  const { cert, key } = await makeCertificate('x', {
    from: wall() - 86_400_000,
    until: wall() + 20 * 86_400_000,
  })
  await writeFile(join(rig.directory, 'cert.pem'), cert)
  await writeFile(join(rig.directory, 'key.pem'), key)
  rig.service().reloadCertificate()
  const renewed = await lookAt(rig)
  t.notMatch(renewed.page, /The certificate expired on/)
  t.same(renewed.ready, { status: 'ready', degraded: [] })
  t.match(renewed.metrics, /callback_courier_attempt_seconds_sum\{[^}]*smtp[^}]*\} \d{1,3}(?:\.\d+)?\n/)
})
