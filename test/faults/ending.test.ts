import { join } from 'node:path'
import t, { type Test } from 'tap'
import { callbackKey } from '../../src/callback/key.ts'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import { type ServiceProcess, startProcess } from '../rigs/process.ts'
import { CORP_ID, EMAIL_TOKEN, type Settings, type Sinks, startSinks } from '../rigs/service.ts'
import { createCallbacks } from './callbacks.ts'
import { judge, readRows } from './checker.ts'
import { createDriver, type Driver } from './driver.ts'
import { backlogOf, mailsOf, NO_QUOTAS, pause } from './stage.ts'

interface Burst {
  readonly sinks: Sinks
  readonly running: ServiceProcess
  readonly driver: Driver
  /** Posts mail after mail until it is stopped, or nobody listens any more. */
  callers(count: number): { stop(): Promise<unknown> }
  again(): Promise<ServiceProcess>
}

async function open(t: Test, settings: Settings): Promise<Burst> {
  const sinks = await startSinks(t)
  const env = { ...sinks.settings, ...NO_QUOTAS, ...settings, PATH: process.env['PATH'] ?? '' }
  const start = () => startProcess(t, env)
  const running = await start()
  const urls = {
    email: `${running.publicUrl}/callback/${CORP_ID}/${callbackKey('email', CORP_ID, EMAIL_TOKEN)}/email`,
  }
  const driver = createDriver({ urls: () => urls, ca: sinks.ca, connections: 32 })
  t.teardown(() => driver.close())
  const callbackOf = createCallbacks()
  return {
    sinks,
    running,
    driver,
    again: start,
    callers(count) {
      let stopped = false
      const call = async () => {
        while (!stopped) if ((await driver.post(callbackOf('email'))).status === undefined) return
      }
      const all = Array.from({ length: count }, call)
      return {
        stop: () => {
          stopped = true
          return Promise.all(all)
        },
      }
    },
  }
}

function rowsOf(sinks: Sinks) {
  return readRows(join(sinks.directory, 'outbox.db'))
}

function verdict({ sinks, driver }: Burst) {
  const { recipientHash } = createStoreKeys(sinks.settings['STORE_SECRET'] ?? '')
  return judge({ answers: driver.record, arrivals: mailsOf(sinks.smtp), rows: rowsOf(sinks), recipientHash })
}

t.test('SIGTERM in a burst: what was answered 0 is sent or given back, nothing is ambiguous', async t => {
  const burst = await open(t, { ANSWER_WITHIN_MS: '1000', DRAIN_SECONDS: '1' })
  const { running, sinks, driver } = burst
  // Slow enough that there is always something on its way and something waiting.
  sinks.smtp.act = ({ step }) => (step === 'dot' ? { is: 'wait', ms: 30 } : undefined)
  const load = burst.callers(30)
  for (const end = Date.now() + 20_000; driver.record.length < 60 && Date.now() < end; ) await pause(10)
  const told = Date.now()
  running.child.kill('SIGTERM')
  const code = await running.exited
  await load.stop()
  t.equal(code, 0)
  t.ok(Date.now() - told < 15_000, `it took ${Date.now() - told} ms`)
  const refused = driver.record.filter(each => each.status !== undefined && each.errCode !== 0)
  t.same(refused, [], 'no callback is refused')
  const served = driver.record.filter(each => each.errCode === 0 && each.askedAt > told)
  t.ok(served.length > 0, 'it serves on for a while')
  const rows = rowsOf(sinks)
  t.notOk(
    rows.some(row => row.state === 'sending'),
    'nothing is left as being sent',
  )
  t.notOk(rows.some(row => row.ambiguous > 0))

  sinks.smtp.act = undefined
  const next = await burst.again()
  while ((await backlogOf(next.adminUrl)) > 0) await pause(50)
  next.child.kill('SIGTERM')
  t.equal(await next.exited, 0)
  const { breaches, ...found } = verdict(burst)
  t.same(breaches, [])
  t.match(found, { lost: 0, duplicated: 0, ambiguous: 0, delivered: found.answered })
})

t.test('SIGTERM while a mail waits for the reply to its dot: ambiguous on record, one copy more', async t => {
  const burst = await open(t, { ANSWER_WITHIN_MS: '200', DRAIN_SECONDS: '0' })
  const { running, sinks, driver } = burst
  sinks.smtp.act = ({ step }) => (step === 'dot' ? { is: 'stall', accept: true } : undefined)
  const callbackOf = createCallbacks()
  await driver.load([callbackOf('email'), callbackOf('email')], 2)
  const told = Date.now()
  running.child.kill('SIGTERM')
  t.equal(await running.exited, 0)
  t.ok(Date.now() - told < 15_000, `it took ${Date.now() - told} ms`)
  t.match(rowsOf(sinks), [
    { state: 'queued', ambiguous: 1, timeline: [{ outcome: 'ambiguous', code: 'aborted' }] },
    { state: 'queued', ambiguous: 1 },
  ])
  sinks.smtp.act = undefined
  const next = await burst.again()
  while ((await backlogOf(next.adminUrl)) > 0) await pause(50)
  next.child.kill('SIGTERM')
  await next.exited
  const { breaches, ...found } = verdict(burst)
  t.same(breaches, [])
  t.match(found, { answered: 2, delivered: 2, duplicated: 2, lost: 0, states: { sent: 2 } })
})

t.test('a second signal ends at once, and nothing is lost', async t => {
  const burst = await open(t, { ANSWER_WITHIN_MS: '200', DRAIN_SECONDS: '2' })
  const { running, sinks, driver } = burst
  sinks.smtp.act = ({ step }) => (step === 'dot' ? { is: 'stall' } : undefined)
  const callbackOf = createCallbacks()
  await driver.load([callbackOf('email')], 1)
  running.child.kill('SIGTERM')
  await pause(300)
  const told = Date.now()
  running.child.kill('SIGTERM')
  t.equal(await running.exited, 1)
  t.ok(Date.now() - told < 2000)
  sinks.smtp.act = undefined
  const next = await burst.again()
  while ((await backlogOf(next.adminUrl)) > 0) await pause(50)
  next.child.kill('SIGTERM')
  await next.exited
  const { breaches, ...found } = verdict(burst)
  t.same(breaches, [])
  t.match(found, { answered: 1, delivered: 1, lost: 0 })
})
