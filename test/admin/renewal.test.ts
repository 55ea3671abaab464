import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { type ServiceRig, startRig } from '../rigs/service.ts'
import { makeCertificate, type Pair } from '../tls/authority.ts'

const DAY_MS = 86_400_000

async function ask(rig: ServiceRig, path: string): Promise<string> {
  const response = await fetch(`${rig.service().adminUrl}${path}`)
  t.equal(response.status, 200, path)
  return response.text()
}

/** As a renewal leaves the files behind; a part that is left out is removed. */
async function replace(rig: ServiceRig, { cert, key }: Partial<Pair>): Promise<void> {
  for (const [name, pem] of [
    ['cert.pem', cert],
    ['key.pem', key],
  ] as const) {
    const file = join(rig.directory, name)
    await (pem === undefined ? rm(file) : writeFile(file, pem))
  }
  rig.service().reloadCertificate()
}

/** The condition's lines, as text. */
async function causes(rig: ServiceRig): Promise<readonly string[]> {
  const [, list = ''] = /<ul class="causes"[^>]*>(.*?)<\/ul>/s.exec(await ask(rig, '/console')) ?? []
  return list.split('</li>').map(line => line.replaceAll(/<[^>]+>/g, '').trim())
}

t.test('a renewed certificate that is refused stands on the first page until it is mended', async t => {
  const host = 'courier.example.com'
  const rig = await startRig(t, { PUBLIC_URL: `https://${host}` })
  const until = Date.now() + 20 * DAY_MS
  const old = await makeCertificate('old', { until })
  const renewed = await makeCertificate('renewed')
  await replace(rig, old)
  const line = async () => (await causes(rig)).find(each => each.includes('refused')) ?? ''
  t.equal(await line(), '')
  t.match(await ask(rig, '/metrics'), /callback_courier_certificate_renewal_refused 0\n/)

  const expired = await makeCertificate('x', { from: Date.now() - 9 * DAY_MS, until: Date.now() - DAY_MS })
  const elsewhere = await makeCertificate('x', { hosts: ['www.example.com', '127.0.0.1'] })
  for (const [files, why] of [
    [{ cert: renewed.cert, key: old.key }, 'TLS_KEY_FILE is not the key of the first certificate'],
    [{ cert: renewed.cert }, /TLS_KEY_FILE names \S+key\.pem, which cannot be read \(ENOENT\)/],
    [expired, 'the certificate in TLS_CERT_FILE expired on'],
    [elsewhere, `is for www.example.com, 127.0.0.1, not for ${host}, the host in PUBLIC_URL`],
  ] as const) {
    await replace(rig, files)
    t.match(await line(), /^Look: The certificate’s files changed and have been refused for .*, since \d{4}-/)
    t.match(await line(), why)
    const day = new Date(until).toISOString().slice(0, 10)
    t.match(await line(), `The one before is served on, and is valid until ${day}`)
    t.match(await line(), 'Put a certificate and its key into both files')
    t.notMatch(await ask(rig, '/console'), /BEGIN|All is well/)
    t.same(JSON.parse(await ask(rig, '/readyz')), { status: 'ready', degraded: ['certificate'] })
    t.match(await ask(rig, '/metrics'), /callback_courier_certificate_renewal_refused 1\n/)
  }

  await replace(rig, renewed)
  t.equal(await line(), '')
  t.same(JSON.parse(await ask(rig, '/readyz')), { status: 'ready', degraded: [] })
  t.match(await ask(rig, '/metrics'), /callback_courier_certificate_renewal_refused 0\n/)
})
