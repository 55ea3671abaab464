import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Callback } from '../faults/callbacks.ts'
import { askPostgres } from '../rigs/postgres.ts'
import type { Settings } from '../rigs/service.ts'

/** What a release was given before its store was recorded, by what became of it. */
export interface Story {
  /** When the release ended, ms since the epoch. */
  readonly at: number
  readonly sent: readonly Callback[]
  readonly refused: readonly Callback[]
  readonly superseded: readonly Callback[]
  /** The providers could not take them yet. */
  readonly waiting: readonly Callback[]
  /** Takes a message more than its recipient may have in a day. */
  readonly overQuota: Callback
}

/** The store of a release as it left it, in both forms, made by record.ts. */
export interface Recorded {
  readonly release: string
  readonly story: Story
  /** SQL that makes the embedded store, and the shared one. */
  readonly sqlite: string
  readonly postgres: string
}

/** What a recorded release ran with, beside the rig's own settings. */
export const RECORDED_SETTINGS: Settings = {
  QUOTAS: 'recipient-10m=off recipient-day=3 alarm-recipient-hour=off',
  DRAIN_SECONDS: '0',
}

export const RECORDED_DIRECTORY = join(import.meta.dirname, 'recorded')

/** Every release whose store was recorded. */
export function readRecorded(): readonly Recorded[] {
  return globSync(join(RECORDED_DIRECTORY, '*/story.json')).map(path => {
    const read = (name: string) => readFileSync(join(dirname(path), name), 'utf8')
    return {
      release: basename(dirname(path)),
      story: JSON.parse(read('story.json')) as Story,
      sqlite: read('sqlite.sql'),
      postgres: read('postgres.sql'),
    }
  })
}

/** Makes a file of an embedded store as a release left it. */
export function restoreSqlite({ sqlite }: Pick<Recorded, 'sqlite'>, path: string): void {
  const db = new DatabaseSync(path)
  db.exec(sqlite)
  db.close()
}

/** Fills an empty schema with a shared store as a release left it. */
export async function restorePostgres({ postgres }: Pick<Recorded, 'postgres'>, url: string): Promise<void> {
  await askPostgres(url, postgres)
}
