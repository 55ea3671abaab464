import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { Test } from 'tap'
import { trustAuthorities } from '../../src/tls/certificate.ts'

/**
 * Has the process trust what it does now again when the test ends, such as after a service with TLS_CA_FILE. What a process trusts is
 * common to all tests in it, and a trusted certificate hides another one that has its name.
 */
export function restoreTrust(t: Test): void {
  const before = getCACertificates('default')
  t.teardown(() => setDefaultCACertificates(before))
}

/** Trusts a certificate as TLS_CA_FILE would, until the test ends. */
export function trustDuring(t: Test, cert: string): void {
  restoreTrust(t)
  trustAuthorities('/ca.pem', () => `# ours\n${cert}`)
}
