import t from 'tap'
import { measureLimit } from '../../bench/measures/limit.ts'
import { openSession } from '../../bench/session.ts'

t.test(
  'no setting: nearly the rate of the best fixed number of connections, and nobody waits much longer than all others',
  async t => {
    const { session, close } = await openSession({
      rounds: 2,
      seconds: 3,
      print: line => {
        t.comment(line)
      },
    })
    t.teardown(close)
    for (const { what, value, reach } of await measureLimit(session))
      if (reach !== undefined) t.ok(reach.met, `${what}: ${value.toFixed(2)}`)
  },
)
