/**
 * Says why a file cannot be read and what to do, as the rest of a sentence that names the file.
 * @param error what node:fs threw.
 * @param uid the user of this process: in a container it is seldom the one who owns the file.
 */
export function describeUnreadable(error: unknown, uid: number | undefined = process.getuid?.()): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown fault'
  return `cannot be read (${code}): ${REMEDIES[code]?.(uid) ?? 'look at its path and permissions'}`
}

const giveToUser = (uid: number | undefined): string =>
  `the service runs as user ${uid}, who must be able to read it and to pass the folders above it; chown ${uid} gives it to that user`

const REMEDIES: Readonly<Record<string, (uid: number | undefined) => string>> = {
  ENOENT: () => 'it is not there; in a container the path is the one inside, of a folder that is mounted',
  EISDIR: () => 'it is a folder; name the file in it',
  EACCES: giveToUser,
  EPERM: giveToUser,
}
