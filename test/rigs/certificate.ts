import { isIP } from 'node:net'
import { generate } from 'selfsigned'

const DAY_MS = 24 * 60 * 60 * 1000

/** A self-signed certificate, PEM: `cert` is its own `ca`. For `localhost` and 127.0.0.1 unless another name is given. */
export async function createTestCertificate(
  options: { readonly name?: string; readonly notAfter?: Date; readonly keyType?: 'ec' | 'rsa' } = {},
): Promise<{ readonly key: string; readonly cert: string }> {
  const { name, notAfter = new Date(Date.now() + 30 * DAY_MS), keyType = 'ec' } = options
  const made = await generate([{ name: 'commonName', value: name ?? 'localhost' }], {
    ...(keyType === 'ec' ? { keyType, curve: 'P-256' } : { keyType, keySize: 2048 }),
    algorithm: 'sha256',
    notBeforeDate: new Date(notAfter.getTime() - 60 * DAY_MS),
    notAfterDate: notAfter,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', digitalSignature: true, keyCertSign: true, critical: true },
      {
        name: 'subjectAltName',
        altNames: name
          ? [isIP(name) > 0 ? { type: 7, ip: name } : { type: 2, value: name }]
          : [
              { type: 2, value: 'localhost' },
              { type: 7, ip: '127.0.0.1' },
            ],
      },
    ],
  })
  return { key: made.private, cert: made.cert }
}
