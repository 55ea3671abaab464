import t from 'tap'
import { runFailover } from './failover-run.ts'

t.setTimeout(300_000)

t.test('failing carriers and kills, at ten thousand messages', { timeout: 290_000 }, async t => {
  for (let seed = 100; seed < 150; seed += 1) await runFailover(t, { seed, messages: 200, kills: 4 })
})
