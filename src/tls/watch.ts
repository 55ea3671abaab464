import type { SecureContextOptions } from 'node:tls'
import {
  type Certificate,
  type CertificateFiles,
  CertificateUnusable,
  parseCertificate,
  readPair,
} from './certificate.ts'
import { tlsServerOptions } from './options.ts'

export interface CertificateWatchOptions extends CertificateFiles {
  /** The HTTPS server; one without `setSecureContext` serves no certificate, which is a mistake. */
  readonly server: object
  /** The pair that is being served. */
  readonly current: Certificate
  /** How often to look, ms. */
  readonly everyMs: number
  readonly log: Pick<Log, 'info' | 'warn'>
  /** ms since the epoch. */
  readonly now?: () => number
}

interface Log {
  info(facts: object, sentence: string): void
  warn(facts: object, sentence: string): void
}

export interface CertificateWatch {
  /** Looks now. */
  check(): void
  /** The pair that new connections get. */
  current(): Certificate
  close(): void
}

/**
 * Serves a renewed certificate to new connections; open ones go on undisturbed. The files' content is compared, not
 * their times: certbot and Kubernetes swap symbolic links. A pair that does not fit together, because only half of
 * it is written yet, leaves the last good one in place and says so once.
 */
export function watchCertificate(options: CertificateWatchOptions): CertificateWatch {
  const { log, now = Date.now } = options
  const server = secureServer(options.server)
  let current = options.current
  let complaint = ''

  function renewed(): Certificate | null {
    try {
      const { cert, key } = readPair(options)
      const same = cert === current.cert && key === current.key
      if (same) complaint = ''
      return same ? null : parseCertificate(cert, key, now())
    } catch (error) {
      if (!(error instanceof CertificateUnusable)) throw error
      if (error.message !== complaint)
        log.warn(
          { event: 'certificate', reason: error.message },
          'the certificate changed but cannot be used: the last good one is served',
        )
      complaint = error.message
      return null
    }
  }

  function check(): void {
    const found = renewed()
    if (found === null) return
    current = found
    complaint = ''
    server.setSecureContext({ ...tlsServerOptions, cert: found.cert, key: found.key })
    const expires = new Date(found.expiresAt).toISOString()
    log.info({ event: 'certificate', expires, names: found.names }, 'a renewed certificate is served')
    for (const problem of found.problems) log.warn({ event: 'certificate' }, problem)
  }

  const timer = setInterval(check, options.everyMs).unref()
  return { check, current: () => current, close: () => clearInterval(timer) }
}

function secureServer(server: object): { setSecureContext(options: SecureContextOptions): void } {
  if ('setSecureContext' in server && typeof server.setSecureContext === 'function')
    return server as ReturnType<typeof secureServer>
  throw new TypeError('a certificate can only be watched for an HTTPS server')
}
