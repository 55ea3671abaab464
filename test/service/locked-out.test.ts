import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { mailBody, type ServiceRig, startRig, until } from '../rigs/service.ts'
import { makeCertificate } from '../tls/authority.ts'

async function lookAt(rig: ServiceRig) {
  return {
    page: await rig.page('/console'),
    ready: JSON.parse(await rig.page('/readyz')),
    metrics: await rig.page('/metrics'),
  }
}

t.test(
  'another Token of the platform, and signatures are required: said from the first callback on',
  async t => {
    let ahead = 0
    const rig = await startRig(t, { POST_SIGNATURE: 'required' }, { wall: () => Date.now() + ahead })
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
    ahead = 86_400_000
    t.match(
      (await lookAt(rig)).page,
      /smtp<\/strong> <span class="soft">for [\d.]+ m?s</,
      'who sets the clock ages nothing',
    )
  },
)

t.test('a start with a certificate that has expired is loud, until a renewed one is served', async t => {
  const NOON = Date.UTC(2026, 10, 21, 12)
  const wall = () => Date.now() + 50 * 365 * 86_400_000
  // Somebody has set the machine’s clock: certificates go by it, messages do not.
  const rig = await startRig(t, { ANSWER_WITHIN_MS: '200' }, { wall, clock: { now: () => NOON } })
  t.match(
    rig.events().find(({ event }) => event === 'certificate'),
    { level: 50, message: /^the certificate in TLS_CERT_FILE expired on [\d-]+: renew it$/ },
  )
  const { page, ready } = await lookAt(rig)
  t.match(page, /The certificate expired on/)
  t.match(
    page,
    /<dt>Started<\/dt><dd><time datetime="2026-11-21T12:00:00.000Z">.* <span class="soft">0 ms so far/,
  )
  t.same(ready, { status: 'ready', degraded: ['certificate'] })
  rig.smtp.act = ({ step }) => (step === 'dot' ? { is: 'drop' } : undefined)
  t.equal((await rig.post('email', mailBody({}, { type: 5, url: null, code: '482913' }))).errCode, 0)
  const ask = async (path: string, init?: RequestInit) =>
    JSON.parse(await (await fetch(`${rig.service().adminUrl}/api/v1${path}`, init)).text())
  const headers = { 'content-type': 'application/json' }
  const newest = async () =>
    (await ask('/messages/search', { method: 'POST', headers, body: '{}' })).messages[0]
  await until(async () => (await newest()).ambiguous === 1, 'it may have been sent')
  const { arrivedAt, dueAt } = await newest()
  t.equal(arrivedAt, NOON)
  t.ok(dueAt >= NOON + 5000 && dueAt <= NOON + 6000, 'it goes out again after the pause of a code')
  t.match((await ask('/providers')).providers, [{ since: NOON, lastError: { at: NOON } }, {}])
  rig.smtp.act = undefined
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
