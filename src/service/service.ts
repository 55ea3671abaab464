import { readFileSync } from 'node:fs'
import type { Server as HttpsServer } from 'node:https'
import { Server } from 'node:net'
import type { DestinationStream, Logger } from 'pino'
import { findShortcomings } from '../commands/check/machine.ts'
import { type Config, loadConfig } from '../config/config.ts'
import { withRemedy } from '../language/sentence.ts'
import { build } from '../runtime/build.ts'
import { createClock, withTimeout } from '../runtime/clock.ts'
import { describeFault } from '../settings/setting.ts'
import { loadCertificate, trustAuthorities, whyRefused } from '../tls/certificate.ts'
import { type CertificateWatch, tlsServerOptions, watchCertificate } from '../tls/watch.ts'
import { type CallbackUrls, hostNameOf, urlOf, urlsByChannel } from './callback-urls.ts'
import { findFileFaults } from './files.ts'
import { createLog } from './log.ts'
import { createServiceParts, type ServiceParts, type WiringOptions } from './wiring.ts'

/** A running service. */
export interface Service {
  /** Where the public listener is, as this machine reaches it: `https://127.0.0.1:8443`. */
  readonly publicUrl: string
  readonly adminUrl: string
  /** The callback URLs to paste into the platform's console; a channel that is off has none. */
  readonly urls: CallbackUrls
  readonly config: Config
  readonly log: Logger
  /** Looks for a renewed certificate now. */
  reloadCertificate(): void
  /**
   * Ends the service: it answers `/readyz` with 503 and serves on for `drainMs`, then accepts nothing more, and finishes or gives back
   * what is in flight.
   */
  close(drainMs?: number): Promise<void>
}

export interface ServiceOptions
  extends Partial<Pick<WiringOptions, 'wall' | 'clock' | 'limits' | 'repeatPausesMs'>>,
    Pick<WiringOptions, 'startStoreThread'> {
  readonly log?: DestinationStream
  readonly dotenvPath?: string
}

/** Attempts in flight may finish for so long, and have so long to be aborted and settled: 15 s in all with DRAIN_SECONDS at 5. */
const GRACE_MS = 6000
const ABORT_MS = 2000
/** The time from the last accepted connection until its request is there, ms. */
const LAST_REQUESTS_MS = 300
const CERTIFICATE_CHECK_MS = 30_000

/**
 * Starts the service.
 * @param env settings by name; the dotenv file named in `dotenvPath`, if any, fills in what is not there.
 * @throws ConfigError with all faults; StoreUnusable, with what to do; a listener's error (EADDRINUSE).
 */
export async function startService(
  env: Readonly<Record<string, string | undefined>>,
  options: ServiceOptions = {},
): Promise<Service> {
  const { dotenvPath, wall = Date.now, clock = createClock(wall) } = options
  const readFile = (path: string) => readFileSync(path, 'utf8')
  const config = loadConfig({ env, dotenvPath, readFile }, settings => findFileFaults(settings, readFile))
  trustAuthorities(config.TLS_CA_FILE, readFile)
  const log = createLog(config.LOG_LEVEL, options.log)
  for (const fault of config.warnings) log.warn({ event: 'setting' }, String(describeFault(fault)))
  // Whoever finds these out at the next update, or in a burst, has lost something.
  for (const { about, what, next } of findShortcomings(config))
    log.warn({ event: 'setting' }, `${String(about)}: ${String(what)}: ${String(next)}`)

  const files = { certFile: config.TLS_CERT_FILE ?? '', keyFile: config.TLS_KEY_FILE ?? '' }
  const certificate = config.TLS ? loadCertificate(files) : undefined
  const refused = certificate && whyRefused(certificate, undefined, wall())
  if (refused) log.error({ event: 'certificate' }, String(withRemedy(refused.sentence, refused.remedy)))
  let watch: CertificateWatch | undefined
  const parts = await createServiceParts({
    ...options,
    config,
    log,
    clock,
    random: Math.random,
    wall,
    certificate: () => watch?.current() ?? certificate ?? null,
    renewalRefused: () => watch?.refused() ?? null,
    tls: certificate && { ...tlsServerOptions, cert: certificate.cert, key: certificate.key },
  })
  const { publicListener, adminListener } = parts
  await startParts(parts, config)

  const host = config.PUBLIC_URL === undefined ? undefined : hostNameOf(config.PUBLIC_URL)
  // With a certificate it is one of HTTPS.
  const server = publicListener.server as HttpsServer
  const watched = { ...files, server, host, everyMs: CERTIFICATE_CHECK_MS, log, now: wall }
  watch = certificate && watchCertificate({ ...watched, current: certificate })
  const publicUrl = urlOf(publicListener, config.TLS)
  const adminUrl = urlOf(adminListener, false)
  log.info({ event: 'started', ...build, public: publicUrl, admin: adminUrl, pid: process.pid }, 'started')

  let closed: Promise<void> | undefined
  return {
    publicUrl,
    adminUrl,
    urls: urlsByChannel(config, config.PUBLIC_URL ?? publicUrl),
    config,
    log,
    reloadCertificate: () => watch?.check(),
    close(drainMs = 0) {
      watch?.close()
      closed ??= drain(parts, drainMs, log)
      return closed
    },
  }
}

