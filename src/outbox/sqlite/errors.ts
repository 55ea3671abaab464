/**
 * What an error of SQLite means for us, by its primary result code (https://www.sqlite.org/rescode.html).
 *
 * - `locked`   somebody else holds the file
 * - `corrupt`  the file is damaged, or is no database
 * - `resource` no room, no permission, an I/O error: passes when its cause is gone
 * - null       not the storage's fault: a bug
 */
export function classifyError(error: unknown): 'locked' | 'corrupt' | 'resource' | null {
  const code = (error as { errcode?: unknown } | null)?.errcode
  if (typeof code !== 'number') return null
  return FAULTS[code & 0xff] ?? null
}

const FAULTS: Readonly<Record<number, 'locked' | 'corrupt' | 'resource'>> = {
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
  22: 'resource', // NOLFS
  23: 'resource', // AUTH
  26: 'corrupt', // NOTADB
}
