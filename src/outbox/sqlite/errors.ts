/**
 * The meaning of an error of SQLite, by its primary result code (https://www.sqlite.org/rescode.html).
 *
 * - `locked`   somebody else holds the file
 * - `corrupt`  the file is damaged, or is no database
 * - `resource` no room, no permission, an I/O error: passes when its cause is gone
 * - `refused`  values of the call itself: a constraint, a type, a size
 * - null       not the storage's fault: a bug
 */
export function classifyError(error: unknown): SqliteFault | null {
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
