import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The service in a process of its own, ready to start. */
export interface WaitingService {
  /** It has loaded all that it needs, or has ended. */
  readonly ready: Promise<unknown>
  /** Lets it start. Resolves with where it listens; null: it ended before. */
  go(): Promise<{ readonly publicUrl: string; readonly adminUrl: string } | null>
  kill(signal: NodeJS.Signals): void
  /** Exit code or signal. */
  readonly ended: Promise<number | NodeJS.Signals | null>
  /** What it complained about. */
  readonly complaints: () => string
}

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const GATE = new URL('./gate.ts', import.meta.url).href

/** Spawns `node src/main.ts serve`, which loads everything and waits. */
export function spawnWaiting(env: Readonly<Record<string, string>>): WaitingService {
  const child: ChildProcess = spawn(process.execPath, ['--import', GATE, MAIN, 'serve'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let complaints = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  const ended = new Promise<number | NodeJS.Signals | null>(resolve =>
    child.once('close', (code, signal) => resolve(code ?? signal)),
  )
  const loaded = new Promise<void>(resolve => child.once('message', () => resolve()))
  // It may die at any moment, that of a word to it included.
  child.on('error', () => {})
  const started = new Promise<{ publicUrl: string; adminUrl: string } | null>(resolve => {
    let held: string | undefined = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      if (held === undefined) return
      held += text
      const line = held
        .split('\n')
        .slice(0, -1)
        .find(each => each.includes('"event":"started"'))
      if (line === undefined) return
      held = undefined
      const { public: publicUrl, admin: adminUrl } = JSON.parse(line) as Record<string, string>
      resolve({ publicUrl: publicUrl ?? '', adminUrl: adminUrl ?? '' })
    })
    void ended.then(() => resolve(null))
  })
  return {
    ready: Promise.race([loaded, ended]),
    async go() {
      if (child.connected) child.send('go', () => {})
      return started
    },
    kill: signal => void child.kill(signal),
    ended,
    complaints: () => complaints,
  }
}
