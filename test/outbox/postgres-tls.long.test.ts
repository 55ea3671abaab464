import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { createPostgresOutbox } from '../../src/outbox/postgres/outbox.ts'
import { createTestCertificate } from '../rigs/certificate.ts'
import { noPostgres, startPostgres } from '../rigs/postgres.ts'
import { STORE } from './samples.ts'

t.test('the shared store over TLS', { skip: noPostgres }, async t => {
  const tls = await createTestCertificate()
  const rig = await startPostgres(t, { tls })
  const directory = t.testdir({})
  const open = async (query: string, host = '127.0.0.1') =>
    createPostgresOutbox({
      ...STORE,
      url: `postgres://courier@${host}:${rig.port}/postgres?${query}`,
      clock: { now: Date.now },
    })
  const authority = async (name: string, pem: string) => {
    await writeFile(join(directory, name), pem)
    return `sslmode=verify-full&sslrootcert=${encodeURIComponent(join(directory, name))}`
  }

  await t.test('with the right authority it is trusted', async t => {
    const outbox = await open(await authority('right.pem', tls.cert))
    t.equal(await outbox.queries.probeCommit(), true)
    await outbox.close()
  })

  await t.test('a certificate that is not trusted is named as such', async t => {
    const other = await createTestCertificate()
    const expected = { name: 'StoreUnusable', message: /certificate is not trusted \(.*sslrootcert/ }
    await t.rejects(open(await authority('other.pem', other.cert)), expected)
    const warnings: string[] = []
    const warned = ({ message }: Error) => void warnings.push(message)
    process.on('warning', warned)
    for (const mode of ['verify-full', 'verify-ca', 'require', 'prefer'])
      await t.rejects(open(`sslmode=${mode}`), expected)
    await setImmediate()
    process.off('warning', warned)
    t.same(warnings, [])
  })
})

t.test(
  'a server without TLS is not talked to in the clear when TLS is asked for',
  { skip: noPostgres },
  async t => {
    const rig = await startPostgres(t)
    const url = `${rig.adminUrl}&sslmode=verify-full`
    await t.rejects(createPostgresOutbox({ ...STORE, url, clock: { now: Date.now } }), {
      name: 'StoreUnusable',
      message: /does not speak TLS/,
    })
  },
)
