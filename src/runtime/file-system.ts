import { existsSync, readFileSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'

/** The directory itself, or the nearest above it that exists. */
export function nearestExisting(directory: string): string {
  let found = directory
  while (!existsSync(found) && dirname(found) !== found) found = dirname(found)
  return found
}

/** File systems that do not outlive the machine, or the container, by the number that the kernel gives them (statfs(2)). */
const PASSING = new Map([
  [0x01021994, 'tmpfs'],
  [0x858458f6, 'ramfs'],
  [0x794c7630, 'overlay'],
])

/** Names the file system that a directory is on when it does not last: memory, or a container's own layer; null: it lasts. */
export function passingFileSystem(directory: string): string | null {
  return PASSING.get(statfsSync(nearestExisting(directory)).type) ?? null
}

/** How many files, connections among them, this process may have open; null: the system does not say. */
export function openFileLimit(): number | null {
  const limits = existsSync('/proc/self/limits') ? readFileSync('/proc/self/limits', 'utf8') : ''
  const most = /^Max open files +(\d+)/m.exec(limits)?.[1]
  return most === undefined ? null : Number(most)
}
