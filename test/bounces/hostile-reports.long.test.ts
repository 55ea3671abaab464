import t, { type Test } from 'tap'
import { readBounces } from '../../src/bounces/report.ts'
import { bounceUrl } from '../../src/service/callback-urls.ts'
import { createCostLimit } from '../rigs/processor-time.ts'
import { mailBody, NO_QUOTAS, startRig } from '../rigs/service.ts'
import { harmlessReport, hostileReports } from './hostile.ts'

const given = { id: '019a9f3c5d80e1f2a3b4c5d6e7f80912', to: 'ann@example.net', status: '5.1.1' }
const hostile = Object.entries(hostileReports(given))
const harmless = Buffer.from(harmlessReport(given), 'latin1')

t.test('no report takes many times as long as a harmless one of its size', async t => {
  // A harmless one takes next to nothing: none of its lines is looked at.
  const excessOf = await createCostLimit(() => readBounces(harmless), 40)
  for (const [name, text] of hostile) {
    const mail = Buffer.from(text, 'latin1')
    t.equal(await excessOf(() => readBounces(mail)), null, name)
  }
})

/** Posts callbacks one after the other while reports come, four at once. @returns how long half of them took at most, and nine of ten, ms. */
async function callbacksBeside(t: Test, reports: readonly Buffer[]) {
  const rig = await startRig(t, NO_QUOTAS)
  const { pathname } = new URL(bounceUrl(rig.service().config, 'https://courier.example.com') ?? '')
  for (let n = 0; n < 20; n += 1) await rig.post('email', mailBody({ to: `warm${n}@example.com` }))
  const left = [...reports]
  const statuses = new Set<number>()
  const sendAll = async (): Promise<void> => {
    for (let body = left.pop(); body !== undefined; body = left.pop())
      statuses.add((await rig.ask(pathname, { method: 'POST', body })).status)
  }
  let isDone = false
  const sent = Promise.all([sendAll(), sendAll(), sendAll(), sendAll()]).then(() => (isDone = true))
  const times: number[] = []
  while (!isDone) {
    const { errCode, ms } = await rig.post('email', mailBody({ to: `ann${times.length}@example.com` }))
    if (errCode !== 0) t.fail(`a callback is answered ${errCode}`)
    times.push(ms)
  }
  await sent
  t.same([...statuses], [204])
  times.sort((a, b) => a - b)
  const share = (of: number) => times[Math.floor(times.length * of)] ?? 0
  return { half: share(0.5), most: share(0.9) }
}

t.test('two hundred hostile reports hold up callbacks as little as harmless ones do', async t => {
  const made = hostile.map(([, text]) => Buffer.from(text, 'latin1'))
  const repeated = (some: readonly Buffer[]) =>
    Array.from({ length: 200 }, (_, n) => some[n % some.length] as Buffer)
  const twin = await callbacksBeside(t, repeated([harmless]))
  const cc = await callbacksBeside(t, repeated(made.slice(0, 1)))
  const all = await callbacksBeside(t, repeated(made))
  const said = JSON.stringify({ twin, cc, all })
  for (const each of [cc, all]) {
    t.ok(each.half < 3 * twin.half, said)
    t.ok(each.most < 4 * twin.most, said)
  }
  t.comment(said)
})
