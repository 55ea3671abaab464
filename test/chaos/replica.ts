import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { request } from 'undici'
import { pause } from '../faults/stage.ts'

/** One replica under an orchestrator: a process of its own, started again whenever it ends before it is told to. */
export interface Replica {
  /** Where it listens; null while it does not. */
  at(): { readonly publicUrl: string; readonly adminUrl: string } | null
  /** Whether a load balancer would give it requests: what `/readyz` said last. */
  ready(): boolean
  kill(signal: NodeJS.Signals): void
  /** How often it was started. */
  starts(): number
  /** Ends it for good, in order. @throws when it does not end in order. */
  end(): Promise<void>
  /** Ends it at once. */
  destroy(): Promise<void>
}

export interface ReplicaOptions {
  readonly env: Readonly<Record<string, string>>
  /** Hears every line of its log. */
  readonly heard: (line: Readonly<Record<string, unknown>>) => void
}

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const RESTART_MS = 500
const PROBE_EVERY_MS = 500
const PROBE_WITHIN_MS = 1000

export function startReplica({ env, heard }: ReplicaOptions): Replica {
  let child: ChildProcess | undefined
  let at: ReturnType<Replica['at']> = null
  let ready = false
  let wanted = true
  let starts = 0
  let complaints = ''
  let code: number | null = null

  async function keepRunning(): Promise<void> {
    while (wanted) {
      await run()
      if (wanted) await pause(RESTART_MS)
    }
  }

  async function run(): Promise<void> {
    starts += 1
    complaints = ''
    const running = spawn(process.execPath, [MAIN, 'serve'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    child = running
    running.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaints += text
    })
    createInterface({ input: running.stdout }).on('line', line => {
      if (!line.startsWith('{')) return
      const event = JSON.parse(line) as Record<string, unknown>
      heard(event)
      if (event['event'] !== 'started') return
      at = { publicUrl: String(event['public']), adminUrl: String(event['admin']) }
    })
    code = await new Promise<number | null>(resolve => running.once('close', resolve))
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
    kill: signal => void child?.kill(signal),
    starts: () => starts,
    async end() {
      wanted = false
      child?.kill('SIGTERM')
      await Promise.all([running, probing])
      if (code !== 0) throw new Error(`a replica ended with ${code}: ${complaints}`)
    },
    async destroy() {
      wanted = false
      child?.kill('SIGKILL')
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
