import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What the kernel grants at most to what is started in it, as a container's limits do. */
export interface Limit {
  /** What this process starts meanwhile is limited, from its beginning. */
  during<T>(start: () => Promise<T>): Promise<T>
  /** A process that runs is limited from now on. */
  take(pid: number): void
  /** Once all that was started has ended. */
  remove(): void
}

/** A limit of memory: what needs more is killed. */
export interface MemoryLimit extends Limit {
  /** How often something was killed for its memory. */
  kills(): number
}

const ROOT = '/sys/fs/cgroup'
let made = 0

/** Makes a limit of memory. @param bytes @returns null where this machine does not allow it. */
export function createMemoryLimit(bytes: number): MemoryLimit | null {
  const made = createLimit('memory', {
    v1: { 'memory.limit_in_bytes': String(bytes) },
    v2: { 'memory.max': String(bytes) },
  })
  if (made === null) return null
  const { group, v1, ...limit } = made
  const events = join(group, v1 ? 'memory.oom_control' : 'memory.events')
  return { ...limit, kills: () => Number(/^oom_kill (\d+)/m.exec(readFileSync(events, 'utf8'))?.[1] ?? 0) }
}

/**
 * Makes a limit of CPU time.
 * @param cores such as 0.15 of a core.
 * @param period µs, as a container's unless given: what has used up its share of one rests until the next.
 * @returns null where this machine does not allow it.
 */
export function createCpuLimit(cores: number, period = 100_000): Limit | null {
  const quota = String(Math.round(period * cores))
  const v1 = { 'cpu.cfs_period_us': String(period), 'cpu.cfs_quota_us': quota }
  return createLimit('cpu', { v1, v2: { 'cpu.max': `${quota} ${period}` } })
}

function createLimit(
  controller: 'memory' | 'cpu',
  files: Readonly<Record<'v1' | 'v2', Readonly<Record<string, string>>>>,
): (Limit & { readonly group: string; readonly v1: boolean }) | null {
  const v1 = existsSync(join(ROOT, controller, 'cgroup.procs'))
  const root = v1 ? join(ROOT, controller) : ROOT
  const group = join(root, `courier-${process.pid}-${(made += 1)}`)
  const move = (into: string, pid = process.pid): void =>
    writeFileSync(join(into, 'cgroup.procs'), String(pid))
  // What starts a process is in the group itself for that while: a process is in the group of its parent at first.
  const own = new RegExp(`^(?:\\d+:${controller}|0:):(.*)$`, 'm')
  const home = join(root, own.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1] ?? '')
  try {
    mkdirSync(group)
    for (const [name, value] of Object.entries(files[v1 ? 'v1' : 'v2']))
      writeFileSync(join(group, name), value)
    move(group)
    move(home)
  } catch {
    if (existsSync(group)) rmdirSync(group)
    return null
  }
  return {
    group,
    v1,
    async during(start) {
      move(group)
      try {
        return await start()
      } finally {
        move(home)
      }
    },
    take: pid => move(group, pid),
    remove: () => rmdirSync(group),
  }
}
