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

t.test('beside a running service an embedded store is left alone, as that holds it', async t => {
  t.same(await look(load(enough)), ['ok store: the running service says that it commits'])
})

t.test('a database that nobody answers at is said, though a service runs on another store', async t => {
  const DATABASE_URL = 'postgres://courier:secret@127.0.0.1:1/courier'
  const [line = ''] = await look(load({ ...enough, DATABASE_URL, STORE_SECRET }))
  t.match(line, /^fail store: .*→/)
  t.notMatch(line, 'secret@')
})

t.test('a database is tried beside a running service', { skip: noPostgres }, async t => {
  const rig = await startPostgres()
  t.teardown(() => rig.close())
  const DATABASE_URL = await rig.url()
  t.same(await look(load({ ...enough, DATABASE_URL, STORE_SECRET })), ['ok store: opens and commits'])
})
