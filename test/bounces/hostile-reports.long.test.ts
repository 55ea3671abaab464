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

/** Posts callbacks one after the other while two hundred reports come, four at once. @returns how long half of them took at most, ms. */
async function callbacksBeside(t: Test, some: readonly Buffer[]): Promise<number> {
  const rig = await startRig(t, NO_QUOTAS)
  const { pathname } = new URL(bounceUrl(rig.service().config, 'https://courier.example.com') ?? '')
  for (let n = 0; n < 20; n += 1) await rig.post('email', mailBody({ to: `warm${n}@example.com` }))
  let posted = 0
  const statuses = new Set<number>()
  const postReports = async (): Promise<void> => {
    while (posted < 200) {
      const body = some[posted % some.length] as Buffer
      posted += 1
      statuses.add((await rig.ask(pathname, { method: 'POST', body })).status)
    }
  }
  let isDone = false
  const sent = Promise.all([postReports(), postReports(), postReports(), postReports()]).then(
    () => (isDone = true),
  )
  const times: number[] = []
  while (!isDone) {
    const { errCode, ms } = await rig.post('email', mailBody({ to: `ann${times.length}@example.com` }))
    if (errCode !== 0) t.fail(`a callback is answered ${errCode}`)
    times.push(ms)
  }
  await sent
  t.same([...statuses], [204])
  return times.sort((a, b) => a - b)[times.length >> 1] ?? 0
}

t.test('two hundred hostile reports hold up callbacks as little as harmless ones do', async t => {
  const made = hostile.map(([, text]) => Buffer.from(text, 'latin1'))
  const [usual, beside]: [number[], number[]] = [[], []]
  // In turns: what else this machine does meets both.
  for (let turn = 0; turn < 3; turn += 1) {
    usual.push(await callbacksBeside(t, [harmless]))
    beside.push(await callbacksBeside(t, made))
  }
  const said = `${beside.map(Math.round).join(', ')} ms beside ${usual.map(Math.round).join(', ')} ms`
  t.ok(Math.min(...beside) < 3 * Math.max(...usual), said)
  t.comment(said)
})
