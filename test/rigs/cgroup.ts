import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A memory limit that the kernel keeps, as a container's: what needs more is killed. */
export interface MemoryLimit {
  /** What this process starts meanwhile is limited, from its beginning. */
  during<T>(start: () => Promise<T>): Promise<T>
  /** How often something was killed for its memory. */
  kills(): number
  /** Once all that was started has ended. */
  remove(): void
}

const ROOT = '/sys/fs/cgroup'

/** Makes a limit. @param bytes of memory. @returns null where this machine does not allow it. */
export function createMemoryLimit(bytes: number): MemoryLimit | null {
  const v1 = existsSync(join(ROOT, 'memory/memory.limit_in_bytes'))
  const root = v1 ? join(ROOT, 'memory') : ROOT
  const group = join(root, `courier-${process.pid}-${Date.now()}`)
  const events = join(group, v1 ? 'memory.oom_control' : 'memory.events')
  const move = (into: string): void => writeFileSync(join(into, 'cgroup.procs'), String(process.pid))
  // What starts a process is in the group itself for that while: a process is in the group of its parent at first.
  const home = join(
    root,
    /^(?:\d+:memory|0:):(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1] ?? '',
  )
  try {
    mkdirSync(group)
    writeFileSync(join(group, v1 ? 'memory.limit_in_bytes' : 'memory.max'), String(bytes))
    move(group)
    move(home)
    readFileSync(events)
  } catch {
    if (existsSync(group)) rmdirSync(group)
    return null
  }
  return {
    async during(start) {
      move(group)
      try {
        return await start()
      } finally {
        move(home)
      }
    },
    kills: () => Number(/^oom_kill (\d+)/m.exec(readFileSync(events, 'utf8'))?.[1] ?? 0),
    remove: () => rmdirSync(group),
  }
}
