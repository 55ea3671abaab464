import type { DatabaseSync } from 'node:sqlite'
import type { Memo } from '../outbox.ts'

export type Memos = ReturnType<typeof createMemos>

/** Values kept beside the messages. */
export function createMemos(db: DatabaseSync) {
  const write = db.prepare(
    `INSERT INTO memos (name, value, expires_at) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`,
  )
  const read = db.prepare('SELECT value FROM memos WHERE name = ?')
  return {
    /** Writes a memo in the place of the one of its name, in the open transaction. */
    write: ({ name, value, expiresAt }: Memo) => void write.run(name, value, expiresAt),
    read(names: readonly string[]): ReadonlyMap<string, string> {
      const found = new Map<string, string>()
      for (const name of names) {
        const value = read.get(name)?.['value']
        if (typeof value === 'string') found.set(name, value)
      }
      return found
    },
  }
}
