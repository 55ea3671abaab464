import t from 'tap'
import { checkScopeWorlds } from './scope-worlds.ts'

t.test('a third of all codes is refused again and again: what is no code does not wait for that', async t =>
  checkScopeWorlds(t, 1, 806_226_291),
)

t.test('two hundred worlds of faults by scope: what they do not concern does not notice them', async t =>
  checkScopeWorlds(t, 200),
)
