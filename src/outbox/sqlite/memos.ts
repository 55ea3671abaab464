import type { DatabaseSync } from 'node:sqlite'
import type { Memo } from '../outbox.ts'

/** What is remembered beside the messages. */
export interface Memos {
  /** Writes one over what was remembered under its name, in the open transaction. */
  write(note: Memo): void
  read(names: readonly string[]): ReadonlyMap<string, string>
}

export function createMemos(db: DatabaseSync): Memos {
  const write = db.prepare(
    `INSERT INTO notes VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET value = excluded.value, gone_at = excluded.gone_at`,
  )
  const read = db.prepare('SELECT value FROM notes WHERE name = ?')
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
