import t from 'tap'
import { readBounces } from '../../src/bounces/report.ts'
import { createCostLimit } from '../rigs/processor-time.ts'
import { harmlessReport, hostileReports } from './hostile.ts'

const given = { id: '019a9f3c5d80e1f2a3b4c5d6e7f80912', to: 'ann@example.net', status: '5.1.1' }
const harmless = Buffer.from(harmlessReport(given), 'latin1')

t.test('no report takes many times as long as a harmless one of its size', async t => {
  // A harmless one takes next to nothing: none of its lines is looked at.
  const excessOf = await createCostLimit(() => readBounces(harmless), 40)
  for (const [name, text] of Object.entries(hostileReports(given))) {
    const mail = Buffer.from(text, 'latin1')
    t.equal(await excessOf(() => readBounces(mail)), null, name)
  }
})
