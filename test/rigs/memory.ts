import { existsSync, statfsSync } from 'node:fs'

/** Files in memory. A container's is 64 MB unless it was asked for more, which servers and stores outgrow. */
const MEMORY = '/dev/shm'
const ROOM = 1024 * 1024 * 1024

/** A directory for what no crash of the machine has to spare; null where memory has no such room. */
export function findMemory(): string | null {
  if (!existsSync(MEMORY)) return null
  const { bavail, bsize } = statfsSync(MEMORY)
  return bavail * bsize > ROOM ? MEMORY : null
}
