import { pino } from 'pino'
import t from 'tap'
import { checkStore } from '../../../src/commands/check/machine.ts'
import type { Config } from '../../../src/config/config.ts'
import { createClock } from '../../../src/runtime/clock.ts'
import { openOutbox, openStoreKeys } from '../../../src/service/factories.ts'
import { enough, load } from '../../config/settings.ts'
import { noPostgres, startPostgres } from '../../rigs/postgres.ts'
import { linesOf } from './lines.ts'

const STORE_SECRET = 'a-long-random-text-of-ones-own'
const look = async (config: Config) =>
  linesOf(
    await checkStore(
      config,
      async () => openOutbox(config, createClock(), await openStoreKeys(config), pino({ level: 'silent' })),
      null,
    ),
  )

t.test('a database is tried beside a running service', { skip: noPostgres }, async t => {
  const rig = await startPostgres()
  t.teardown(() => rig.close())
  const DATABASE_URL = await rig.url()
  t.same(await look(load({ ...enough, DATABASE_URL, STORE_SECRET })), ['ok store: opens and commits'])
})
