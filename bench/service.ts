import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import { callbackKey } from '../src/callback/key.ts'

export const CORP_ID = 'bench-corp'
export const EMAIL_TOKEN = 'bench-email-token-long-enough'
export const SMS_TOKEN = 'bench-sms-token-long-enough-x'
export const PATHS = {
  email: `/callback/${CORP_ID}/${callbackKey('email', CORP_ID, EMAIL_TOKEN)}/email`,
  sms: `/callback/${CORP_ID}/${callbackKey('sms', CORP_ID, SMS_TOKEN)}/sms`,
} as const

export interface Certificate {
  readonly key: string
  readonly cert: string
}

/** The real service in a process of its own, as it is served in earnest. */
export interface Service {
  readonly pid: number
  readonly port: number
  readonly env: Readonly<Record<string, string>>
  /** Ends it and removes what it stored. */
  stop(): Promise<void>
}

export async function makeCertificate(): Promise<Certificate> {
  const made = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  })
  return { key: made.private, cert: made.cert }
}

export interface ServiceOptions {
  readonly certificate: Certificate
  readonly smtpPort: number
  readonly twilioPort: number
  readonly env?: Readonly<Record<string, string>>
  /** Runs before the start, with the settings: to fill the store. */
  readonly prepare?: (env: Readonly<Record<string, string>>) => Promise<void>
}

/** Starts it in a directory of its own; resolves when it listens. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const directory = await mkdtemp(join(tmpdir(), 'courier-bench-'))
  const port = await freePort()
  const env = await settings(options, directory, port)
  await options.prepare?.(env)
  const log = join(directory, 'log')
  const child = spawnService(env, directory, log)
  try {
    await started(child, log)
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
      await ended(child)
      await rm(directory, { recursive: true, force: true })
    },
  }
}

export async function settings(
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
    // Numbers of the bench are neighbours; people's are not.
    QUOTA_SMS_PREFIX_PER_10_MINUTES: 'off',
    ...env,
  }
}

/** What the image starts Node with: limits of its heap and of malloc. */
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

/** `node src/main.ts serve` as the image starts it, with nothing but its settings. */
export function spawnService(
  env: Readonly<Record<string, string>>,
  directory: string,
  log: string,
): ChildProcess {
  const out = openSync(log, 'a')
  const main = join(import.meta.dirname, '..', 'src', 'main.ts')
  const child = spawn(process.execPath, [main, 'serve'], {
    cwd: directory,
    env: { PATH: process.env['PATH'] ?? '', ...imageSettings(), ...env },
    stdio: ['ignore', out, out],
  })
  closeSync(out)
  return child
}

export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const hard = setTimeout(() => child.kill('SIGKILL'), 20_000)
  await new Promise(resolve => {
    child.once('exit', resolve)
    child.kill('SIGTERM')
  })
  clearTimeout(hard)
}

async function started(child: ChildProcess, log: string): Promise<void> {
  for (let waited = 0; waited < 600; waited++) {
    const said = readFileSync(log, 'utf8')
    if (said.includes('"event":"started"')) return
    if (child.exitCode !== null) throw new Error(`the service did not start:\n${said.slice(0, 4000)}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  throw new Error('the service did not start within 30 s')
}

export async function freePort(): Promise<number> {
  const server = net.createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as net.AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}
