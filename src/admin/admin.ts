import { randomBytes } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { open, unlink } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'
import type { ReceiverOptions } from '../callback/receive.ts'
import { createPhoneParser, parseAddress, readTypedRecipient } from '../callback/recipients.ts'
import { type Config, UNNAMED } from '../config/config.ts'
import type { Delivery } from '../delivery/port.ts'
import type { AdminRefusal, Emit } from '../events/events.ts'
import { languageOfBrowser } from '../language/choose.ts'
import type { Words } from '../language/sentence.ts'
import { type Outbox, StoreUnavailable } from '../outbox/outbox.ts'
import { monotonic } from '../runtime/clock.ts'
import type { Renderer } from '../words/render.ts'
import type { ConsoleOptions } from './console/page.ts'
import { consoleRoutes } from './console/routes.ts'
import { createFactWatch } from './facts.ts'
import { failureOf, NO_OPERATOR, sendFailure } from './failure.ts'
import { createAdminListener } from './listener.ts'
import type { Metrics } from './metrics/metrics.ts'
import { createReadiness } from './readiness.ts'
import type { ServiceView } from './service-view.ts'
import { statusRoutes } from './status/routes.ts'

interface AdminOptions {
  readonly config: Config
  readonly view: ServiceView
  readonly urls: ConsoleOptions['urls']
  readonly reportUrls: ConsoleOptions['reportUrls']
  readonly testSend: ConsoleOptions['testSend']
  readonly emit: Emit
  readonly outbox: Outbox
  readonly delivery: Delivery
  readonly metrics: Metrics
  readonly renderer: Renderer
  readonly keys: ReceiverOptions['keys']
}

/** How often it is looked which facts have begun and which are over, ms; each third time the store is asked, too. */
const LOOK_EVERY_MS = 10_000
const ASK_EVERY = 3

/** The private listener with all that is on it: health, metrics, console; and what the log says of facts. */
export async function openAdmin(options: AdminOptions): Promise<FastifyInstance> {
  const { config, view, outbox, metrics, renderer, urls, testSend, emit } = options
  const app = createAdminListener(createReadiness(view, monotonic), guardOf(config, view.now, emit))
  const { DATABASE_URL: store } = config
  if (store.kind === 'file' && outbox.backUp !== undefined) backupRoute(app, outbox.backUp, store.path, emit)
  app.get('/metrics', async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.scrape(view)),
  )
  const shown: ConsoleOptions = {
    view,
    renderer,
    urls,
    reportUrls: options.reportUrls,
    testSend,
    emit,
    hashOf: typed => hashOf(typed, options),
    actions: outbox.actions,
    tryNow: options.delivery.tryNow,
    postSignature: config.POST_SIGNATURE,
    quotas: config.QUOTAS,
    sampleLanguage: languageOfBrowser(config.LOCALE),
    rotating: view.channels.filter(channel => {
      const name = channel === 'email' ? 'EMAIL' : 'SMS'
      const hasOldKey = config.CALLBACK_KEYS?.has(`${channel}-previous`)
      return hasOldKey || config[`${name}_TOKEN_PREVIOUS`] !== undefined
    }),
  }
  const look = createFactWatch(view, emit)
  let looks = 0
  const looking = setInterval(() => void look((looks += 1) % ASK_EVERY === 0), LOOK_EVERY_MS).unref()
  app.addHook('onClose', async () => clearInterval(looking))
  await app.register(statusRoutes, shown)
  await app.register(consoleRoutes, shown)
  return app
}

/** The private listener while the service waits for its store: health, and nothing else. @param reason why it is not ready */
export function openWaitingAdmin(
  config: Config,
  now: () => number,
  emit: Emit,
  reason: () => Words,
): FastifyInstance {
  return createAdminListener(async () => ({ ready: false, reason: reason() }), guardOf(config, now, emit))
}

function guardOf(config: Config, now: () => number, emit: Emit) {
  return {
    host: config.ADMIN_HOST,
    tokens: config.ADMIN_TOKENS ?? new Map(),
    names: config.ADMIN_NAMES,
    now,
    onRefused: (reason: AdminRefusal) => emit({ type: 'admin-refused', reason }),
  }
}

/** The hash by which the store knows a recipient that an operator typed in full; null: neither an address nor a number. */
function hashOf(typed: string, { keys, config }: AdminOptions): string | null {
  const recipient = readTypedRecipient(typed)
  const address = parseAddress(recipient)
  if (address !== null) return keys.recipientHash('email', address)
  const parsePhone = createPhoneParser({ countries: '*', defaultAreaCode: config.DEFAULT_AREA_CODE })
  const number = parsePhone(recipient, undefined)
  return typeof number === 'string' ? null : keys.recipientHash('sms', number.number)
}

/**
 * `POST /backup`: a copy of the embedded store as it is when the answer begins, while the service works on.
 * @param backUp copies the store into a file.
 * @param storePath the store's file: the copy is made beside it, where there is room for one and nobody else reads.
 */
function backupRoute(
  app: FastifyInstance,
  backUp: (file: string) => Promise<void>,
  storePath: string,
  emit: Emit,
): void {
  app.post('/backup', async (request, reply) => {
    const { operator } = request
    if (operator === UNNAMED.nobody) return sendFailure(reply, NO_OPERATOR)
    const copy = `${storePath}-backup-${randomBytes(4).toString('hex')}`
    // Made before SQLite would, for the service's user only.
    closeSync(openSync(copy, 'wx', 0o600))
    try {
      await backUp(copy)
      emit({ type: 'operator', operator, did: 'backup' })
      const handle = await open(copy)
      const { size } = await handle.stat()
      return await reply
        .type('application/octet-stream')
        .header('content-length', size)
        .send(handle.createReadStream())
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      return sendFailure(reply, failureOf(error))
    } finally {
      // A file that is open already is read to its end all the same.
      await unlink(copy)
    }
  })
}
