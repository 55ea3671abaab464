import { type Enterprise, StoreUnusable } from './outbox.ts'

/** The steps that make a store's tables, and the programs that may write them. */
export interface Schema {
  /** Each brings the tables from one version to the next; the first makes version 1. A released one is never changed. */
  readonly migrations: readonly string[]
  /**
   * The oldest version whose program may write the tables as these migrations leave them. While that is the one before,
   * a release can be rolled back. So a release adds (a column that may be empty, a table, an index), and what nobody needs
   * any more is removed by a later one: a program names the columns that it writes, and leaves the others alone.
   */
  readonly minWriter: number
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
  { migrations }: Schema,
  { version, minWriter }: StoredVersion,
  store: string,
): readonly string[] {
  const own = migrations.length
  const oldest = minWriter ?? version
  if (own < version && own < oldest) {
    throw new StoreUnusable(
      `${store} was written by a newer version of this service: its tables are of version ${version}, programs from version ${oldest} on may write them, and this one is of version ${own}. Start the newer one again, or restore the backup that was made before it (docs/upgrading.md)`,
    )
  }
  return migrations.slice(version)
}

/**
 * Says whose tables a store has, by the names of their columns: early versions numbered their tables as we number ours.
 * @param columns of its messages; of all tables, where the database is for this service alone. None: it is new.
 */
export function recognizeTables(columns: readonly string[]): 'own' | 'early' | 'foreign' {
  if (columns.length === 0 || columns.includes('attempted_by')) return 'own'
  return columns.includes('twin') ? 'early' : 'foreign'
}

/** The refusal of a store that is not ours to change. @param waiting messages that wait in one of an early version. */
export function refuseTables(whose: 'early' | 'foreign', waiting: number, store: string): StoreUnusable {
  return new StoreUnusable(
    whose === 'foreign'
      ? `${store} holds tables of another program, and was left as it is: name a database of this service's own in DATABASE_URL`
      : `${store} is one of a version before 1.0.0, in which ${waiting} messages wait, and was left as it is: start that version again beside this one to send them, and give this one an empty store by another DATABASE_URL (docs/upgrading.md, "A store from before 1.0.0")`,
  )
}

/** The store's own value that names the enterprise whose messages it holds; 1.0.0 left none. */
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
  store: string,
): string | null {
  if (noted === corpId) return null
  if (noted === undefined || noted === formerly) return corpId
  throw new StoreUnusable(
    `${store} holds the messages of another enterprise, ${noted}, and was left as it is: correct CORP_ID (${corpId}), or name this enterprise's own store in DATABASE_URL. If ${noted} is this one's former name, run "callback-courier adopt ${noted}" once`,
  )
}

/** The store's own value that every release from 1.1 on leaves in a store that it makes; 1.0.0 left none. */
export const MADE_FROM = { key: 'made-from', release: '1.1' } as const
