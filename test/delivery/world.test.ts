import t from 'tap'
import { checkWorlds } from './world.ts'

t.test(
  'a hundred worlds of chance: nothing is lost, late, sent too often, kept waiting or overtaken',
  async t => checkWorlds(t, 100),
)

t.test(
  'thirty worlds of failing carriers and kills: nothing comes twice without reason, nothing is lost',
  async t => checkWorlds(t, 30, 'failover'),
)

// In this world four messages waited for 1.6 s because nobody looked at the place that one of them had left.
t.test('a message that goes on to a slow carrier leaves its place to the next one at once', async t =>
  checkWorlds(t, 1, 'failover', 917_508_136),
)

// In this world what waited for a slow destination filled memory, and hid what the store had for another one.
t.test('a destination that fills memory hides no other one', async t =>
  checkWorlds(t, 1, 'failover', 660_329_238),
)
