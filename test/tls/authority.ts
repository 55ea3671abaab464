import { isIP } from 'node:net'
import type { CertificateExtension } from 'selfsigned'

const DAY_MS = 24 * 60 * 60 * 1000

export interface Pair {
  readonly cert: string
  readonly key: string
}

export interface CertificateWishes {
  /** Signed by this one; absent: by itself. */
  readonly issuer?: Pair
  /** May sign others. */
  readonly authority?: boolean
  /** Names and addresses that it is for. An authority is for none unless some are given. */
  readonly hosts?: readonly string[]
  /** Of an RSA key; absent: it is one of P-256. */
  readonly bits?: number | undefined
  /** ms since the epoch. */
  readonly from?: number
  readonly until?: number
}

/** Makes a certificate, of an authority or of a host. */
export async function makeCertificate(name: string, wishes: CertificateWishes = {}): Promise<Pair> {
  const { issuer, authority = false, bits } = wishes
  const { hosts = authority ? [] : ['courier.example.com', '127.0.0.1'] } = wishes
  const subject = [
    { name: 'organizationName', value: 'Example Ltd' },
    { name: 'commonName', value: name },
  ]
  const altNames = hosts.map(host =>
    isIP(host) > 0 ? { type: 7 as const, ip: host } : { type: 2 as const, value: host },
  )
  const usage: CertificateExtension[] = authority
    ? [
        { name: 'basicConstraints', cA: true, critical: true },
        { name: 'keyUsage', keyCertSign: true, digitalSignature: true, critical: true },
      ]
    : [
        { name: 'basicConstraints', cA: false },
        { name: 'keyUsage', digitalSignature: true, keyEncipherment: true },
        { name: 'extKeyUsage', serverAuth: true },
      ]
  const extensions = hosts.length === 0 ? usage : [...usage, { name: 'subjectAltName' as const, altNames }]
  // Loaded for those that make one: it takes longer than a short test.
  const { generate } = await import('selfsigned')
  const made = await generate(subject, {
    ...(bits === undefined ? { keyType: 'ec', curve: 'P-256' } : { keyType: 'rsa', keySize: bits }),
    algorithm: 'sha256',
    notBeforeDate: new Date(wishes.from ?? Date.now() - DAY_MS),
    notAfterDate: new Date(wishes.until ?? Date.now() + 90 * DAY_MS),
    ...(issuer === undefined ? {} : { ca: issuer }),
    extensions,
  })
  return { cert: made.cert, key: made.private }
}

/** Root, intermediate and host, each signed by the one before. */
export async function makeChain(): Promise<{ root: Pair; intermediate: Pair; leaf: Pair }> {
  const root = await makeCertificate('Example Root', { authority: true })
  const intermediate = await makeCertificate('Example Intermediate', { authority: true, issuer: root })
  const leaf = await makeCertificate('courier.example.com', { issuer: intermediate })
  return { root, intermediate, leaf }
}
