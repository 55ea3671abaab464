import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeCertificate, type Pair } from '../tls/authority.ts'

const DAY_MS = 24 * 60 * 60 * 1000

/** A self-signed certificate, PEM: `cert` is its own `ca`. For `localhost` and 127.0.0.1 unless another name is given. */
export function createTestCertificate(
  options: { readonly name?: string; readonly notAfter?: Date; readonly bits?: number } = {},
): Promise<Pair> {
  const { name, notAfter, bits } = options
  const until = notAfter?.getTime() ?? Date.now() + 30 * DAY_MS
  const hosts = name === undefined ? ['localhost', '127.0.0.1'] : [name]
  return makeCertificate(name ?? 'localhost', {
    authority: true,
    hosts,
    bits,
    from: until - 60 * DAY_MS,
    until,
  })
}

let shared: Promise<Pair> | undefined

/** One that serves all services of a run of the tests, made by the process that asks first. */
export function sharedCertificate(): Promise<Pair> {
  return (shared ??= findOrMake(process.env['TESTS_IN_MEMORY']))
}

async function findOrMake(folder: string | undefined): Promise<Pair> {
  if (folder === undefined) return createTestCertificate()
  const file = join(folder, 'certificate.json')
  if (!existsSync(file)) {
    const own = `${file}.${process.pid}`
    writeFileSync(own, JSON.stringify(await createTestCertificate()))
    renameSync(own, file)
  }
  return JSON.parse(readFileSync(file, 'utf8')) as Pair
}
