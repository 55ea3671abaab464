import t from 'tap'
import { playHiccups, SHORT } from './hiccups.ts'

t.test('a hiccup costs no message', { jobs: 5 }, async t => playHiccups(t, SHORT))
