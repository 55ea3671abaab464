import t from 'tap'
import { checkWorlds } from './world.ts'

t.test(
  'three hundred worlds of chance: nothing is lost, late, sent too often, kept waiting or overtaken',
  async t => checkWorlds(t, 300),
)
