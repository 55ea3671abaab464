import { randomBytes } from 'node:crypto'
import fastifyEnv from '@fastify/env'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { openAdmin } from '../admin/admin.ts'
import { createEventLog } from '../admin/log/event-log.ts'
import { createMetrics } from '../admin/metrics/metrics.ts'
import type { MetricsSources } from '../admin/metrics/scraped.ts'
import { createServiceHealth } from '../admin/service-health.ts'
import type { Alerts } from '../alerts/alerts.ts'
import { createAuthentication } from '../callback/authenticate.ts'
import { createPublicListener } from '../callback/listener.ts'
import { createPhoneParser } from '../callback/phone.ts'
import { createQuotas } from '../callback/quotas.ts'
import { receiptRoutes } from '../callback/receipt-routes.ts'
import { createReceiver } from '../callback/receive.ts'
import { createRecipientReader } from '../callback/recipients.ts'
import { callbackRoutes, NOT_FOUND, sendAnswer } from '../callback/routes.ts'
import { createSources } from '../callback/source-networks.ts'
import { type Config, envSchemaOptions } from '../config/config.ts'
import { createBreaker } from '../delivery/breaker.ts'
import { createDelivery } from '../delivery/delivery.ts'
import { createVerdictPoller } from '../delivery/poll-verdict.ts'
import type { Delivery } from '../delivery/port.ts'
import { createVerdicts } from '../delivery/verdicts.ts'
import { createEmitter } from '../events/events.ts'
import { createInterpreter } from '../messages/interpret.ts'
import { createLinkPolicy } from '../messages/links.ts'
import { emailBodySchema, smsBodySchema } from '../messages/schemas.ts'
import { createLeaseTokens } from '../outbox/lease-tokens.ts'
import { longestAttemptMs, openProviders, type ProviderLimits, providerModules } from '../providers/list.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Certificate } from '../tls/certificate.ts'
import type { RefusedRenewal } from '../tls/watch.ts'
import type { Renderer } from '../words/render.ts'
import {
  channelSecrets,
  openOutbox,
  openRenderer,
  openStoreKeys,
  phoneRules,
  quotaLimits,
} from './factories.ts'

/** What the composition is made from. */
export interface WiringOptions {
  readonly config: Config
  readonly log: Logger
  readonly clock: Clock
  readonly random: () => number
  /** Wall time, ms since the epoch. */
  readonly wall: () => number
  /** What Node's HTTPS server is made with; undefined: plain HTTP, behind a proxy that ends TLS. */
  readonly tls?: object
  /** The certificate that is being served, for people to look at; null without one. */
  readonly certificate?: () => Certificate | null
  /** Why a renewed one is not served; null while the files are what is served. */
  readonly renewalRefused?: () => RefusedRenewal | null
  /** What to paste into the platform's console, by channel. */
  readonly urls: { readonly email?: string; readonly sms?: string }
  /** Limits that no setting changes; those that are not given are the usual ones. */
  readonly limits?: ProviderLimits
}

export interface ServiceParts {
  readonly publicListener: FastifyInstance
  readonly adminListener: FastifyInstance
  readonly delivery: Delivery
  /** Null unless DDQ_HOST is set. */
  readonly alerts: Alerts | null
  readonly renderer: Renderer
  /** From now on `/readyz` is 503 and every answer closes its connection. */
  beginDraining(): void
  /** Loads what the first message would wait for otherwise. */
  load(): Promise<void>
  /** Lets go of providers and store, once delivery has stopped and the public listener is closed. */
  close(): Promise<void>
}

/** What an attempt may take beyond its provider's own limits, ms: a busy process notices them late. */
const ATTEMPT_SPARE_MS = 10_000
/** How long a claimed message may wait for its attempt, ms. */
const LEASE_SPARE_MS = 120_000

/** What holds threads, timers or connections once it is open. */
interface Resource {
  close(): void | Promise<unknown>
}

/** Wires everything. When that fails, what was opened by then is closed: a store's thread would keep the process alive. */
export async function createServiceParts(options: WiringOptions): Promise<ServiceParts> {
  const opened: Resource[] = []
  try {
    return await wire(options, opened)
  } catch (error) {
    // What failed first is what has to be told, whatever the closing comes to.
    for (const each of opened) await Promise.resolve(each.close()).catch(() => undefined)
    throw error
  }
}

