import { request } from 'undici'
import { pause } from '../faults/stage.ts'
import { type Listening, type Program, startProgram } from '../rigs/process.ts'

/** One replica under an orchestrator: a process of its own, started again whenever it ends before it is told to. */
export interface Replica {
  /** Where it listens; null while it does not. */
  at(): Listening | null
  /** Whether a load balancer would give it requests: what `/readyz` said last. */
  ready(): boolean
  kill(signal: NodeJS.Signals): void
  /** Resolves when the process of now has ended. */
  exited(): Promise<void>
  /** Ends it in order and starts it again, with what is given changed. Resolves when a load balancer gives it requests. */
  replace(changed?: Partial<Pick<ReplicaOptions, 'main' | 'env'>>): Promise<void>
  /** How often it was started. */
  starts(): number
  /** Ends it for good, in order. @throws when it does not end in order. */
  end(): Promise<void>
  /** Ends it at once. */
  destroy(): Promise<void>
}

export interface ReplicaOptions {
  /** `src/main.ts` of its release; this one's unless given. */
  readonly main?: string | undefined
  /** Its settings; those that a replacement changes are its own from then on. */
  readonly env: Readonly<Record<string, string>>
  /** Hears every line of its log. */
  readonly heard: (line: Readonly<Record<string, unknown>>) => void
}

const RESTART_MS = 500
const PROBE_EVERY_MS = 500
const PROBE_WITHIN_MS = 1000

export function startReplica({ heard, ...first }: ReplicaOptions): Replica {
  let { main, env } = first
  let program: Program | undefined
  let at: Listening | null = null
  let ready = false
  let wanted = true
  let starts = 0

  async function keepRunning(): Promise<void> {
    while (wanted) {
      await run()
      if (wanted) await pause(RESTART_MS)
    }
  }

  async function run(): Promise<void> {
    starts += 1
    program = startProgram(['serve'], env, { main, onEvent: heard })
    at = await program.started
    await program.exited
    at = null
    ready = false
  }

  async function probe(): Promise<void> {
    while (wanted) {
      ready = at !== null && (await answers(`${at.adminUrl}/readyz`))
      await pause(PROBE_EVERY_MS)
    }
  }

  const running = keepRunning()
  const probing = probe()
  return {
    at: () => at,
    ready: () => ready && at !== null,
    kill: signal => void program?.child.kill(signal),
    async exited() {
      await program?.exited
    },
    async replace(changed = {}) {
      const before = starts
      main = changed.main ?? main
      env = { ...env, ...changed.env }
      program?.child.kill('SIGTERM')
      while (starts === before || !ready) await pause(20)
    },
    starts: () => starts,
    async end() {
      wanted = false
      program?.child.kill('SIGTERM')
      await Promise.all([running, probing])
      const code = await program?.exited
      if (code !== 0) throw new Error(`a replica ended with ${code}: ${program?.stderr()}`)
    },
    async destroy() {
      wanted = false
      program?.child.kill('SIGKILL')
      await Promise.all([running, probing])
    },
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(url, { signal: AbortSignal.timeout(PROBE_WITHIN_MS) })
    await body.dump()
    return statusCode === 200
  } catch {
    return false
  }
}

/** Waits until a load balancer gives requests to all of them, or until something else is so of each. */
export async function untilReady(
  replicas: readonly Replica[],
  is = (each: Replica) => each.ready(),
): Promise<void> {
  for (const end = performance.now() + 30_000; !replicas.every(is); await pause(20))
    if (performance.now() > end) throw new Error('the replicas did not start')
}
