import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A process of the bench: a sink or a baseline. It is asked one question at a time, in the order they came. */
export interface Child {
  readonly pid: number
  ask<Answer>(question: Question): Promise<Answer>
  stop(): Promise<void>
}

export type Question = { readonly is: string } & Readonly<Record<string, unknown>>

/** Starts a module of this folder in a process of its own. @param module such as `./sinks/smtp.ts` */
export async function startChild(module: string, env: Readonly<Record<string, string>> = {}): Promise<Child> {
  const child = fork(fileURLToPath(new URL(module, import.meta.url)), {
    env: { ...process.env, NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  await nextMessage(child)
  let answered: Promise<unknown> = Promise.resolve()
  return {
    pid: child.pid ?? 0,
    async ask<Answer>(question: Question) {
      const answer = answered.then(async () => {
        const next = nextMessage(child)
        child.send(question)
        return next
      })
      answered = answer.catch(() => {})
      return (await answer) as Answer
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      await new Promise(resolve => {
        child.once('exit', resolve)
        child.kill()
      })
    },
  }
}

/** Runs in the child: says that it is ready, then answers the parent's questions. */
export function answerParent(answer: (question: Question) => unknown): void {
  process.on('message', (question: Question) => {
    void Promise.resolve(answer(question)).then(answered => process.send?.(answered ?? null))
  })
  process.on('disconnect', () => process.exit(0))
  process.send?.('ready')
}

async function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error(`a process of the bench ended: ${child.spawnargs.at(-1)}`))
    child.once('exit', ended)
    child.once('message', message => {
      child.off('exit', ended)
      resolve(message)
    })
  })
}

/** The memory and processor time of a process, from /proc; zeros where there is none. */
export interface Usage {
  /** The most resident memory since the last reading, MB. */
  readonly peakMb: number
  /** Share of one core since the last reading. */
  readonly cpu: number
  /** Processor time since the last reading, all its threads together, ms. */
  readonly cpuMs: number
}

/** Watches a process's memory several times a second. */
export function watchUsage(pid: number): { read(): Usage; stop(): void } {
  let peakMb = 0
  let since = { at: performance.now(), cpuMs: cpuMs(pid) }
  const timer = setInterval(() => {
    peakMb = Math.max(peakMb, residentMb(pid))
  }, 100)
  timer.unref()
  return {
    read() {
      const now = { at: performance.now(), cpuMs: cpuMs(pid) }
      const spentMs = now.cpuMs - since.cpuMs
      const usage = {
        peakMb: Math.max(peakMb, residentMb(pid)),
        cpu: spentMs / (now.at - since.at),
        cpuMs: spentMs,
      }
      since = now
      peakMb = 0
      return usage
    },
    stop: () => clearInterval(timer),
  }
}

/** Processor time of a process and of all its children so far, those that have ended included, ms. */
export function processTreeCpuMs(pid: number): number {
  const children = readProc(pid, `task/${pid}/children`).trim().split(' ').filter(Boolean)
  return children.reduce((sum, child) => sum + cpuMs(Number(child)), cpuMs(pid, { ended: true }))
}

export interface Memory {
  /** All that is resident. */
  readonly residentMb: number
  /** The part that no file backs, and that another process can share with nobody. */
  readonly anonymousMb: number
}

/** The memory of a process now, from /proc; zeros where there is none. */
export function readMemory(pid: number): Memory {
  const rollup = readProc(pid, 'smaps_rollup')
  return { residentMb: megabytes(rollup, 'Rss'), anonymousMb: megabytes(rollup, 'Anonymous') }
}

function residentMb(pid: number): number {
  return megabytes(readProc(pid, 'status'), 'VmRSS')
}

function megabytes(file: string, field: string): number {
  const kb = new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(file)?.[1]
  return kb === undefined ? 0 : (Number(kb) * 1024) / 1e6
}

/** User and system time, also of its children that have ended; /proc counts in hundredths of a second. */
export function cpuMs(pid: number, { ended = false } = {}): number {
  const fields = readProc(pid, 'stat')
    .replace(/^.*\) /, '')
    .split(' ')
  return fields.slice(11, ended ? 15 : 13).reduce((sum, field) => sum + Number(field), 0) * 10
}

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
