import t from 'tap'
import { checkWorlds } from './world.ts'

t.test('ten thousand worlds of chance', async t => checkWorlds(t, 10_000))

t.test('ten thousand worlds of failing carriers and kills', async t => checkWorlds(t, 10_000, 'failover'))
