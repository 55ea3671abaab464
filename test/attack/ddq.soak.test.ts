import t from 'tap'
import { FLOODS, type Flood, MESSAGES, startHostileDdq } from '../rigs/hostile-ddq.ts'
import { startProcess } from '../rigs/process.ts'
import { startSinks } from '../rigs/service.ts'
import { AS_IN_THE_IMAGE, probe } from './flood.ts'

const MOST_MB = 64

t.test(
  'beside every flood of a DDQ server callbacks take at most twice as long as without, and memory stays',
  async t => {
    const names = Object.keys(FLOODS) as Flood[]
    const hostile = await startHostileDdq(MESSAGES)
    t.teardown(() => hostile.close())
    const { settings, ca } = await startSinks(t)
    const common = {
      ...settings,
      ...AS_IN_THE_IMAGE,
      QUOTAS:
        'recipient-10m=off recipient-day=off sms-prefix-10m=off sms-minute=off sms-day=off sms-country-day=off',
    }
    // Without DDQ, beside the other: whatever else the machine does, both are measured in it.
    const quiet = await startProcess(t, { ...common, DATABASE_URL: `${settings['DATABASE_URL']}-quiet` })
    const service = await startProcess(t, {
      ...common,
      DDQ_URL: `http://127.0.0.1:${hostile.port}`,
      DDQ_AUTH_URL: hostile.authUrl,
      DDQ_APP_ID: 'application-1',
      DDQ_APP_SECRET: 'canary-application-secret',
      ALERTS: 'state * 0 - ann@example.com',
    })
    for (const each of [quiet, service]) await probe(each, ca, 1500)

    /** Long enough for one flood, as the service comes back every five seconds; again while the machine is uneven. */
    async function measure(flood: Flood): Promise<void> {
      let figures = ''
      for (let tries = 0; tries < 4; tries += 1) {
        const { p99 } = await probe(service, ca, 6500)
        const usual = Math.max((await probe(quiet, ca, 1500)).p99, 5)
        figures = `${flood}: p99 ${p99.toFixed(1)} ms, usually ${usual.toFixed(1)} ms`
        t.comment(figures)
        if (p99 < 2 * usual) return
      }
      t.fail(figures)
    }

    t.ok(await waitFor(() => hostile.floods.length > 0), 'it is subscribed')
    await measure(MESSAGES)
    t.ok(hostile.floods.at(-1)?.open, 'messages, however many, are read')
    const before = service.memory()
    for (const flood of names) {
      hostile.flood = flood
      const count = hostile.floods.length
      hostile.hangUp()
      await measure(flood)
      t.ok(await waitFor(() => hostile.floods[count]?.open === false), `${flood} was begun and is ended`)
      const grown = service.memory() - before
      t.ok(grown < MOST_MB, `${flood}: ${grown.toFixed(0)} MB`)
    }
    t.equal(service.child.exitCode, null, 'it still runs')
    t.equal(service.stderr(), '')
  },
)

async function waitFor(condition: () => boolean, ms = 15_000): Promise<boolean> {
  for (
    const end = performance.now() + ms;
    !condition();
    await new Promise(resolve => setTimeout(resolve, 10))
  )
    if (performance.now() > end) return false
  return true
}
