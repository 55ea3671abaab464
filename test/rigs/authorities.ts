import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { Test } from 'tap'
import { trustAuthorities } from '../../src/tls/certificate.ts'

/**
 * Trusts a certificate as TLS_CA_FILE would, until the test ends. What a process trusts is common to all tests in it, and a
 * trusted certificate hides another one that has its name.
 */
export function trustDuring(t: Test, cert: string): void {
  const before = getCACertificates('default')
  t.teardown(() => setDefaultCACertificates(before))
  trustAuthorities('/ca.pem', () => `# ours\n${cert}`)
}
