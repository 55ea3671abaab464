import t from 'tap'
import { checkScopeWorlds } from './scope-worlds.ts'

t.test('three thousand worlds of faults by scope: what they do not concern does not notice them', async t =>
  checkScopeWorlds(t, 3000),
)
