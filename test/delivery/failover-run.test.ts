import t from 'tap'
import { runFailover } from './failover-run.ts'

t.test(
  'failing carriers and kills: nothing comes twice that could be asked for, and nothing is lost',
  async t => {
    await runFailover(t, { seed: 1, messages: 120, kills: 3 })
  },
)
