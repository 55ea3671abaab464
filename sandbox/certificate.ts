import { generate } from 'selfsigned'

const DAYS = 24 * 60 * 60 * 1000

/** A key and the certificate that vouches for itself, both PEM. */
export interface SelfSigned {
  readonly key: string
  readonly cert: string
}

/**
 * Makes a certificate for `localhost`, `127.0.0.1` and `::1`, good for a month from an hour before `now` (ms since the
 * epoch). It says that it is an authority: then whoever trusts it verifies it like any other chain, names included.
 */
export async function createCertificate(now: number): Promise<SelfSigned> {
  const made = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    notBeforeDate: new Date(now - DAYS / 24),
    notAfterDate: new Date(now + 30 * DAYS),
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', digitalSignature: true, keyCertSign: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
          { type: 7, ip: '::1' },
        ],
      },
    ],
  })
  return { key: made.private, cert: made.cert }
}
