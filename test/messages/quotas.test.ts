import { readFileSync } from 'node:fs'
import t from 'tap'
import { QUOTA_LIST } from '../../src/messages/quotas.ts'

t.test(
  'each quota with its window in seconds and its usual limit, in the order in which a message is counted',
  async t => {
    t.same(
      QUOTA_LIST.map(
        ({ name, channel = 'both', per, windowMs, usual, warns = false, newcomersOnly = false }) =>
          `${name}: ${channel}, ${usual} per ${per} in ${windowMs / 1000} s${warns ? ', warns' : ''}${newcomersOnly ? ', newcomers only' : ''}`,
      ),
      readFileSync(new URL('../fixtures/quotas.txt', import.meta.url), 'utf8')
        .trimEnd()
        .split('\n'),
    )
  },
)
