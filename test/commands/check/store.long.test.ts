import t from 'tap'
import { enough, load } from '../../config/settings.ts'
import { noPostgres, startPostgres } from '../../rigs/postgres.ts'
import { linesOfStore } from './lines.ts'

t.test('a database is tried beside a running service', { skip: noPostgres }, async t => {
  const rig = await startPostgres()
  t.teardown(() => rig.close())
  const shared = { DATABASE_URL: await rig.url(), STORE_SECRET: 'a-long-random-text-of-ones-own' }
  t.same(await linesOfStore(load({ ...enough, ...shared })), ['ok store: opens and commits'])
})
