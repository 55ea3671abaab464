import t from 'tap'
import { checkWorlds } from './world.ts'

t.test(
  'two hundred worlds of chance: nothing is lost, late, sent too often, kept waiting or overtaken',
  async t => checkWorlds(t, 200),
)
