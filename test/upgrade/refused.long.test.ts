import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { startService } from '../../src/service/service.ts'
import { command } from '../commands/rig.ts'
import { connectTo, noPostgres, startPostgres } from '../rigs/postgres.ts'
import { startSinks } from '../rigs/service.ts'
import { readRecorded, restorePostgres, restoreSqlite } from './recorded.ts'

const OLD =
  /was written by 1\.0\.0 or a version before it, and was left as it is: start 1\.1\.0 on it once, and this version then/
const FOREIGN =
  /holds tables of another program, and was left as it is: name a database of this service's own in DATABASE_URL/
const [recorded = { sqlite: '', postgres: '' }] = readRecorded()
/** What 1.0.0 noted of its tables, which an embedded store of 1.1.0 has, too. */
const BY_FORMER =
  "UPDATE meta SET value = '3' WHERE key = 'schema'; UPDATE meta SET value = '1' WHERE key = 'min-writer'"

/** Starts the service, and `check`, on a store that is not its own. */
async function refuse(t: Test, databaseUrl: string, why: RegExp): Promise<void> {
  const { settings } = await startSinks(t)
  const env = { ...settings, DATABASE_URL: databaseUrl }
  await t.rejects(startService(env), { name: 'StoreUnusable', message: why })
  const check = await command(['check'], env)
  t.equal(check.code, 1)
  t.match(check.out.replace(/\n +→ /g, ': '), why)
}

for (const [whose, sql, why] of [
  ['1.0.0', `${recorded.sqlite};${BY_FORMER}`, OLD],
  ['another program', 'CREATE TABLE meta (id INTEGER, note TEXT); INSERT INTO meta VALUES (1, 2)', FOREIGN],
] as const)
  t.test(`an embedded store of ${whose} is refused, and stays as it was`, async t => {
    const path = join(t.testdir({}), 'outbox.db')
    restoreSqlite({ sqlite: sql }, path)
    const list = () => {
      const db = new DatabaseSync(path)
      const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
      const rows = tables.map(({ name }) => [name, db.prepare(`SELECT * FROM ${String(name)}`).all()])
      const mode = db.prepare('PRAGMA journal_mode').get()
      db.close()
      return { rows, mode }
    }
    const before = list()
    await refuse(t, `file:${path}`, why)
    t.same(list(), before)
  })

t.test('so is a shared store', { skip: noPostgres }, async t => {
  const postgres = await startPostgres(t)
  for (const [sql, why] of [
    [`${recorded.postgres};${BY_FORMER.replaceAll('meta', 'courier_meta')}`, OLD],
    ['CREATE TABLE courier_messages (id integer)', FOREIGN],
  ] as const) {
    const url = await postgres.url()
    await restorePostgres({ postgres: sql }, url)
    const client = await connectTo(url)
    const list = async () => {
      const { rows } = await client.query(
        `SELECT table_name AS name, query_to_xml('SELECT * FROM ' || table_name, true, false, '')::text AS rows
       FROM information_schema.tables WHERE table_schema = current_schema() ORDER BY 1`,
      )
      return rows
    }
    const before = await list()
    t.ok(before.length > 0)
    await refuse(t, url, why)
    t.same(await list(), before)
    await client.end()
  }
})
