import { type Listening, type Program, startProgram } from '../rigs/process.ts'

/** The service in a process of its own, ready to start. */
export interface WaitingService {
  /** It has loaded all that it needs, or has ended. */
  readonly ready: Promise<unknown>
  /** Lets it start. Resolves with where it listens; null: it ended before. */
  go(): Promise<Listening | null>
  kill(signal: NodeJS.Signals): void
  /** Exit code or signal. */
  readonly ended: Program['exited']
  /** What it complained about. */
  readonly complaints: () => string
}

const GATE = new URL('./gate.ts', import.meta.url).href

/** Starts `serve`, which loads everything and waits. */
export function spawnWaiting(env: Readonly<Record<string, string>>): WaitingService {
  const { child, started, exited, stderr } = startProgram(['serve'], env, { imports: [GATE], ipc: true })
  const loaded = new Promise<void>(resolve => child.once('message', () => resolve()))
  return {
    ready: Promise.race([loaded, exited]),
    go() {
      if (child.connected) child.send('go', () => {})
      return started
    },
    kill: signal => void child.kill(signal),
    ended: exited,
    complaints: stderr,
  }
}
