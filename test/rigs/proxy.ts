import { spawn, spawnSync } from 'node:child_process'
import { connect } from 'node:net'
import type { Test } from 'tap'
import type { Settings } from './service.ts'
import { until } from './until.ts'

/** What a program says of its version; undefined: it is not here. */
export function versionOf(command: string, argument: string): string | undefined {
  const { stdout, stderr, status } = spawnSync(command, [argument], { encoding: 'utf8' })
  return status === 0 ? `${stdout}${stderr}` : undefined
}

/** Older ones cannot send a POST again, or not always, whose connection failed (caddyserver/caddy pull requests 7547, 7715, 7719). */
export function isRecentCaddy(): boolean {
  const version = /v?2\.(\d+)\.(\d+)/.exec(versionOf('caddy', 'version') ?? '') ?? []
  const [, minor = 0, patch = 0] = version.map(Number)
  return minor > 11 || (minor === 11 && patch >= 4)
}

/** Starts a proxy, which ends with the test, and waits until it listens. @returns says all that it has written */
export async function startProxy(
  t: Test,
  port: number,
  command: string,
  args: readonly string[],
  env: Settings = {},
): Promise<() => string> {
  let said = ''
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
  const ended = new Promise<void>(done => child.once('close', () => done()))
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const listens = () =>
    new Promise<boolean>(done => {
      const socket = connect(port, '127.0.0.1', () => done(true)).on('error', () => done(false))
      socket.unref().end()
    })
  await until(listens, `${command} listens`)
  return () => said
}
