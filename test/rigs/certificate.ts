import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'

const DAY_MS = 24 * 60 * 60 * 1000

/** A self-signed certificate, PEM: `cert` is its own `ca`. For `localhost` and 127.0.0.1 unless another name is given. */
export async function createTestCertificate(
  options: { readonly name?: string; readonly notAfter?: Date; readonly keyType?: 'ec' | 'rsa' } = {},
): Promise<{ readonly key: string; readonly cert: string }> {
  const { name, notAfter = new Date(Date.now() + 30 * DAY_MS), keyType = 'ec' } = options
  // Loaded for those that make one: it takes longer than a short test.
  const { generate } = await import('selfsigned')
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

let shared: ReturnType<typeof createTestCertificate> | undefined

/** One that serves all services of a run of the tests, made by the process that asks first. */
export function sharedCertificate(): ReturnType<typeof createTestCertificate> {
  return (shared ??= findOrMake(process.env['TESTS_IN_MEMORY']))
}

async function findOrMake(folder: string | undefined): ReturnType<typeof createTestCertificate> {
  if (folder === undefined) return createTestCertificate()
  const file = join(folder, 'certificate.json')
  if (!existsSync(file)) {
    const own = `${file}.${process.pid}`
    writeFileSync(own, JSON.stringify(await createTestCertificate()))
    renameSync(own, file)
  }
  return JSON.parse(readFileSync(file, 'utf8')) as Awaited<ReturnType<typeof createTestCertificate>>
}
