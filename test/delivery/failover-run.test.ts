import t from 'tap'
import { runFailover } from './failover-run.ts'
import { checkWorlds } from './world.ts'

t.test(
  'fifty worlds of failing carriers and kills: nothing comes twice without reason, nothing is lost',
  async t => checkWorlds(t, 50, 'failover'),
)

t.test(
  'failing carriers and kills on a real store: nothing comes twice that could be asked for, and nothing is lost',
  async t => {
    await runFailover(t, { seed: 1, messages: 120, kills: 3 })
  },
)

// In this world four messages waited for 1.6 s because nobody looked at the place that one of them had left.
t.test('a message that goes on to a slow carrier leaves its place to the next one at once', async t =>
  checkWorlds(t, 1, 'failover', 917_508_136),
)
