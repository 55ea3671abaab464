import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import t, { type Test } from 'tap'
import { noPostgres, startPostgres } from '../rigs/postgres.ts'
import { spawnService } from '../rigs/process.ts'
import { startSinks } from '../rigs/service.ts'
import { restorePostgres, restoreSqlite } from './recorded.ts'

/** What the service left in its stores at d5aed31, before 1.0.0, given the story of record.ts: four messages wait. */
const read = (store: string) => readFileSync(join(import.meta.dirname, 'early', `${store}.sql`), 'utf8')

const EARLY = [
  'is one of a version before 1.0.0, in which 4 messages wait, and was left as it is',
  'start that version again',
]
const FOREIGN = [
  'holds tables of another program, and was left as it is',
  "name a database of this service's own",
]

/** Starts the service, and `check`, on a store that is not its own. */
async function refuse(t: Test, databaseUrl: string, [what, next]: readonly string[]): Promise<void> {
  const { settings } = await startSinks(t)
  const env = { ...settings, DATABASE_URL: databaseUrl }
  const service = spawnService(t, ['serve'], env)
  t.equal(await service.exited, 1)
  t.match(service.stderr(), `${what}: ${next}`)
  const check = spawnService(t, ['check'], env)
  t.equal(await check.exited, 1)
  const chinese = spawnService(t, ['check'], { ...env, LC_ALL: 'zh_CN.UTF-8' })
  t.equal(await chinese.exited, 1)
  t.match(chinese.stdout(), /保持原样\s+→ 请在/)
  for (const sentence of [what, next]) t.match(check.stdout(), sentence)
}

function listSqlite(path: string): unknown {
  const db = new DatabaseSync(path)
  const names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
  const rows = names.map(({ name }) => [name, db.prepare(`SELECT * FROM ${String(name)}`).all()])
  const mode = db.prepare('PRAGMA journal_mode').get()
  db.close()
  return { rows, mode }
}

t.test('an embedded store of an early version is refused, and stays as it was', async t => {
  const path = join(t.testdir({}), 'outbox.db')
  restoreSqlite({ sqlite: read('sqlite') }, path)
  const before = listSqlite(path)
  await refuse(t, `file:${path}`, EARLY)
  t.same(listSqlite(path), before)
})

t.test('so is one that 1.0.0 has marked as its own', async t => {
  const path = join(t.testdir({}), 'outbox.db')
  restoreSqlite({ sqlite: read('sqlite') }, path)
  const db = new DatabaseSync(path)
  db.exec("UPDATE meta SET value = 3 WHERE key = 'schema'; INSERT INTO meta VALUES ('min-writer', 1)")
  db.close()
  await refuse(t, `file:${path}`, EARLY)
})

t.test('so is the database of another program', async t => {
  const path = join(t.testdir({}), 'other.db')
  restoreSqlite({ sqlite: 'CREATE TABLE meta (id INTEGER, note TEXT); INSERT INTO meta VALUES (1, 2)' }, path)
  const before = listSqlite(path)
  await refuse(t, `file:${path}`, FOREIGN)
  t.same(listSqlite(path), before)
})

t.test(
  'a shared store of an early version is refused, and stays as it was',
  { skip: noPostgres },
  async t => {
    const postgres = await startPostgres()
    t.teardown(() => postgres.close())
    const url = await postgres.url()
    await restorePostgres({ postgres: read('postgres') }, url)
    const client = new pg.Client(url)
    await client.connect()
    t.teardown(() => client.end())
    const list = async () => {
      const { rows } = await client.query(
        `SELECT table_name AS name, query_to_xml('SELECT * FROM ' || table_name, true, false, '')::text AS rows
       FROM information_schema.tables WHERE table_schema = current_schema() ORDER BY 1`,
      )
      return rows
    }
    const before = await list()
    t.ok(before.length >= 7)
    await refuse(t, url, EARLY)
    t.same(await list(), before)
  },
)
