import { flushCompileCache } from 'node:module'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import { createPostgresOutbox } from '../../src/outbox/postgres/outbox.ts'
import { sample } from './samples.ts'

/**
 * A process of its own that has claimed one message for an hour, says its id on stdout, and lives until it is killed.
 *
 *     node holding-child.ts URL SECRET
 */
const [url = '', secret = ''] = process.argv.slice(2)
const clock = { now: Date.now }
const outbox = await createPostgresOutbox({
  url,
  clock,
  storeKeys: createStoreKeys(secret),
  maxBacklog: 1000,
  retentionDays: 30,
  heartbeats: { everyMs: 150, sureMs: 1200, goneMs: 2500 },
})
const token = outbox.sharedLeases?.newLeaseToken() ?? ''
const given = sample(clock, { lease: { token, until: Date.now() + 3_600_000, begins: true } })
await outbox.accept([given])
// Who is killed keeps nothing of what it compiled.
flushCompileCache()
process.stdout.write(`${given.message.id}\n`)
setInterval(() => {}, 1000)
