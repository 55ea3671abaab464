import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { quote } from '../../src/language/sentence.ts'
import { POSTGRES_SCHEMA as POSTGRES } from '../../src/outbox/postgres/schema.ts'
import { findPendingMigrations, requireOwnColumns } from '../../src/outbox/schema-version.ts'
import { SQLITE_SCHEMA as SQLITE } from '../../src/outbox/sqlite/schema.ts'

t.test('who may write a store', async t => {
  const schema = { migrations: ['4', '5', '6'], minWriter: 5 }
  const pending = (version: number, minWriter: number | null) =>
    findPendingMigrations(schema, { version, minWriter }, quote('the store x'))
  t.same(pending(0, null), ['4', '5', '6'])
  t.same(pending(4, 4), ['5', '6'])
  t.same(pending(5, 4), ['6'])
  t.same(pending(6, 5), [])
  t.same(pending(7, 6), [], 'a newer one that this version may write')
  for (const version of [1, 2, 3])
    t.throws(() => pending(version, 1), {
      name: 'StoreUnusable',
      message: /^the store x was written by 1\.0\.0 or a version before it.*: start 1\.1\.0 on it once/,
    })
  t.throws(() => pending(7, 7), {
    name: 'StoreUnusable',
    message:
      /^the store x was written by a newer version.*version 7, programs from version 7 .* version 6\. Start the newer/,
  })
  t.throws(() => pending(7, null), { name: 'StoreUnusable' }, 'a newer one that does not say')
  requireOwnColumns([], quote('the store x'))
  requireOwnColumns(['id', 'final_at'], quote('the store x'))
  const another = /^the store x holds tables of another program, .* in DATABASE_URL$/
  t.throws(() => requireOwnColumns(['id'], quote('the store x')), { name: 'StoreUnusable', message: another })
})

t.test('both stores are of the same version, which the documentation names', async t => {
  const rows = [
    ...readFileSync('docs/upgrading.md', 'utf8').matchAll(/^\| (\d+) \| \S+ \| (\d+) and later \|/gm),
  ]
  const versions = rows.map(([, version]) => Number(version))
  for (const { migrations, minWriter } of [SQLITE, POSTGRES])
    t.same([migrations.map((_, at) => at + 4), minWriter], [versions, Number(rows.at(-1)?.[2])])
})

/** A store says of its tables only of which version they are. What a later release adds is a row here. */
t.test('tables that were released stay as they are, to the letter', async t => {
  const sumsOf = (migrations: readonly string[]) =>
    migrations.map(sql => createHash('sha256').update(sql).digest('base64url'))
  t.same(sumsOf(SQLITE.migrations), [
    'MOLrCIxyruxxOP4fqn6K295LSKLCghd6lLojOBhxcUw',
    'bNmRzzu7LGY8ZjOcGiUkL9D5JozRnAL7WOTpFdwrLFk',
  ])
  t.same(sumsOf(POSTGRES.migrations), [
    'VC9me11w1wVzQxxGdDrdd2dWHC7S38PnGb9yVm3evKc',
    'YXHtKQr0k2mnXHGQoFUX7aa-xaYwlZ_p-ANZBy_p78k',
  ])
})
