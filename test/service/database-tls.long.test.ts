import { writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createTestCertificate } from '../rigs/certificate.ts'
import { askPostgres, noPostgres, startPostgres } from '../rigs/postgres.ts'
import { spawnService } from '../rigs/process.ts'
import { type Settings, startSinks } from '../rigs/service.ts'

/** An address of this machine that others reach it by; none where it has no network. */
const outside = Object.values(networkInterfaces())
  .flatMap(each => each ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address

/** Lets the database on a port of loopback be reached over the network. @returns host and port there. */
async function openToNetwork(t: Test, port: number): Promise<string> {
  const server = createServer(client => {
    const upstream = connect(port, '127.0.0.1')
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.pipe(other)
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
  })
  await new Promise<void>(resolve => server.listen(0, outside, resolve))
  t.teardown(() => void server.close())
  return `${outside}:${(server.address() as AddressInfo).port}`
}

/** Starts the service. @returns what it says of itself, once it listens; or why it ended. */
async function start(t: Test, settings: Settings, url: string) {
  const program = spawnService(t, ['serve'], { ...settings, DATABASE_URL: url })
  const listening = await program.started
  if (listening === null) return { code: await program.exited, why: program.stderr() }
  const ready = await fetch(`${listening.adminUrl}/readyz`)
  return { status: ready.status, body: await ready.json() }
}

t.test(
  'a Postgres over a network',
  { skip: noPostgres || (outside === undefined && 'no network') },
  async t => {
    const { settings, directory } = await startSinks(t)
    const tls = await createTestCertificate()
    const rig = await startPostgres(t, { tls })
    const network = await openToNetwork(t, rig.port)
    const schema = async (name: string) => {
      await askPostgres(rig.adminUrl, `CREATE SCHEMA ${name}`)
      return `options=${encodeURIComponent(`-c search_path=${name}`)}`
    }

    await t.test('without TLS serves when the operator says so', async t => {
      const url = `postgres://courier@${network}/postgres?${await schema('disabled')}&sslmode=disable`
      const told = await start(t, settings, url)
      t.match(told, { status: 200, body: { status: 'ready', degraded: [] } })
    })

    await t.test('on this machine needs no word', async t => {
      const url = `postgres://courier@127.0.0.1:${rig.port}/postgres?${await schema('here')}`
      t.match(await start(t, settings, url), { status: 200, body: { degraded: [] } })
    })

    await t.test('by verify-full is talked to by TLS alone', async t => {
      const file = join(directory, 'db-ca.pem')
      await writeFile(file, tls.cert)
      const rest = `postgres?${await schema('verified')}&sslmode=verify-full&sslrootcert=${encodeURIComponent(file)}`
      const told = await start(t, settings, `postgres://courier@127.0.0.1:${rig.port}/${rest}`)
      t.match(told, { status: 200, body: { degraded: [] } })
      const encrypted =
        'SELECT bool_and(ssl) AS tls FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE client_addr IS NOT NULL'
      t.same(await askPostgres(rig.adminUrl, encrypted), [{ tls: true }])
      const otherName = await start(t, settings, `postgres://courier@${network}/${rest}`)
      t.match(otherName, { code: 1, why: /certificate is not trusted/ }, 'it is not for this address')
    })
  },
)
