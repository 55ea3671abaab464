import { constants } from 'node:crypto'

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
