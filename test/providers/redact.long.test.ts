import t from 'tap'
import { createRedactor } from '../../src/providers/redact.ts'

const redactor = createRedactor({ to: 'reader@example.com' }, ['a-password'])

/** @returns ms of the processor, the least of some times. */
function costOf(text: string): number {
  const took: number[] = []
  for (let n = 0; n < 5; n += 1) {
    const { user } = process.threadCpuUsage()
    for (let time = 0; time < 5; time += 1) redactor.reply(text)
    took.push((process.threadCpuUsage().user - user) / 1000)
  }
  return Math.min(...took)
}

t.test('a refusal that was made to be looked at for long costs little more than another one', async t => {
  const usual = Math.max(0.1, costOf(`550 5.1.1 ${'The mailbox of reader@example.com is full. '.repeat(46)}`))
  let worst = { text: '', ms: 0 }
  for (const unit of ['a', '1', 'a.', '@', 'a@', '<', '"a', 'www.', 'a:', 'x1 ', 'é', '1-', ' ', "'"])
    for (const tail of ['', '@', ' @', '://', '"@x']) {
      const ms = costOf(`550 5.1.1 ${unit.repeat(1950 / unit.length)}${tail}`)
      if (ms > worst.ms) worst = { text: unit + tail, ms }
    }
  t.ok(worst.ms < 20 * usual, `${JSON.stringify(worst)}, usually ${usual} ms`)
})
