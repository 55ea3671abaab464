import t from 'tap'
import { runFailover } from './failover-run.ts'
import { checkWorlds } from './world.ts'

t.setTimeout(600_000)

t.test('ten thousand worlds of failing carriers and kills', { timeout: 400_000 }, async t =>
  checkWorlds(t, 10_000, 'failover'),
)

t.test('failing carriers and kills, at ten thousand messages', { timeout: 290_000 }, async t => {
  for (let seed = 100; seed < 150; seed += 1) await runFailover(t, { seed, messages: 200, kills: 4 })
})
