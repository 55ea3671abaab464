import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { SelfSigned } from '../sandbox/certificate.ts'
import { deriveCallbackKey } from '../src/callback/authenticate.ts'
import { freePort } from '../test/rigs/free-port.ts'

export const CORP_ID = 'bench-corp'
export const EMAIL_TOKEN = 'bench-email-token-long-enough'
export const SMS_TOKEN = 'bench-sms-token-long-enough-x'
export const PATHS = {
  email: `/callback/${CORP_ID}/${deriveCallbackKey('email', CORP_ID, EMAIL_TOKEN)}/email`,
  sms: `/callback/${CORP_ID}/${deriveCallbackKey('sms', CORP_ID, SMS_TOKEN)}/sms`,
} as const

/** The real service in a process of its own. */
export interface Service {
  readonly pid: number
  readonly port: number
  readonly env: Readonly<Record<string, string>>
  /** Ends it and removes what it stored. */
  stop(): Promise<void>
}

export interface ServiceOptions {
  readonly certificate: SelfSigned
  readonly smtpPort: number
  readonly twilioPort: number
  readonly env?: Readonly<Record<string, string>>
  /** Another program than `src/main.ts` that starts the service, from this folder. */
  readonly program?: string
  /** Runs before the start with the service's settings, to fill the store. */
  readonly prepare?: (env: Readonly<Record<string, string>>) => Promise<void>
}

/** Starts it in a directory of its own; resolves when it listens. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const directory = await mkdtemp(join(tmpdir(), 'courier-bench-'))
  const port = await freePort()
  const env = await createSettings(options, directory, port)
  await options.prepare?.(env)
  const log = join(directory, 'log')
  const child = spawnService(env, directory, log, options.program)
  try {
    await waitUntilStarted(child, log)
  } catch (error) {
    child.kill('SIGKILL')
    await rm(directory, { recursive: true, force: true })
    throw error
  }
  return {
    pid: child.pid ?? 0,
    port,
    env,
    async stop() {
      await stopProcess(child)
      await rm(directory, { recursive: true, force: true })
    },
  }
}

export async function createSettings(
  { certificate, smtpPort, twilioPort, env = {} }: ServiceOptions,
  directory: string,
  port: number,
): Promise<Record<string, string>> {
  await writeFile(join(directory, 'cert.pem'), certificate.cert)
  await writeFile(join(directory, 'key.pem'), certificate.key, { mode: 0o600 })
  return {
    CORP_ID,
    EMAIL_TOKEN,
    SMS_TOKEN,
    HOST: '127.0.0.1',
    PORT: String(port),
    ADMIN_PORT: '0',
    TLS_CERT_FILE: join(directory, 'cert.pem'),
    TLS_KEY_FILE: join(directory, 'key.pem'),
    DATABASE_URL: `file:${join(directory, 'outbox.db')}`,
    STORE_SECRET: 'bench-store-secret-of-good-length',
    MAX_BACKLOG: '10000000',
    DRAIN_SECONDS: '0',
    SMTP_URL: `smtp://127.0.0.1:${smtpPort}?ignoreTLS=true`,
    MAIL_FROM: 'Bench <no-reply@bench.example.com>',
    TWILIO_ACCOUNT_SID: 'AC00000000000000000000000000000000',
    TWILIO_AUTH_TOKEN: 'bench-token',
    TWILIO_FROM: '+15005550006',
    TWILIO_API_URL: `https://127.0.0.1:${twilioPort}`,
    NODE_EXTRA_CA_CERTS: join(directory, 'cert.pem'),
    DEFAULT_AREA_CODE: '86',
    // The bench's phone numbers share their prefix, other than people's, and come as fast as they can.
    QUOTAS:
      'sms-prefix-10m=off sms-minute=off sms-day=off email-minute=off alarm-recipient-hour=off signup-domain-hour=off',
    ...env,
  }
}

/** Environment variables of the image that limit Node's heap and malloc. */
const FROM_IMAGE = ['NODE_ENV', 'NODE_OPTIONS', 'MALLOC_ARENA_MAX'] as const

function imageSettings(): Record<string, string> {
  const dockerfile = readFileSync(join(import.meta.dirname, '..', 'Dockerfile'), 'utf8')
  return Object.fromEntries(
    FROM_IMAGE.map(name => {
      const found = new RegExp(`^(?:ENV)? *${name}=(?:"([^"]*)"|(\\S+))`, 'm').exec(dockerfile)
      if (found === null) throw new Error(`the Dockerfile does not set ${name}`)
      return [name, found[1] ?? found[2] ?? '']
    }),
  )
}

/** Starts `node src/main.ts serve` with the image's environment and these settings only. */
export function spawnService(
  env: Readonly<Record<string, string>>,
  directory: string,
  log: string,
  program = '../src/main.ts',
): ChildProcess {
  const out = openSync(log, 'a')
  const main = resolve(import.meta.dirname, program)
  const child = spawn(process.execPath, [main, 'serve'], {
    cwd: directory,
    env: { PATH: process.env['PATH'] ?? '', ...imageSettings(), ...env },
    stdio: ['ignore', out, out],
  })
  closeSync(out)
  return child
}

export async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const hard = setTimeout(() => child.kill('SIGKILL'), 20_000)
  await new Promise(resolve => {
    child.once('exit', resolve)
    child.kill('SIGTERM')
  })
  clearTimeout(hard)
}

async function waitUntilStarted(child: ChildProcess, log: string): Promise<void> {
  for (let waited = 0; waited < 3000; waited++) {
    const output = readFileSync(log, 'utf8')
    if (output.includes('"event":"started"')) return
    if (child.exitCode !== null) throw new Error(`the service did not start:\n${output.slice(0, 4000)}`)
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  throw new Error('the service did not start within 30 s')
}
