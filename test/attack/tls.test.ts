import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import tls from 'node:tls'
import t, { type Test } from 'tap'
import { createTestCertificate } from '../rigs/certificate.ts'
import { type ServiceRig, startRig } from '../rigs/service.ts'

/** What a handshake came to: `TLSv1.3 TLS_AES_128_GCM_SHA256`, or the reason of the refusal. */
function handshake(rig: ServiceRig, options: tls.ConnectionOptions): Promise<string> {
  const { hostname, port } = new URL(rig.service().publicUrl)
  return new Promise(resolve => {
    const socket = tls.connect({ host: hostname, port: Number(port), ca: rig.ca, ...options }, () => {
      resolve(`${socket.getProtocol()} ${socket.getCipher().name}`)
      socket.destroy()
    })
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(`refused: ${error.code ?? error.message}`))
  })
}

t.test('only TLS 1.2 and 1.3, with forward secrecy and authenticated encryption', async t => {
  const rig = await startRig(t)
  await holds(t, rig, {})
  // What a certificate's key cannot serve is refused anyway: the other kind of key has suites of its own.
  const { key, cert } = await createTestCertificate({ bits: 2048 })
  await writeFile(join(rig.directory, 'cert.pem'), cert)
  await writeFile(join(rig.directory, 'key.pem'), key)
  await rig.restart()
  await holds(t, rig, { ca: cert })
})

async function holds(t: Test, rig: ServiceRig, trust: tls.ConnectionOptions): Promise<void> {
  const shake = (options: tls.ConnectionOptions) => handshake(rig, { ...trust, ...options })
  t.match(await shake({}), /^TLSv1\.3 /)
  t.match(await shake({ maxVersion: 'TLSv1.2' }), /^TLSv1\.2 ECDHE-/)
  for (const version of ['TLSv1', 'TLSv1.1'] as const)
    t.match(
      await shake({ minVersion: 'TLSv1', maxVersion: version, ciphers: 'ALL:@SECLEVEL=0' }),
      /^refused/,
      version,
    )
  for (const ciphers of [
    'AES128-GCM-SHA256',
    'AES256-SHA256',
    'DHE-RSA-AES128-GCM-SHA256',
    'ECDHE-ECDSA-AES128-SHA256',
    'ECDHE-RSA-AES128-SHA256',
    'ECDHE-RSA-AES256-SHA',
    'AES128-SHA',
    'ECDHE-ECDSA-AES256-SHA',
    'ECDHE-ECDSA-AES128-CCM8',
    'NULL-SHA256',
    'ADH-AES128-GCM-SHA256',
  ])
    t.match(await shake({ maxVersion: 'TLSv1.2', ciphers: `${ciphers}:@SECLEVEL=0` }), /^refused/, ciphers)
  t.match(await shake({ ecdhCurve: 'ffdhe2048' }), /^refused/, 'no finite field')
  for (const group of ['X25519MLKEM768', 'X25519', 'prime256v1', 'secp384r1'])
    t.match(await shake({ ecdhCurve: group }), /^TLSv1\.3/, group)
}

t.test('a client cannot make the server do handshake after handshake', async t => {
  const rig = await startRig(t)
  const { hostname, port } = new URL(rig.service().publicUrl)
  const socket = tls.connect({ host: hostname, port: Number(port), ca: rig.ca, maxVersion: 'TLSv1.2' })
  socket.on('error', () => {})
  await new Promise(resolve => socket.once('secureConnect', resolve))
  const renegotiated = await new Promise<boolean>(resolve => {
    socket.once('close', () => resolve(false))
    socket.renegotiate({ rejectUnauthorized: true }, error => resolve(error === null))
  })
  t.notOk(renegotiated)
  socket.destroy()
})
