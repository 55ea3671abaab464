import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createEmulator } from '../../sandbox/emulator/emulator.ts'
import { startStandIns } from '../../sandbox/stand-ins.ts'
import { createClock } from '../../src/runtime/clock.ts'
import { noPostgres, startPostgres } from '../rigs/postgres.ts'
import { startProgram } from '../rigs/process.ts'
import { until } from '../rigs/until.ts'

const FREEZER = '1144502133'
const secret = () => `t${randomBytes(16).toString('hex')}x`

/** Replicas as an operator runs them, processes of their own on one Postgres. */
async function replicas(t: Test) {
  const cleanup = new AsyncDisposableStack()
  t.teardown(() => cleanup.disposeAsync())
  const postgres = await startPostgres()
  cleanup.defer(() => postgres.close())
  const directory = await mkdtemp(join(tmpdir(), 'alerts-'))
  cleanup.defer(() => rm(directory, { recursive: true, force: true }))
  const standIns = await startStandIns(createClock(), directory, cleanup, () => {})
  const emulator = await createEmulator()
  cleanup.defer(() => emulator.close())
  const env = {
    CORP_ID: '100fa4b2c3d4e5f6',
    EMAIL_TOKEN: secret(),
    SMS_TOKEN: secret(),
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    DATABASE_URL: await postgres.url(),
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
    const { standIns, emulator, replica } = await replicas(t)
    const { devices, ddq } = emulator
    const mails = () => standIns.mails().length
    const all = [await replica(), await replica(), await replica()]
    await until(() => ddq.statistics().topics.length === 2, 'the subscription')
    await new Promise(resolve => setTimeout(resolve, 4000))
    t.equal(ddq.statistics().connections, 1, 'one connection, after everybody has asked for the lead')
    t.equal(all.filter(each => each.watches()).length, 1)
    devices.perform(FREEZER, 'alarm', 'rule-door')
    devices.perform(FREEZER, 'offline')
    await until(() => mails() === 2, 'the alarms')

    // The same messages come again to whoever subscribes next.
    ddq.setRedelivery(true)
    const first = all.find(each => each.watches())
    first?.child.kill('SIGKILL')
    await until(() => ddq.statistics().connections === 0, 'the death')
    const diedAt = performance.now()
    await until(() => ddq.statistics().topics.length === 2, 'another')
    const tookMs = performance.now() - diedAt
    // It is promised within 15 s; a busy machine may need one more term of the lead.
    t.ok(tookMs < 30_000, `took ${Math.round(tookMs)} ms`)
    t.equal(ddq.statistics().connections, 1)
    ddq.setRedelivery(false)

    devices.perform(FREEZER, 'recover', 'rule-door')
    devices.perform(FREEZER, 'online')
    await until(() => mails() === 4, 'the recoveries')

    const second = all.find(each => each !== first && each.watches())
    second?.child.kill('SIGTERM')
    const endedAt = performance.now()
    await until(() => second !== undefined && ddq.statistics().connections === 0, 'the end')
    await until(() => ddq.statistics().topics.length === 2, 'the third')
    const handedMs = performance.now() - endedAt
    t.comment(`after a death ${Math.round(tookMs)} ms, after an end in order ${Math.round(handedMs)} ms`)
    t.ok(handedMs < tookMs, 'one that ends in order hands over sooner than one that dies')
    t.equal(await second?.exited, 0)
    devices.perform(FREEZER, 'alarm', 'rule-door')
    await until(() => mails() === 5, 'the next alarm')
    await new Promise(resolve => setTimeout(resolve, 1000))
    t.equal(mails(), 5, 'each was told once')
  },
)
