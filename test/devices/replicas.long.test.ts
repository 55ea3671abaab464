import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createEmulator } from '../../sandbox/emulator/emulator.ts'
import { startStandIns } from '../../sandbox/stand-ins.ts'
import { createClock } from '../../src/runtime/clock.ts'
import { connectTo, noPostgres, openPostgres } from '../rigs/postgres.ts'
import { startProgram } from '../rigs/process.ts'
import { until } from '../rigs/until.ts'

const FREEZER = '1144502133'
const secret = () => `t${randomBytes(16).toString('hex')}x`

/** Replicas as an operator runs them, processes of their own on one Postgres. */
async function replicas(t: Test) {
  const cleanup = new AsyncDisposableStack()
  t.teardown(() => cleanup.disposeAsync())
  // Its log has who asks for the lead.
  const postgres = await openPostgres({ settings: { log_statement: 'mod' } })
  cleanup.defer(() => postgres.close())
  const directory = await mkdtemp(join(tmpdir(), 'alerts-'))
  cleanup.defer(() => rm(directory, { recursive: true, force: true }))
  const standIns = await startStandIns(createClock(), directory, cleanup, () => {})
  const emulator = await createEmulator()
  cleanup.defer(() => emulator.close())
  const url = await postgres.url()
  const database = await connectTo(url)
  cleanup.defer(() => database.end())
  const env = {
    CORP_ID: '100fa4b2c3d4e5f6',
    EMAIL_TOKEN: secret(),
    SMS_TOKEN: secret(),
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    DATABASE_URL: url,
    STORE_SECRET: secret(),
    SMS_COUNTRIES: '*',
    BRAND_NAME: 'Example IoT',
    DRAIN_SECONDS: '0',
    NODE_EXTRA_CA_CERTS: standIns.certFile,
    ...standIns.settings,
    ...emulator.settings,
    ALERTS: 'alert * 0 - ann@example.com; state * 0 - ann@example.com',
  }
  return {
    standIns,
    emulator,
    /** How many have asked for the lead, whether they were given it or not. */
    async askers() {
      const asked = (await postgres.log()).matchAll(
        /INSERT INTO courier_leader_leases.*?\$1 = 'alerts', \$2 = '([^']+)'/gs,
      )
      return new Set([...asked].map(([, owner]) => owner)).size
    },
    async leader() {
      const { rows } = await database.query<{ owner: string }>(
        "SELECT owner FROM courier_leader_leases WHERE name = 'alerts' AND until > clock_timestamp()",
      )
      return rows[0]?.owner
    },
    async replica() {
      const { child, exited, started, stdout } = startProgram(['serve'], env, { cwd: directory })
      cleanup.defer(async () => {
        child.kill('SIGKILL')
        await exited
      })
      await started
      return { child, exited, watches: () => /"leads":true/.test(stdout()) }
    },
  }
}

t.test(
  'one of several replicas watches; another takes over when it dies, and sooner when it ends in order',
  { skip: noPostgres },
  async t => {
    const { standIns, emulator, replica, askers, leader } = await replicas(t)
    const { devices, ddq } = emulator
    const mails = () => standIns.mails().length
    const all = [await replica(), await replica(), await replica()]
    await until(() => ddq.statistics().topics.length === 2, 'the subscription')
    await until(async () => (await askers()) === 3, 'everybody asks for the lead')
    t.equal(ddq.statistics().connections, 1, 'one connection')
    t.equal(all.filter(each => each.watches()).length, 1)
    devices.perform(FREEZER, 'alarm', 'rule-door')
    devices.perform(FREEZER, 'offline')
    await until(() => mails() === 2, 'the alarms')

    // The same messages come again to whoever subscribes next.
    ddq.setRedelivery(true)
    const first = all.find(each => each.watches())
    const dead = await leader()
    first?.child.kill('SIGKILL')
    await first?.exited
    t.equal(await leader(), dead, 'who dies keeps the lead until it runs out')
    await until(async () => ![dead, undefined].includes(await leader()), 'another leader')
    await until(() => ddq.statistics().topics.length === 2, 'another')
    t.equal(ddq.statistics().connections, 1)
    ddq.setRedelivery(false)

    devices.perform(FREEZER, 'recover', 'rule-door')
    devices.perform(FREEZER, 'online')
    await until(() => mails() === 4, 'the recoveries')

    const second = all.find(each => each !== first && each.watches())
    const ended = await leader()
    second?.child.kill('SIGTERM')
    t.equal(await second?.exited, 0)
    t.not(await leader(), ended, 'who ends in order gives it up')
    await until(() => ddq.statistics().topics.length === 2, 'the third')
    devices.perform(FREEZER, 'alarm', 'rule-door')
    await until(() => mails() === 5, 'the next alarm')
    const third = all.find(each => each !== first && each !== second)
    third?.child.kill('SIGTERM')
    t.equal(await third?.exited, 0)
    t.equal(mails(), 5, 'each was told once')
  },
)
