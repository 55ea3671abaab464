import { X509Certificate } from 'node:crypto'
import t from 'tap'
import { createCertificate } from '../../sandbox/certificate.ts'

t.test('the certificate is for this machine, valid now and vouches for itself', async t => {
  const now = Date.parse('2026-11-20T12:00:00Z')
  const made = await createCertificate(now)
  const certificate = new X509Certificate(made.cert)
  t.equal(certificate.checkHost('localhost'), 'localhost')
  t.equal(certificate.checkIP('127.0.0.1'), '127.0.0.1')
  t.equal(certificate.checkHost('example.com'), undefined)
  t.ok(certificate.validFromDate.getTime() < now)
  t.ok(certificate.validToDate.getTime() > now + 7 * 24 * 3600 * 1000)
  t.ok(certificate.verify(certificate.publicKey))
})