/** In the order of the road. @param opened gets what has to be closed, in that order: the store last. */
async function wire(options: WiringOptions, opened: Resource[]): Promise<ServiceParts> {
  const { config, log, clock, random, wall, limits } = options
  const startedAt = clock.now()
  const { certificate = () => null, renewalRefused = () => null } = options
  const health = createServiceHealth(clock.now)
  const sources: MetricsSources = {
    now: clock.now,
    lanes: () => delivery.status(),
    backlog: () => outbox.queries.readSummary(clock.now(), 60_000).catch(() => null),
    certificateDays: () => {
      const served = certificate()
      return served === null ? null : (served.expiresAt - wall()) / 86_400_000
    },
    renewalRefused: () => (certificate() === null ? null : renewalRefused() !== null),
  }
  const metrics = createMetrics(sources, config.DDQ_HOST !== undefined)
  const emit = createEmitter([createEventLog(log, clock.now), ...metrics.sinks, health.handlers])

  const storeKeys = await openStoreKeys(config)
  const renderer = openRenderer(config, log)
  opened.push(renderer)
  // Loaded only when it is on, and read before anything is opened: a wrong row refuses the start.
  const alerting = config.DDQ_HOST === undefined ? null : await import('./device-alerts.ts')
  const alertRows = alerting?.readAlerts(config, renderer.locales) ?? []
  const providers = await openProviders(config, clock, limits)
  opened.push({ close: () => Promise.all(providers.map(provider => provider.close())) })
  const outbox = await openOutbox(config, clock, storeKeys, log, commit =>
    emit({ type: 'store-commit', ...commit }),
  )
  opened.push(outbox)
  const verdicts = createVerdicts()
  const attemptLimitMs = longestAttemptMs(config, limits) + ATTEMPT_SPARE_MS
  const owner = randomBytes(8).toString('hex')
  const delivery = createDelivery({
    outbox,
    clock,
    random,
    verdicts,
    emit,
    channels: providers.map(provider => ({
      provider,
      render: renderer.render,
      breaker: createBreaker({ random }),
    })),
    leaseMs: attemptLimitMs + LEASE_SPARE_MS,
    attemptLimitMs,
    pollMs: config.DATABASE_URL.kind === 'postgres' ? 500 : 5000,
    leaseToken: outbox.sharedLeases?.newLeaseToken ?? createLeaseTokens(() => owner),
  })

  const charges = createQuotas(quotaLimits(config), storeKeys)
  const alerts =
    alerting?.createDeviceAlerts({
      config,
      rows: alertRows,
      clock,
      random,
      outbox,
      storeKeys,
      charges,
      render: renderer.render,
      wake: delivery.wake,
      emit,
    }) ?? null

  let draining = false
  const pollVerdict = createVerdictPoller({
    desk: outbox.queries,
    verdicts,
    clock,
    emit,
    forMs: config.ANSWER_WITHIN_MS,
  })
  const receive = createReceiver({
    outbox,
    delivery,
    pollVerdict: outbox.sharedLeases && pollVerdict,
    verdicts,
    interpret: createInterpreter({
      emailWords: config.EMAIL_WORDS,
      smsWords: config.SMS_WORDS,
      linkPolicy: createLinkPolicy({ httpsOnly: config.LINKS_HTTPS_ONLY, hosts: config.LINK_HOSTS }),
      ...(config.SMS_MAX_SEGMENTS === undefined ? {} : { smsMaxSegments: config.SMS_MAX_SEGMENTS }),
    }),
    recipients: createRecipientReader(createPhoneParser(phoneRules(config))),
    render: renderer.render,
    keys: storeKeys,
    charges,
    clock,
    maxRecipients: config.MAX_RECIPIENTS,
    answerWithinMs: config.ANSWER_WITHIN_MS,
    emit,
  })

  const headers = answerHeaders(options.tls !== undefined)
  const { app: publicListener, unauthenticated } = createPublicListener({
    tls: options.tls,
    onNotHttp: () => emit({ type: 'stray-request', answer: NOT_FOUND }),
    onBadUrl: reply => {
      emit({ type: 'stray-request', answer: NOT_FOUND })
      sendAnswer(reply, NOT_FOUND.status, NOT_FOUND, headers)
    },
  })
  await publicListener.register(fastifyEnv, envSchemaOptions(config))
  publicListener.addHook('onRequest', (_request, reply, next) => {
    if (draining) reply.header('connection', 'close')
    next()
  })
  const gate = createAuthentication({
    corpId: config.CORP_ID,
    channels: channelSecrets(config),
    sources: createSources(config.ALLOWED_SOURCES, config.TRUSTED_PROXIES),
    postSignature: config.POST_SIGNATURE,
    signatureMaxAgeSeconds: config.SIGNATURE_MAX_AGE_SECONDS,
    wall,
    signatureNews: news => emit({ type: 'signature-news', ...news }),
  })
  callbackRoutes(publicListener, {
    gate,
    receive,
    schemas: { email: emailBodySchema, sms: smsBodySchema },
    errorStatus: config.ERROR_STATUS,
    headers,
    emit,
    markAuthenticated: unauthenticated.markAuthenticated,
  })
  for (const module of providerModules) {
    const source = await module.openReceipts?.(config)
    if (source === undefined) continue
    await publicListener.register(receiptRoutes, {
      source,
      outbox,
      headers,
      now: clock.now,
      emit,
    })
  }

  const adminListener = await openAdmin({
    config,
    outbox,
    delivery,
    health,
    metrics,
    renderer,
    certificate,
    renewalRefused,
    requiredIsSafe: channel => gate.signatureStatistics(channel).requiredIsSafe,
    recipientHash: storeKeys.recipientHash,
    urls: options.urls,
    testSend: async (channel, body) => {
      const { answer, ids } = await receive(gate.operatorAsCaller(channel), body)
      return { err_code: answer.err_code, err_msg: answer.err_msg, ids }
    },
    emit,
    devices: () => alerts?.status() ?? null,
    draining: () => draining,
    startedAt,
    now: clock.now,
  })

  return {
    publicListener,
    adminListener,
    delivery,
    alerts,
    renderer,
    beginDraining() {
      draining = true
    },
    async load() {
      await Promise.all(providers.flatMap(provider => provider.load?.() ?? []))
    },
    async close() {
      for (const each of opened) await each.close()
    },
  }
}

function answerHeaders(https: boolean): Record<string, string> {
  return {
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    ...(https ? { 'strict-transport-security': 'max-age=63072000; includeSubDomains' } : {}),
  }
}
