import t from 'tap'
import { checkWorlds } from './world.ts'

t.setTimeout(600_000)

t.test('ten thousand worlds of chance', async t => checkWorlds(t, 10_000))
