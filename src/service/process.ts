import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { type DestinationStream, type Logger, pino } from 'pino'
import { type Config, ConfigError, loadConfig } from '../config/config.ts'
import { StoreUnusable } from '../outbox/outbox.ts'
import type { ProviderLimits } from '../providers/list.ts'
import { type Clock, createClock } from '../runtime/clock.ts'
import { presentableFault } from '../runtime/fault.ts'
import { loadCertificate } from '../tls/certificate.ts'
import { tlsServerOptions } from '../tls/options.ts'
import { type CertificateWatch, watchCertificate } from '../tls/watch.ts'
import { callbackUrls } from './callback-urls.ts'
import { createServiceParts, type ServiceParts } from './wiring.ts'

/** A running service. */
export interface Service {
  /** Where the public listener is, as this machine reaches it: `https://127.0.0.1:8443`. */
  readonly publicUrl: string
  readonly adminUrl: string
  /** What to paste into the platform's console; a channel that is off has none. */
  readonly urls: { readonly email?: string; readonly sms?: string }
  readonly config: Config
  readonly log: Logger
  /** Looks for a renewed certificate now. */
  reloadCertificate(): void
  /**
   * Ends: `/readyz` 503 and serves on for `drainMs`, then stops accepting, finishes or gives back what is in flight.
   */
  close(drainMs?: number): Promise<void>
}

export interface ServiceOptions {
  readonly log?: DestinationStream
  readonly dotenvPath?: string
  /** Reads the wall clock, ms since the epoch. */
  readonly wall?: () => number
  /** What lives, leases and waits run on; one that starts at `wall` unless given. */
  readonly clock?: Clock
  readonly limits?: ProviderLimits
}

/** In all 15 s (with DRAIN_SECONDS at 5): what is in flight may finish, then is aborted, then settled. */
const GRACE_MS = 6000
const ABORT_MS = 2000
const CERTIFICATE_CHECK_MS = 30_000
/** Log lines are written together, since each write wakes a thread: so many characters, or after so long, ms. */
const LOG_CHUNK = 8192
const LOG_WITHIN_MS = 200
/** From the start until what the first message needs is loaded, ms. */
const LOAD_AFTER_MS = 1000

/**
 * Starts the service.
 * @param env settings by name; the dotenv file named in `dotenvPath`, if any, fills in what is not there.
 * @throws ConfigError with all faults; StoreUnusable, with what to do; a listener's error (EADDRINUSE).
 */
export async function startService(
  env: Readonly<Record<string, string | undefined>>,
  options: ServiceOptions = {},
): Promise<Service> {
  const { dotenvPath, wall = Date.now, clock = createClock(wall), limits } = options
  const config = loadConfig({
    env,
    ...(dotenvPath === undefined ? {} : { dotenvPath }),
    readFile: path => readFileSync(path, 'utf8'),
  })
  const log = pino(
    {
      level: config.LOG_LEVEL,
      base: null,
      timestamp: createTimestamps(),
      messageKey: 'message',
      // Faults come presentable already; pino's own serializer would call each of them an Object.
      serializers: { err: (fault: unknown) => fault },
    },
    options.log ??
      pino.destination({ dest: 1, sync: false, minLength: LOG_CHUNK, periodicFlush: LOG_WITHIN_MS }),
  )
  for (const warning of config.warnings) log.warn({ event: 'setting' }, warning)

  const certificate = config.TLS
    ? loadCertificate({ certFile: config.TLS_CERT_FILE ?? '', keyFile: config.TLS_KEY_FILE ?? '' }, wall())
    : undefined
  let watch: CertificateWatch | undefined
  const app = await createServiceParts({
    config,
    log,
    clock,
    random: Math.random,
    wall,
    ...(limits === undefined ? {} : { limits }),
    certificate: () => watch?.current() ?? certificate ?? null,
    renewalRefused: () => watch?.refused() ?? null,
    urls: urlsOf(config, config.PUBLIC_URL ?? `${config.TLS ? 'https' : 'http'}://127.0.0.1:${config.PORT}`),
    ...(certificate === undefined
      ? {}
      : { tls: { ...tlsServerOptions, cert: certificate.cert, key: certificate.key } }),
  })
  try {
    // The public one last: nothing is accepted before all that could stop the start has been passed.
    await app.adminListener.listen({ host: config.ADMIN_HOST, port: config.ADMIN_PORT })
    await app.publicListener.listen({ host: config.HOST, port: config.PORT, backlog: 1024 })
  } catch (error) {
    await Promise.all([app.publicListener.close(), app.adminListener.close()])
    await app.close()
    throw error
  }
  app.delivery.start()
  app.alerts?.start()
  // Later than the first callbacks of a start under load, which bring their own need for it.
  const loading = setTimeout(() => void app.load().catch(() => undefined), LOAD_AFTER_MS).unref()

  watch =
    certificate === undefined
      ? undefined
      : watchCertificate({
          server: app.publicListener.server,
          certFile: config.TLS_CERT_FILE ?? '',
          keyFile: config.TLS_KEY_FILE ?? '',
          current: certificate,
          ...(config.PUBLIC_URL === undefined ? {} : { host: hostOf(config.PUBLIC_URL) }),
          everyMs: CERTIFICATE_CHECK_MS,
          log,
          now: wall,
        })
  const publicUrl = `${config.TLS ? 'https' : 'http'}://${hostAndPort(app.publicListener)}`
  log.info(
    {
      event: 'started',
      public: publicUrl,
      admin: `http://${hostAndPort(app.adminListener)}`,
      pid: process.pid,
    },
    'started',
  )

  return {
    publicUrl,
    adminUrl: `http://${hostAndPort(app.adminListener)}`,
    urls: urlsOf(config, config.PUBLIC_URL ?? publicUrl),
    config,
    log,
    reloadCertificate: () => watch?.check(),
    close: once(async (drainMs = 0) => {
      clearTimeout(loading)
      watch?.close()
      await drain(app, drainMs, log)
    }),
  }
}

