import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { startStandIns } from '../../sandbox/stand-ins.ts'
import type { Io } from '../../src/commands/command.ts'
import { runCommand } from '../../src/commands/run.ts'
import { createClock } from '../../src/runtime/clock.ts'
import { startService } from '../../src/service/service.ts'
import { serveHere } from '../rigs/serve-here.ts'

export type Env = Readonly<Record<string, string | undefined>>

const DOTENV = '/nowhere/.env'

/** Runs a command line and keeps what it said. */
export async function command(argv: readonly string[], env: Env = {}, dotenv?: string) {
  let out = ''
  let err = ''
  const io: Io = {
    stdout: { write: text => (out += text) },
    stderr: { write: text => (err += text) },
    env,
    readFile: path => (path === DOTENV && dotenv) || readFileSync(path, 'utf8'),
    dotenvPath: DOTENV,
    setZone: zone => {
      process.env['TZ'] = zone
    },
  }
  const code = await runCommand(argv, io)
  return { code, out, err }
}

/** A mail server, a Twilio and settings that point at them; nothing else runs. */
export async function standInsFor(t: Test) {
  const cleanup = new AsyncDisposableStack()
  t.teardown(() => cleanup.disposeAsync())
  const directory = t.testdir()
  const standIns = await startStandIns(createClock(), directory, cleanup, () => {})
  const env: Record<string, string> = {
    ...standIns.settings,
    CORP_ID: '100fa4',
    EMAIL_TOKEN: 'kbXvWqzRtYpLmNhJgFdS',
    SMS_TOKEN: 'tGmZwHcYsBxKrVjNdQpF',
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    DATABASE_URL: `file:${join(directory, 'data/outbox.db')}`,
    DEFAULT_AREA_CODE: '86',
    QUOTAS: 'sms-day=1000 email-day=1000',
    LOG_LEVEL: 'silent',
  }
  return { standIns, env }
}

/** The whole service, as it would run. */
export async function running(t: Test, settings: Record<string, string> = {}) {
  const { standIns, env } = await standInsFor(t)
  const service = await startService({ ...env, ...settings }, { startStoreThread: serveHere })
  // Before the teardown of its stand-ins, which was registered earlier.
  t.teardown(() => service.close())
  const port = (url: string) => new URL(url).port
  return {
    standIns,
    urls: service.urls,
    /** Settings of the running service, with the ports that it got. */
    env: Object.assign(env, settings, {
      PORT: port(service.publicUrl),
      ADMIN_PORT: port(service.adminUrl),
      PUBLIC_URL: service.publicUrl,
    }),
    close: () => service.close(),
  }
}
