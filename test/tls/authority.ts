import { generate } from 'selfsigned'

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
  readonly host?: string
  readonly bits?: number
  /** ms since the epoch. */
  readonly from?: number
  readonly until?: number
}

/** Makes a certificate, of an authority or of a host. */
export async function makeCertificate(name: string, wishes: CertificateWishes = {}): Promise<Pair> {
  const { issuer, authority = false, host = 'courier.example.com', bits } = wishes
  const subject = [
    { name: 'organizationName', value: 'Example Ltd' },
    { name: 'commonName', value: name },
  ]
  const made = await generate(subject, {
    ...(bits === undefined ? { keyType: 'ec', curve: 'P-256' } : { keyType: 'rsa', keySize: bits }),
    algorithm: 'sha256',
    notBeforeDate: new Date(wishes.from ?? Date.now() - DAY_MS),
    notAfterDate: new Date(wishes.until ?? Date.now() + 90 * DAY_MS),
    ...(issuer === undefined ? {} : { ca: issuer }),
    extensions: authority
      ? [
          { name: 'basicConstraints', cA: true, critical: true },
          { name: 'keyUsage', keyCertSign: true, digitalSignature: true, critical: true },
        ]
      : [
          { name: 'basicConstraints', cA: false },
          { name: 'keyUsage', digitalSignature: true, keyEncipherment: true },
          { name: 'extKeyUsage', serverAuth: true },
          {
            name: 'subjectAltName',
            altNames: [
              { type: 2, value: host },
              { type: 7, ip: '127.0.0.1' },
            ],
          },
        ],
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
