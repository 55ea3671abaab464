import { flushCompileCache } from 'node:module'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import { StoreUnavailable } from '../../src/outbox/outbox.ts'
import { lease, STORE, sample } from './samples.ts'

/**
 * A process of its own that accepts and settles in a loop until it is killed, and says on stdout what was
 * acknowledged: `stored ID` once accept has resolved, `sent ID` once settle has.
 *
 *     node accepting-child.ts PATH|URL SECRET [CALLS]
 */
const [path = '', secret = '', calls = '1000000'] = process.argv.slice(2)
const clock = { now: Date.now }
const settings = { ...STORE, clock, storeKeys: createStoreKeys(secret) }
const outbox = path.startsWith('postgres:')
  ? await (await import('../../src/outbox/postgres/outbox.ts')).createPostgresOutbox({
      ...settings,
      url: path,
    })
  : await (await import('../../src/outbox/sqlite/outbox.ts')).createSqliteOutbox({ ...settings, path })
// Who is killed keeps nothing of what it compiled.
flushCompileCache()
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
      try {
        const [accepted] = await outbox.accept([given])
        if (accepted?.is !== 'stored') throw new Error(`not stored but ${accepted?.is}`)
        process.stdout.write(`stored ${id}\n`)
        if (own === undefined || made % 3 === 1) continue
        const settled = await outbox.settle(id, own, { to: 'final', state: 'sent', answer: null })
        if (settled.state === 'sent') process.stdout.write(`sent ${id}\n`)
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        await new Promise(resolve => setTimeout(resolve, 20))
      }
    }
  }),
)
await outbox.close()
