import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { readCertificates } from './chain.ts'

/** The certificates of a PEM text; null when it has none, or a damaged one. */
export function readAuthorities(pem: string): readonly string[] | null {
  try {
    const found = readCertificates(pem)
    return found.length === 0 ? null : found.map(each => each.toString())
  } catch {
    return null
  }
}

/**
 * Trusts the authorities of a file, beside the usual ones, on every TLS connection that this process opens from now on:
 * to mail servers, carriers, Postgres and the platform.
 * @param file PEM; undefined: nobody else is trusted.
 * @param readFile reads a text file; throws as node:fs does.
 */
export function trustAuthorities(file: string | undefined, readFile: (path: string) => string): void {
  const own = file === undefined ? null : readAuthorities(readFile(file))
  if (own !== null) setDefaultCACertificates([...getCACertificates('default'), ...own])
}
