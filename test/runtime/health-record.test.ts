import t from 'tap'
import { leaveAlone, newHealthRecord, recover } from '../../src/runtime/health-record.ts'

t.test(
  'what fails in a row rests longer each time, up to a limit that is longer where somebody has to mend it',
  async t => {
    for (const [isForOperator, rests] of [
      [false, [2000, 4000, 8000, 8000, 8000, 8000]],
      [true, [2000, 4000, 8000, 16_000, 32_000, 48_000]],
    ] as const) {
      const record = newHealthRecord<{ readonly code: number }>()
      t.same(
        rests.map((_, at) => leaveAlone(record, { code: at }, isForOperator, 100 * at)),
        rests,
      )
      t.same(record, { fault: { code: 5, since: 0 }, until: 500 + (rests[5] ?? 0), rests: 6 })
      recover(record)
      t.same(record, newHealthRecord())
      const options = { random: () => 1, firstMs: 1000 }
      t.same(
        [1250, 2500, 6000].map(leastMs =>
          leaveAlone(record, { code: 1 }, false, 700, { ...options, leastMs }),
        ),
        [1250, 2500, 6000],
      )
      t.same(record.fault, { code: 1, since: 700 })
    }
  },
)
