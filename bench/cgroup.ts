import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = '/sys/fs/cgroup'
let made = 0

/** Makes a limit of memory: what needs more is killed. @param bytes @returns null where this machine does not allow it. */
export function createMemoryLimit(bytes: number) {
  const made = createLimit('memory', {
    v1: { 'memory.limit_in_bytes': String(bytes) },
    v2: { 'memory.max': String(bytes) },
  })
  if (made === null) return null
  const { group, v1, ...limit } = made
  const events = join(group, v1 ? 'memory.oom_control' : 'memory.events')
  const killsIn = (text: string) => Number(/^oom_kill (\d+)/m.exec(text)?.[1] ?? 0)
  /** How often something was killed for its memory. */
  return { ...limit, kills: () => killsIn(readFileSync(events, 'utf8')) }
}

/**
 * Makes a limit of CPU time.
 * @param cores such as 0.15 of a core.
 * @param period µs, as a container's unless given: what has used up its share of one rests until the next.
 * @returns null where this machine does not allow it.
 */
export function createCpuLimit(cores: number, period = 100_000) {
  const quota = String(Math.round(period * cores))
  const v1 = { 'cpu.cfs_period_us': String(period), 'cpu.cfs_quota_us': quota }
  return createLimit('cpu', { v1, v2: { 'cpu.max': `${quota} ${period}` } })
}

/** What the kernel grants at most to what is started in it, as a container's limits do. */
export type Limit = NonNullable<ReturnType<typeof createLimit>>
function createLimit(
  controller: 'memory' | 'cpu',
  files: Readonly<Record<'v1' | 'v2', Readonly<Record<string, string>>>>,
) {
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
    /** What this process starts meanwhile is limited, from its beginning. */
    async during<T>(start: () => Promise<T>) {
      move(group)
      try {
        return await start()
      } finally {
        move(home)
      }
    },
    /** A process that runs is limited from now on. */
    take: (pid: number) => move(group, pid),
    /** Once all that was started has ended. */
    remove: () => rmdirSync(group),
  }
}
