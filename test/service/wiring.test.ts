import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import { createSqliteOutbox } from '../../src/outbox/sqlite/outbox.ts'
import { createClock } from '../../src/runtime/clock.ts'
import { createServiceParts } from '../../src/service/wiring.ts'
import { enough, load } from '../config/settings.ts'

t.test('what was opened is closed when the rest cannot be wired', async t => {
  const path = join(t.testdir(), 'outbox.db')
  const secret = 'a-store-secret-of-some-length'
  const config = load({ ...enough, TLS: 'off', DATABASE_URL: `file:${path}`, STORE_SECRET: secret })
  const clock = createClock()
  const made = createServiceParts({
    // A listener for other machines without a password: refused once the store is open.
    config: Object.assign(config, { ADMIN_HOST: '0.0.0.0', ADMIN_TOKENS: undefined }),
    log: pino({ level: 'silent' }),
    clock,
    random: Math.random,
    wall: clock.now,
    certificate: () => null,
    renewalRefused: () => null,
  })
  await t.rejects(made, /ADMIN_TOKENS is needed/)
  const outbox = await createSqliteOutbox({
    path,
    clock,
    storeKeys: createStoreKeys(secret),
    maxBacklog: 100,
    retentionDays: 1,
  })
  t.equal(await outbox.queries.probeCommit(), true, 'nobody holds the store any more')
  await outbox.close()
})
