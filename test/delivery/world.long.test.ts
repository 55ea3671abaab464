import t from 'tap'
import { checkWorlds } from './world.ts'

t.test('a thousand worlds of chance', async t => checkWorlds(t, 1000))

t.test('fifteen hundred worlds of failing carriers and kills', async t => checkWorlds(t, 1500, 'failover'))
