import { say, tell, type Words } from '../language/sentence.ts'
import { type Enterprise, StoreUnusable } from './outbox.ts'

/** The steps that make a store's tables, and the programs that may write them. */
export interface Schema {
  /** The first makes the tables of {@link FIRST_VERSION}, each other one those of the next. A released one is never changed. */
  readonly migrations: readonly string[]
  /**
   * The oldest version whose program may write the tables as these migrations leave them. While that is the one before,
   * a release can be rolled back. So a release adds (a column that may be empty, a table, an index), and what nobody needs
   * any more is removed by a later one: a program names the columns that it writes, and leaves the others alone.
   */
  readonly minWriter: number
}

/** The version of the tables that 1.1.0 left; those of 1.0.0 were of version 3. */
const FIRST_VERSION = 4

/** Says which version of the tables a schema makes. */
export function versionOf({ migrations }: Schema): number {
  return FIRST_VERSION - 1 + migrations.length
}

export interface StoredVersion {
  /** 0: it has none yet. */
  readonly version: number
  /** Null: the store does not say, and only its own version may write it. */
  readonly minWriter: number | null
}

/**
 * @param store names the store in the sentence of a refusal.
 * @returns the migrations that a store's tables lack.
 * @throws StoreUnusable when this program must not write them.
 */
export function findPendingMigrations(
  schema: Schema,
  { version, minWriter }: StoredVersion,
  store: Words,
): readonly string[] {
  const own = versionOf(schema)
  const oldest = minWriter ?? version
  if (own < version && own < oldest) {
    throw new StoreUnusable(
      say(
        '{store} was written by a newer version of this service: its tables are of version {version}, programs from version {oldest} on may write them, and this one is of version {own}. Start the newer one again, or restore the backup that was made before it (docs/upgrading.md)',
        { store: tell(store), version, oldest, own },
      ),
    )
  }
  if (version > 0 && version < FIRST_VERSION)
    throw new StoreUnusable(
      say(
        '{store} was written by 1.0.0 or a version before it, and was left as it is: start 1.1.0 on it once, and this version then (docs/upgrading.md)',
        { store: tell(store) },
      ),
    )
  return version === 0 ? schema.migrations : schema.migrations.slice(version - FIRST_VERSION + 1)
}

/**
 * Refuses the tables of another program.
 * @param columns of the store's messages; of all tables, where the database is for this service alone. None: it is new.
 * @throws StoreUnusable
 */
export function requireOwnColumns(columns: readonly string[], store: Words): void {
  if (columns.length > 0 && !columns.includes('final_at'))
    throw new StoreUnusable(
      say(
        "{store} holds tables of another program, and was left as it is: name a database of this service's own in DATABASE_URL",
        { store: tell(store) },
      ),
    )
}

/** The store's own value that names the enterprise whose messages it holds. */
export const ENTERPRISE = 'corp-id'

/**
 * Finds out what a store is to note of its enterprise: two that are pointed at one store by mistake would take each other's messages for
 * their own. A store without a note is its first comer's.
 * @returns null: nothing.
 * @throws StoreUnusable when it is another one's.
 */
export function findEnterpriseNote(
  noted: string | undefined,
  { corpId, formerly }: Enterprise,
  store: Words,
): string | null {
  if (noted === corpId) return null
  if (noted === undefined || noted === formerly) return corpId
  throw new StoreUnusable(
    say(
      '{store} holds the messages of another enterprise, {noted}, and was left as it is: correct CORP_ID ({corpId}), or name this enterprise\'s own store in DATABASE_URL. If {noted} is this one\'s former name, run "callback-courier adopt {noted}" once',
      { store: tell(store), noted, corpId },
    ),
  )
}
