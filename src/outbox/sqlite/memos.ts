import type { DatabaseSync } from 'node:sqlite'
import type { Memo } from '../outbox.ts'

/** Values kept beside the messages. */
export interface Memos {
  /** Writes a memo in the place of the one of its name, in the open transaction. */
  write(memo: Memo): void
  read(names: readonly string[]): ReadonlyMap<string, string>
}

export function createMemos(db: DatabaseSync): Memos {
  const write = db.prepare(
    `INSERT INTO memos (name, value, expires_at) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`,
  )
  const read = db.prepare('SELECT value FROM memos WHERE name = ?')
  return {
    write: ({ name, value, expiresAt }) => void write.run(name, value, expiresAt),
    read(names) {
      const found = new Map<string, string>()
      for (const name of names) {
        const value = read.get(name)?.['value']
        if (typeof value === 'string') found.set(name, value)
      }
      return found
    },
  }
}
