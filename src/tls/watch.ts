import { constants } from 'node:crypto'
import type { SecureContextOptions } from 'node:tls'
import { type Words, withRemedy } from '../language/sentence.ts'
import type { Certificate, CertificateFiles } from './certificate.ts'
import { CertificateUnusable, parseCertificate, readPair, whyRefused } from './certificate.ts'

/**
 * The options of the HTTPS server: TLS 1.2 and 1.3, forward-secret suites with authenticated encryption only (Mozilla's
 * "intermediate" list without its finite-field suites, which need parameters of their own). Java 8 and later have
 * them. Renegotiation is off: TLS 1.2 clients use it for nothing but wearing a server out.
 */
export const tlsServerOptions = {
  // Some clients offer HTTP/1.0 alone (curl --http1.0). A client that offers neither is refused (RFC 7301, 3.2).
  ALPNProtocols: ['http/1.1', 'http/1.0'],
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.3',
  ciphers: [
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-RSA-AES128-GCM-SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-RSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
    'ECDHE-RSA-CHACHA20-POLY1305',
  ].join(':'),
  // OpenSSL would offer a finite field of 2048 bits in TLS 1.3 as well; this list leaves it out.
  ecdhCurve: 'X25519MLKEM768:X25519:prime256v1:secp384r1',
  honorCipherOrder: true,
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} as const

export interface CertificateWatchOptions extends CertificateFiles {
  readonly server: { setSecureContext(options: SecureContextOptions): void }
  /** The pair that is being served. */
  readonly current: Certificate
  /** The name or address that the platform calls us by; a renewed pair that is not for it is not taken. */
  readonly host?: string
  /** The pause between two checks, ms. */
  readonly everyMs: number
  readonly log: Readonly<Record<'info' | 'warn', (facts: object, sentence: string) => void>>
  /** ms since the epoch. */
  readonly now?: () => number
}

/** Files that changed and are not served. */
export interface RefusedRenewal {
  /** The time at which that was first seen, ms since the epoch. */
  readonly since: number
  /** The reason; holds no key. */
  readonly reason: Words
}

export interface CertificateWatch {
  /** Looks at the files now. */
  check(): void
  /** The pair that new connections get. */
  current(): Certificate
  /** Why the files are not what is served; null while they are. */
  refused(): RefusedRenewal | null
  close(): void
}

/**
 * Serves a renewed certificate to new connections; open ones go on undisturbed. The files' content is compared, not
 * their times: certbot and Kubernetes swap symbolic links. A pair that does not fit together, because only half of
 * it is written yet, leaves the last good one in place and says so once; so does one that clients would refuse,
 * because it has expired or is for another name, while the one that is served is better.
 */
export function watchCertificate(options: CertificateWatchOptions): CertificateWatch {
  const { server, log, now = Date.now } = options
  let current = options.current
  let refused: RefusedRenewal | null = null

  function refuse(reason: Words): void {
    if (String(reason) === String(refused?.reason)) return
    refused = { since: refused?.since ?? now(), reason }
    log.warn(
      { event: 'certificate', reason },
      'the certificate changed but cannot be used: the last good one is served',
    )
  }

  function check(): void {
    try {
      const { cert, key } = readPair(options)
      const isSame = cert === current.cert && key === current.key
      const found = isSame ? current : parseCertificate(cert, key)
      // Where what is served is for another name, clients see another certificate, or do not look at the name.
      const host = options.host !== undefined && current.covers(options.host) ? options.host : undefined
      const worse = whyRefused(found, host, now())
      // While clients refuse what is served, too, nothing is worse.
      if (worse !== null && whyRefused(current, host, now()) === null) return refuse(worse.sentence)
      refused = null
      if (!isSame) serve(found)
    } catch (error) {
      if (!(error instanceof CertificateUnusable)) throw error
      refuse(error.words)
    }
  }

  function serve(found: Certificate): void {
    current = found
    server.setSecureContext({ ...tlsServerOptions, cert: found.cert, key: found.key })
    const expires = new Date(found.expiresAt).toISOString()
    log.info({ event: 'certificate', expires, names: found.names }, 'a renewed certificate is served')
    for (const { sentence, remedy } of found.flaws)
      log.warn({ event: 'certificate' }, String(withRemedy(sentence, remedy)))
  }

  const timer = setInterval(check, options.everyMs).unref()
  return { check, current: () => current, refused: () => refused, close: () => clearInterval(timer) }
}