/** The time of a log line, ISO 8601: lines of the same millisecond, which are many under load, share its text. */
function createTimestamps(): () => string {
  let at = -1
  let text = ''
  return () => {
    const now = Date.now()
    if (now !== at) {
      at = now
      text = `,"time":"${new Date(now).toISOString()}"`
    }
    return text
  }
}

async function drain(app: ServiceParts, drainMs: number, log: Logger): Promise<void> {
  log.info({ event: 'ending' }, 'ending: what is in flight is finished or given back')
  app.beginDraining()
  // Another replica may watch the devices at once; what came here by now is stored meanwhile.
  const watched = app.alerts?.stop()
  // Load balancers need a moment to notice; until then nothing is refused.
  if (drainMs > 0) await new Promise(resolve => setTimeout(resolve, drainMs))
  const closed = app.publicListener.close()
  await watched
  await app.delivery.stop(GRACE_MS, ABORT_MS)
  // What was accepted is answered before the store goes: nothing is left whose end nobody would write.
  await Promise.race([closed, new Promise(resolve => setTimeout(resolve, 500))])
  app.publicListener.server.closeAllConnections()
  await app.close()
  await app.adminListener.close()
  log.info({ event: 'ended' }, 'ended')
}

/** A name or an address, this one without the brackets of IPv6. */
function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '')
}

/** The callback URLs by channel. @param base scheme, host and port as the platform reaches them. */
function urlsOf(config: Config, base: string): Service['urls'] {
  return Object.fromEntries(callbackUrls(config, base).map(({ channel, url }) => [channel, url]))
}

/** The `serve` command: settings from environment and `.env`, signals, exit codes. Resolves when the process may end. */
export async function serve(): Promise<number> {
  let service: Service
  try {
    service = await startService(process.env, { dotenvPath: '.env' })
  } catch (error) {
    process.stderr.write(`${startFault(error)}\n`)
    return 1
  }
  return new Promise(resolve => {
    let ending = false
    const end = (signal: string) => {
      // A second signal ends at once.
      if (ending) process.exit(1)
      ending = true
      service.log.info({ event: 'signal', signal }, 'told to end')
      service.close(service.config.DRAIN_SECONDS * 1000).then(
        () => resolve(0),
        (error: unknown) => {
          service.log.fatal({ event: 'fault', err: presentableFault(error) }, 'could not end in order')
          resolve(1)
        },
      )
    }
    process.on('SIGTERM', () => end('SIGTERM'))
    process.on('SIGINT', () => end('SIGINT'))
    process.on('SIGHUP', () => service.reloadCertificate())
    const crash = (error: unknown) => {
      service.log.fatal(
        { event: 'fault', err: presentableFault(error) },
        'an unexpected fault: ending, to be started again',
      )
      service.log.flush(() => process.exit(70))
      setTimeout(() => process.exit(70), 1000).unref()
    }
    process.on('uncaughtException', crash)
    process.on('unhandledRejection', crash)
  })
}

function startFault(error: unknown): string {
  if (error instanceof ConfigError || error instanceof StoreUnusable) return error.message
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
    return `${error.message.replace(/^listen /, '')}: something else listens there; set PORT or ADMIN_PORT to another one, or end it`
  }
  return error instanceof Error ? error.message : 'an unknown fault'
}

function hostAndPort(app: FastifyInstance): string {
  const address = app.server.address() as AddressInfo
  const host = address.address === '0.0.0.0' || address.address === '::' ? '127.0.0.1' : address.address
  return `${host.includes(':') ? `[${host}]` : host}:${address.port}`
}

function once<A extends readonly unknown[], T>(act: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
  let result: Promise<T> | undefined
  return (...args) => (result ??= act(...args))
}
