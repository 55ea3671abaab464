import { closeSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { type Sentence, say } from '../../language/sentence.ts'
import { type Enterprise, StoreUnusable } from '../outbox.ts'
import {
  ENTERPRISE,
  findEnterpriseNote,
  findPendingMigrations,
  requireOwnColumns,
  type Schema,
  versionOf,
} from '../schema-version.ts'
import { SQLITE_SCHEMA } from './schema.ts'

/** Up to this size the whole store is checked, which takes about half a second; damage in a larger one shows when it is read. */
const CHECKED_WHOLE_BYTES = 128 * 1024 * 1024

/**
 * Opens the embedded store for the process's life, or says why it cannot be used and what to do.
 *
 * @param path of the database file; its directory exists.
 * @param enterprise whose it has to be, or becomes.
 * @throws StoreUnusable
 */
export function openStore(path: string, schema = SQLITE_SCHEMA, enterprise?: Enterprise): DatabaseSync {
  let db: DatabaseSync | undefined
  try {
    // The file is made before SQLite would make it, with rights for the service's user only; SQLite gives the WAL the same rights.
    closeSync(openSync(path, 'a', 0o600))
    db = new DatabaseSync(path, { timeout: 1000 })
    setPragmas(db)
    migrate(db, path, schema, enterprise)
    // A database that is not ours stays in the mode that it has, so this comes after it was recognized.
    db.exec('PRAGMA journal_mode = WAL')
    checkIntegrity(db, path)
    return db
  } catch (error) {
    closeQuietly(db)
    if (error instanceof StoreUnusable) throw error
    throw new StoreUnusable(adviseOnOpenFailure(error, path), { cause: error })
  }
}

/** Closes a database that may be broken already; the failure that broke it is being reported. */
export function closeQuietly(db: DatabaseSync | undefined): void {
  try {
    db?.close()
  } catch {
    // It was not open.
  }
}

function setPragmas(db: DatabaseSync): void {
  // This comes before anything is read: a WAL that is opened in exclusive mode keeps its index in memory, and the lock for good.
  db.exec('PRAGMA locking_mode = EXCLUSIVE')
  // FULL syncs the WAL at every commit: what is answered 0 survives a power loss, not only a crash.
  db.exec('PRAGMA synchronous = FULL')
  db.exec('PRAGMA fullfsync = ON')
  // Removed content is overwritten, not only unlinked.
  db.exec('PRAGMA secure_delete = ON')
  db.exec('PRAGMA cell_size_check = ON')
  db.exec('PRAGMA temp_store = MEMORY')
  // Pages beyond these 8 MB come from the system's cache.
  db.exec('PRAGMA cache_size = -8192')
  // Checkpoints are run between commits, when nobody waits for one (maintenance.ts).
  db.exec('PRAGMA wal_autocheckpoint = 0')
}

function migrate(db: DatabaseSync, path: string, schema: Schema, enterprise?: Enterprise): void {
  db.exec('BEGIN IMMEDIATE')
  requireOwnColumns(listColumns(db), say('the store {path}', { path }))
  db.exec('CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID')
  const note =
    enterprise &&
    findEnterpriseNote(
      readMeta(db, ENTERPRISE) as string | undefined,
      enterprise,
      say('the store {path}', { path }),
    )
  if (note) writeMeta(db, ENTERPRISE, note)
  const version = Number(readMeta(db, 'schema') ?? 0)
  const minWriter = readMeta(db, 'min-writer')
  const stored = { version, minWriter: minWriter === undefined ? null : Number(minWriter) }
  for (const sql of findPendingMigrations(schema, stored, say('the store {path}', { path }))) db.exec(sql)
  // Tables of a newer version that this program may write keep their version.
  if (version <= versionOf(schema)) {
    writeMeta(db, 'schema', versionOf(schema))
    writeMeta(db, 'min-writer', schema.minWriter)
  }
  db.exec('COMMIT')
}

function listColumns(db: DatabaseSync): readonly string[] {
  return db
    .prepare("SELECT c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'")
    .all()
    .map(({ name }) => String(name))
}

/** Reads one of the store's own values. */
export function readMeta(db: DatabaseSync, key: string): unknown {
  return db.prepare('SELECT value FROM meta WHERE key = ?').get(key)?.['value']
}

export function writeMeta(db: DatabaseSync, key: string, value: string | number | Uint8Array): void {
  db.prepare(
    'INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
  ).run(key, value)
}

function checkIntegrity(db: DatabaseSync, path: string): void {
  const pages = Number(db.prepare('PRAGMA page_count').get()?.['page_count'])
  const pageSize = Number(db.prepare('PRAGMA page_size').get()?.['page_size'])
  if (pages * pageSize > CHECKED_WHOLE_BYTES) return
  const found = db.prepare('PRAGMA quick_check(1)').get()?.['quick_check']
  if (found !== 'ok') throw new StoreUnusable(adviseOnDamage(path), { cause: new Error(String(found)) })
}

/** Tells an operator what to do when the store, or a file beside it, cannot be opened. */
export function adviseOnOpenFailure(error: unknown, path: string): Sentence {
  switch (classifySqliteError(error)) {
    case 'locked':
      return say(
        'the store {path} is in use by another process: end that one first, or give this one a DATABASE_URL of its own (command-line tools ask the running service instead)',
        { path },
      )
    case 'corrupt':
      return adviseOnDamage(path)
    default:
      return say(
        "the store {path} cannot be opened: its directory must exist, be writable for the service's user and have room left",
        { path },
      )
  }
}

/** Tells an operator what to do with a damaged file. */
export function adviseOnDamage(path: string): Sentence {
  return say(
    'the store {path} is damaged: stop the service, keep a copy of the file and of {path}-wal, look after the disk, then restore a backup, or save what can be read with "sqlite3 {path} .recover | sqlite3 recovered.db" and put that in its place',
    { path },
  )
}

/**
 * The meaning of an error of SQLite, by its primary result code (https://www.sqlite.org/rescode.html).
 *
 * - `locked`   somebody else holds the file
 * - `corrupt`  the file is damaged, or is no database
 * - `resource` no room, no permission, an I/O error: passes when its cause is gone
 * - `refused`  values of the call itself: a constraint, a type, a size
 * - null       not the storage's fault: a bug
 */
export function classifySqliteError(error: unknown): SqliteFault | null {
  const code = (error as { errcode?: unknown } | null)?.errcode
  if (typeof code !== 'number') return null
  return FAULTS[code & 0xff] ?? null
}

type SqliteFault = 'locked' | 'corrupt' | 'resource' | 'refused'

const FAULTS: Readonly<Record<number, SqliteFault>> = {
  3: 'resource', // PERM
  5: 'locked', // BUSY
  6: 'locked', // LOCKED
  7: 'resource', // NOMEM
  8: 'resource', // READONLY
  10: 'resource', // IOERR
  11: 'corrupt', // CORRUPT
  13: 'resource', // FULL
  14: 'resource', // CANTOPEN
  15: 'resource', // PROTOCOL
  18: 'refused', // TOOBIG
  19: 'refused', // CONSTRAINT
  20: 'refused', // MISMATCH
  22: 'resource', // NOLFS
  23: 'resource', // AUTH
  26: 'corrupt', // NOTADB
}
