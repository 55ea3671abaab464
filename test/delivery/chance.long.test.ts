import t from 'tap'
import { runFailover } from './failover-run.ts'
import { checkWorlds } from './world.ts'

t.setTimeout(300_000)

t.test('a thousand worlds of chance', async t => checkWorlds(t, 1000))

t.test('fifteen hundred worlds of failing carriers and kills', async t => checkWorlds(t, 1500, 'failover'))

t.test('failing carriers and kills, at a thousand messages', { timeout: 200_000 }, async t => {
  for (let seed = 100; seed < 105; seed += 1) await runFailover(t, { seed, messages: 200, kills: 4 })
})
