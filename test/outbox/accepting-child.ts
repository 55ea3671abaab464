import { createSealer } from '../../src/outbox/seal.ts'
import { createSqliteOutbox } from '../../src/outbox/sqlite.ts'
import { lease, sample } from './samples.ts'

/**
 * A process of its own that accepts and settles in a loop until it is killed, and says on stdout what was
 * acknowledged: `stored ID` once accept has resolved, `sent ID` once settle has.
 *
 *     node accepting-child.ts PATH SECRET [CALLS]
 */
const [path = '', secret = '', calls = '1000000'] = process.argv.slice(2)
const clock = { now: Date.now }
const outbox = await createSqliteOutbox({
  path,
  clock,
  sealer: createSealer(secret),
  maxBacklog: 1_000_000,
  retentionDays: 30,
})
process.stdout.write('open\n')

let made = 0
await Promise.all(
  Array.from({ length: 8 }, async () => {
    while (made < Number(calls)) {
      made += 1
      const own = made % 3 === 0 ? undefined : lease(clock)
      const given = sample(clock, {
        recipient: `r${made}.${process.pid}@example.com`,
        ...(own === undefined ? {} : { lease: own }),
      })
      const { id } = given.message
      const [accepted] = await outbox.accept([given])
      if (accepted?.is !== 'stored') throw new Error(`not stored but ${accepted?.is}`)
      process.stdout.write(`stored ${id}\n`)
      if (own === undefined || made % 3 === 1) continue
      await outbox.settle(id, own, { to: 'final', state: 'sent', answer: null })
      process.stdout.write(`sent ${id}\n`)
    }
  }),
)
await outbox.close()