/** Connections that the kernel holds until they are accepted. A longer queue only lets callers wait until they leave. */
const ACCEPT_QUEUE = 1024

/** Opens both listeners and starts the rest, or closes everything and throws. */
export async function startParts(parts: ServiceParts, config: Config): Promise<void> {
  const { publicListener, adminListener, waiting } = parts
  try {
    // The public one opens last: nothing is accepted as long as anything can still stop the start.
    const place = { host: config.ADMIN_HOST, port: config.ADMIN_PORT, reusePort: waiting !== null }
    await adminListener.listen(place)
    if (waiting !== null) await stopAccepting(waiting.server)
    await waiting?.close()
    await publicListener.listen({ host: config.HOST, port: config.PORT, backlog: ACCEPT_QUEUE })
    parts.delivery.start()
    for (const part of parts.bringing) part.start()
    parts.webhooks?.start()
  } catch (error) {
    await Promise.all([publicListener.close(), adminListener.close()])
    await parts.close()
    throw error
  }
}

/** Ends what runs, in the order that loses nothing. */
export async function drain(parts: ServiceParts, drainMs: number, log: Logger): Promise<void> {
  log.info({ event: 'ending' }, 'ending: what is in flight is finished or given back')
  parts.beginDraining()
  // Another replica may watch the devices at once; messages that came here by now are stored meanwhile.
  const nothingMoreComes = Promise.all(parts.bringing.map(part => part.stop()))
  // Load balancers need a moment to notice that this instance ends; until then it refuses nothing.
  if (drainMs > 0) await new Promise(resolve => setTimeout(resolve, drainMs))
  if (drainMs > 0) await stopAccepting(parts.publicListener.server)
  const closed = parts.publicListener.close()
  await nothingMoreComes
  await parts.delivery.stop(GRACE_MS, ABORT_MS)
  // Other machines are still told the ends of the last messages, if that is quick; the rest stays in the store.
  const webhooksStopped = parts.webhooks?.stop()
  // Accepted callbacks are answered before the store is closed: no message is left that could not be settled.
  await withTimeout(500, closed)
  parts.publicListener.server.closeAllConnections()
  await webhooksStopped
  await parts.close()
  await parts.adminListener.close()
  log.info({ event: 'ended' }, 'ended')
}

/**
 * Takes no more connections, and gives those that were just made time for their requests: closing the listener hangs up on every
 * client that has not begun a request, and a proxy that had connected in time could not know whether it may try again.
 */
function stopAccepting(server: Server): Promise<void> {
  return new Promise(resolve => {
    // This runs right after all clients that had connected were accepted: connections that the kernel still holds are reset.
    setImmediate(() => {
      Server.prototype.close.call(server)
      setTimeout(resolve, LAST_REQUESTS_MS)
    })
  })
}
