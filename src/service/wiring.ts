import { randomBytes } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { openAdmin } from '../admin/admin.ts'
import { createEventLog } from '../admin/event-log.ts'
import { createMetrics } from '../admin/metrics/metrics.ts'
import { createServiceHealth } from '../admin/service-health.ts'
import type { ServiceView } from '../admin/service-view.ts'
import { countLeftOut, refuseBounced } from '../bounces/refusing.ts'
import { bounceKeys, createBounceReader, createBounceSource, MAIL_PROVIDER } from '../bounces/source.ts'
import { createAdmission, createRequestMemory } from '../callback/admission.ts'
import { createAskedCount } from '../callback/asked.ts'
import { createAuthentication } from '../callback/authenticate.ts'
import { createDescriptors } from '../callback/descriptors.ts'
import { createPublicListener } from '../callback/listener.ts'
import { createIsNamed, holdOthers } from '../callback/only-to.ts'
import { createChargesOf, deliverUnreported } from '../callback/quotas.ts'
import { keepReports, receiptRoutes } from '../callback/receipt-routes.ts'
import { createReceiver } from '../callback/receive.ts'
import { countedDomainOf, createDestinationOf, parseAddress } from '../callback/recipients.ts'
import { callbackRoutes, NOT_FOUND, sendAnswer } from '../callback/routes.ts'
import { createVerdictPoller } from '../callback/verdict-poller.ts'
import { type Config, envSchemaOptions, fastifyEnv } from '../config/config.ts'
import { createDelivery } from '../delivery/delivery.ts'
import type { Delivery } from '../delivery/port.ts'
import { createVerdicts } from '../delivery/verdicts.ts'
import { createEmitter, type Emit } from '../events/events.ts'
import { quote, type Sentence, say, withRemedy } from '../language/sentence.ts'
import { createInterpreter, emailBodySchema, smsBodySchema } from '../messages/interpret.ts'
import { createLinkPolicy } from '../messages/links.ts'
import { createLeaseTokens } from '../outbox/lease-tokens.ts'
import type { SqliteOutboxOptions } from '../outbox/sqlite/outbox.ts'
import { tellRobots } from '../providers/http-gateway/robots.ts'
import { longestAttemptMs, openProviders, type ProviderLimits } from '../providers/list.ts'
import { proxyOf } from '../providers/module.ts'
import { openAccessTokens } from '../providers/smtp/module.ts'
import { createCarrierReports } from '../reports/carrier-reports.ts'
import { createDeliveryTimes, type DeliveryTimes } from '../reports/delivery-times.ts'
import { createReportedFaults } from '../reports/reported-faults.ts'
import { build } from '../runtime/build.ts'
import { type Clock, monotonic } from '../runtime/clock.ts'
import { createTimeSlices } from '../runtime/event-loop.ts'
import { openFileLimit } from '../runtime/file-system.ts'
import { pause } from '../runtime/retry.ts'
import { carriersWithOthers } from '../settings/senders.ts'
import type { Certificate } from '../tls/certificate.ts'
import type { RefusedRenewal } from '../tls/watch.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import { countryOf } from '../words/render.ts'
import { openReceiptSources, reportUrls, urlOf, urlsByChannel } from './callback-urls.ts'
import { createChannels, renderForRoute } from './channels.ts'
import {
  authenticationOptions,
  leaseTaker,
  openOutbox,
  openRecipientReader,
  openRenderer,
  openRobots,
  openSmsTemplates,
  openStoreKeys,
  requireTemplates,
} from './factories.ts'
import { findUnsendable } from './sample-sms.ts'
import { openStoreWhenThere } from './store-wait.ts'

export interface WiringOptions {
  readonly config: Config
  readonly log: Logger
  /** The clock of validity, leases and waits. */
  readonly clock: Clock
  readonly random: () => number
  /** Wall time, ms since the epoch. */
  readonly wall: () => number
  /** The options of Node's HTTPS server; undefined: plain HTTP, behind a proxy that ends TLS. */
  readonly tls?: object
  /** The certificate that is being served, for people to look at; null without one. */
  readonly certificate: () => Certificate | null
  /** Says why a renewed one is not served; null while the served one is that of the files. */
  readonly renewalRefused: () => RefusedRenewal | null
  /** Limits that no setting changes; those that are not given are the usual ones. */
  readonly limits?: ProviderLimits
  /** Pauses before a message goes out again that may have been sent, ms, when not the usual ones. */
  readonly repeatPausesMs?: readonly number[] | undefined
  /** Starts what serves an embedded store; a thread unless given. */
  readonly startStoreThread?: SqliteOutboxOptions['startThread']
}

/** What is started and ended, each by itself. */
export interface ServiceParts {
  readonly publicListener: FastifyInstance
  readonly adminListener: FastifyInstance
  /** It answers in the private listener's place until that one listens; null: the store was there at once. */
  readonly waiting: FastifyInstance | null
  readonly delivery: Delivery
  /** What brings messages and reports by itself: device alerts, the mailbox of bounces and the probe, those that are on. */
  readonly bringing: readonly StartedPart[]
  /** It is null unless EVENTS_URL is set. */
  readonly webhooks: StartedPart | null
  /** Begins to drain: from now on `/readyz` is 503, and every answer closes its connection. */
  beginDraining(): void
  /** Closes providers and store, once delivery has stopped and the public listener is closed. */
  close(): Promise<void>
}

interface StartedPart {
  start(): void
  stop(): Promise<void>
}

/** The time that an attempt may take beyond its provider's own timeouts, ms: a busy process notices them late. */
const ATTEMPT_SPARE_MS = 10_000
/** The time that a claimed message may wait for its attempt, ms. */
const LEASE_SPARE_MS = 120_000
/** The time that a turn of the event loop spends on mails that came back, ms: most take less than half of it. */
const REPORTS_MS = 1

/** A part that has threads, timers or connections. */
interface Resource {
  close(): void | Promise<unknown>
}

/** Wires everything. When that fails, everything that was opened is closed: a store's thread would keep the process alive. */
export async function createServiceParts(options: WiringOptions): Promise<ServiceParts> {
  const resources: Resource[] = []
  try {
    return await wireService(options, resources)
  } catch (error) {
    // The first failure is the one to report, whatever the closing comes to.
    for (const each of resources) await Promise.resolve(each.close()).catch(() => undefined)
    throw error
  }
}

/**
 * Makes the parts in the order in which a message passes them.
 * @param resources gets the parts that have to be closed, in the order of closing: the store is the last.
 */
async function wireService(options: WiringOptions, resources: Resource[]): Promise<ServiceParts> {
  const { config, log, clock, random, wall, tls, limits } = options
  const startedAt = clock.now()
  let isDraining = false
  let webhooks: Webhooks | null = null
  let begunDelivery: Delivery | undefined
  let times: DeliveryTimes | undefined

  // Those who hear of events: the log, metrics, and the parts that decide by events.
  const health = createServiceHealth(clock.now)
  const sources = await openReceiptSources(config)
  const reporting = new Set(sources.map(({ provider }) => provider))
  const metrics = createMetrics([...reporting, MAIL_PROVIDER])
  const memory = createRequestMemory()
  const admission = createAdmission(monotonic, memory)
  const descriptors = createDescriptors(openFileLimit() ?? Number.POSITIVE_INFINITY, monotonic)
  const reports = createCarrierReports({
    clock,
    random,
    judged: carriersWithOthers(config.SMS_ROUTES ?? new Map()),
    countryOf,
    onChange: change => emit({ type: 'carrier-order', ...change }),
  })
  const reportedFaults = createReportedFaults({
    clock,
    domainOf: countedDomainOf,
    onFault: (channel, provider, { is, fault }) =>
      emit({ type: 'partial-fault', channel, provider, is, ...fault }),
  })
  const emit: Emit = createEmitter([
    createEventLog(log, clock.now),
    ...metrics.sinks,
    health.handlers,
    { receipt: reports.noteReport },
    { receipt: reportedFaults.note },
    { breaker: event => webhooks?.noteBreaker(event), receipt: event => void times?.note(event) },
    { 'store-commit': admission.recordCommit },
  ])

  // What has threads, timers or connections.
  const storeKeys = await openStoreKeys(config)
  const renderer = openRenderer(config, log)
  resources.push(renderer)
  // Alerts are loaded only when they are on. Their table is read before anything is opened: a wrong row refuses the start.
  const alerting = config.DDQ_URL === undefined ? undefined : await import('./device-alerts.ts')
  const rows = alerting?.readAlerts(config, renderer.locales) ?? []
  const templates = await openSmsTemplates(config, log.child({ event: 'templates' }), channel =>
    begunDelivery?.tryNow(channel),
  )
  resources.push(templates)
  const providers = await openProviders(config, { clock, templates, limits })
  resources.push({ close: () => Promise.all(providers.map(provider => provider.close())) })
  requireTemplates(config, providers, templates)
  for (const sentence of findUnsendable(config, { renderer, providers }))
    log.warn({ event: 'setting' }, `SMS_TEMPLATES_FILE: ${String(sentence)}`)
  const open = () =>
    openOutbox(config, clock, storeKeys, log, {
      onCommit: commit => emit({ type: 'store-commit', ...commit }),
      startThread: options.startStoreThread,
    })
  const { store, waiting } = await openStoreWhenThere(config, open, { log, emit, clock })
  if (waiting !== null) resources.push({ close: () => waiting.close() })
  const leader = randomBytes(16).toString('hex')
  const { payloadKeys } = storeKeys
  const asked = createAskedCount({
    accept: store.accept,
    memos: store.memos,
    payloadKeys,
    clock,
    owner: leader,
  })
  times = createDeliveryTimes({ memos: store.memos, clock, emit })
  resources.push(asked, times, store)
  const { accept: counted } = asked
  const accept = config.BOUNCE_REFUSE ? refuseBounced({ ...store, accept: counted }, clock.now) : counted
  const robots = openRobots(config, renderer, clock, emit)
  if (robots !== null) resources.unshift(robots)
  const told = { ...store, accept: robots === null ? accept : tellRobots(accept, robots) }
  const { ONLY_TO: named } = config
  const outbox = {
    ...told,
    ...(named !== undefined && holdOthers(told, createIsNamed(named), clock, emit)),
    settle: deliverUnreported(store.settle, reporting),
  }
  const loss = outbox.loss?.() ?? null
  if (loss !== null) emit({ type: 'store-loss', ...loss })
  const { queries, memos, events, sharedLeases } = outbox

  // From the store to the providers.
  const channels = createChannels({
    clock,
    random,
    providers,
    routes: config.SMS_ROUTES,
    reports,
  })
  const verdicts = createVerdicts()
  const attemptWithinMs = longestAttemptMs(config, limits) + ATTEMPT_SPARE_MS
  const owner = randomBytes(8).toString('hex')
  const delivery = createDelivery({
    clock,
    random,
    repeatPausesMs: options.repeatPausesMs,
    outbox,
    channels,
    render: renderer.render,
    verdicts,
    emit,
    leaseMs: attemptWithinMs + LEASE_SPARE_MS,
    attemptWithinMs,
    // Another replica may put something there.
    ...(config.DATABASE_URL.kind === 'postgres' ? { pollMs: 500, idlePollMs: 1250 } : { pollMs: 5000 }),
    leaseToken: sharedLeases?.newLeaseToken ?? createLeaseTokens(() => owner),
  })
  begunDelivery = delivery

  // From a callback to the store.
  const access = authenticationOptions(config, wall)
  const authentication = createAuthentication(access)
  const render = renderForRoute(channels, renderer.render)
  const charges = createChargesOf(config.QUOTAS, storeKeys, config.MAIL_FROM?.address)
  const judging = providers.filter(({ findHindrance }) => findHindrance !== undefined)
  const destinationOf = createDestinationOf(storeKeys, new Set(judging.map(({ channel }) => channel)))
  const receive = createReceiver({
    accept: outbox.accept,
    delivery,
    verdicts,
    render,
    charges,
    destinationOf,
    clock,
    emit,
    pollVerdict:
      sharedLeases &&
      createVerdictPoller({
        findMessage: queries.findMessage,
        verdicts,
        clock,
        emit,
        forMs: config.ANSWER_WITHIN_MS,
      }),
    interpret: createInterpreter({
      platformWords: config.PLATFORM_WORDS,
      linkPolicy: createLinkPolicy({ httpsOnly: config.LINKS_HTTPS_ONLY, hosts: config.LINK_HOSTS }),
      smsMaxSegments: config.SMS_MAX_SEGMENTS,
    }),
    recipients: openRecipientReader(config),
    keys: storeKeys,
    maxRecipients: config.MAX_RECIPIENTS,
    answerWithinMs: config.ANSWER_WITHIN_MS,
  })

  const leaseOf = leaseTaker(memos, leader)
  // Beside the road: events for other machines, and device alerts. Their modules are loaded only when they are on.
  const { EVENTS_URL: eventsUrl, EVENTS_SECRET: eventsSecret = '' } = config
  if (eventsUrl !== undefined && events !== undefined) {
    const [{ createWebhooks }, { createPoster, readSigningKeys }] = await Promise.all([
      import('../webhooks/webhooks.ts'),
      import('../webhooks/post.ts'),
    ])
    webhooks = createWebhooks({
      events,
      poster: createPoster(eventsUrl, clock, proxyOf(config)),
      keys: readSigningKeys(eventsSecret),
      mostWaiting: config.EVENTS_MAX_WAITING,
      takeLease: leaseOf('webhooks'),
      providers: delivery.status,
      clock,
      wall,
      random,
      emit,
    })
  }
  const alerts =
    alerting?.createDeviceAlerts(config, random, {
      rows,
      outbox,
      storeKeys,
      charges,
      destinationOf,
      render,
      takeLease: leaseOf('alerts'),
      wake: delivery.wake,
      clock,
      emit,
    }) ?? null

  // The public listener.
  const headers = answerHeaders(tls !== undefined)
  const { app, unauthenticated } = createPublicListener({
    tls,
    callerOf: config.TRUSTED_PROXIES.length === 0 ? undefined : access.sources.callerOf,
    descriptors,
    onNotHttp: () => emit({ type: 'stray-request', answer: NOT_FOUND }),
    onBadUrl: reply => {
      emit({ type: 'stray-request', answer: NOT_FOUND })
      sendAnswer(reply, NOT_FOUND, headers)
    },
  })
  await app.register(fastifyEnv, envSchemaOptions(config))
  callbackRoutes(app, {
    authentication,
    admission,
    descriptors,
    receive,
    schemas: { email: emailBodySchema, sms: smsBodySchema },
    errorStatus: config.ERROR_STATUS,
    headers,
    emit,
    unauthenticated,
    isDraining: () => isDraining,
  })
  const receipts = { writeReceipt: outbox.writeReceipt, headers, memory, now: clock.now, emit }
  for (const each of sources) await app.register(receiptRoutes, { ...receipts, ...each })
  const inSlices = createTimeSlices(REPORTS_MS, monotonic, admission.hasUnstored)
  const mailboxHash = (text: string) => {
    const address = parseAddress(text)
    return address === null ? null : storeKeys.recipientHash('email', address)
  }
  const readBounce = createBounceReader(
    inSlices,
    mailboxHash,
    mailboxHash(config.PROBE_TO?.get('email') ?? ''),
  )
  const keys = bounceKeys(config)
  if (keys.length > 0)
    await app.register(receiptRoutes, {
      ...receipts,
      source: createBounceSource(keys, readBounce),
      provider: MAIL_PROVIDER,
    })

  const { BOUNCE_IMAP_URL: address } = config
  const bounceMailbox =
    address === undefined
      ? null
      : (await import('../bounces/mailbox.ts')).createBounceMailbox({
          address,
          tokens: address.pass === '' ? await openAccessTokens(config, clock) : undefined,
          async take(message) {
            const reports = await readBounce(message)
            const kept = await keepReports('email', reports, { ...receipts, provider: MAIL_PROVIDER })
            // A mail that arrived stays where it is.
            return kept.some(is => is !== 'unknown') && reports[0]?.status !== 'delivered'
          },
          memos,
          memoName: storeKeys.bucketHash('bounces read', address.host, address.user, address.mailbox),
          pause,
          takeLease: leaseOf('bounces'),
          clock,
          random,
          emit,
        })

  const probing = config.PROBE_TO && (await import('./probe.ts'))
  const { targets = new Map(), gaps = [] } = probing?.listProbes(config, reporting) ?? {}
  for (const gap of gaps) log.warn({ event: 'setting' }, String(gap))
  const probe =
    probing?.createProbe({
      targets,
      at: config.PROBE_AT,
      post: probing.createProbePost(config, {
        ownUrl: () => urlOf(app, config.TLS),
        expectProbe: authentication.expectProbe,
        now: clock.now,
      }),
      findMessage: queries.findMessage,
      memos,
      takeLease: leaseOf('probe'),
      clock,
    }) ?? null

  // The private listener.
  const view: ServiceView = {
    build,
    startedAt,
    now: clock.now,
    wall,
    isDraining: () => isDraining,
    channels: channels.map(({ channel }) => channel),
    health,
    queries,
    readAsked: asked.read,
    channelStatus: () =>
      delivery.status().map(status => ({
        ...status,
        partialFaults: [...status.partialFaults, ...reportedFaults.list(status.provider)],
      })),
    deliveryTimes: () => times?.list() ?? [],
    lacksDescriptors: descriptors.areShort,
    storeLoss: () => outbox.loss?.() ?? null,
    certificate: options.certificate,
    renewalRefused: options.renewalRefused,
    templateProblems: () => [
      ...renderer.problems().map(({ file, line, reason }) => withRemedy(placeOf(file, line), reason)),
      ...templates
        .faults()
        .map(({ line, reason }) => withRemedy(placeOf('SMS_TEMPLATES_FILE', line), reason)),
    ],
    deviceAlerts: () => alerts?.status() ?? null,
    countLeftOut: config.BOUNCE_REFUSE ? countLeftOut : null,
    bounceMailbox: () => bounceMailbox?.status() ?? null,
    onlyTo: config.ONLY_TO?.length ?? 0,
    probeFailures: () => probe?.failures() ?? [],
    robots: () => robots?.status() ?? [],
    webhooks: () => webhooks?.status() ?? null,
  }
  const base = config.PUBLIC_URL ?? `${config.TLS ? 'https' : 'http'}://127.0.0.1:${config.PORT}`
  const adminListener = await openAdmin({
    config,
    urls: urlsByChannel(config, base),
    reportUrls: await reportUrls(config, base),
    view,
    outbox,
    delivery,
    metrics,
    renderer,
    emit,
    keys: storeKeys,
    testSend: async (channel, body) => {
      const { answer, ids } = await receive(authentication.operatorAsCaller(channel), body)
      return { err_code: answer.err_code, err_msg: answer.err_msg, ids }
    },
  })

  return {
    publicListener: app,
    adminListener,
    waiting,
    delivery,
    bringing: [alerts, bounceMailbox, probe].filter(part => part !== null),
    webhooks,
    beginDraining() {
      isDraining = true
    },
    async close() {
      for (const each of resources) await each.close()
    },
  }
}

function answerHeaders(https: boolean): Record<string, string> {
  return {
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    ...(https ? { 'strict-transport-security': 'max-age=63072000' } : {}),
  }
}

/** @param line from 1; 0 or absent: it is about the whole file. */
function placeOf(file: string, line = 0): Sentence {
  return line === 0 ? quote(file) : say('{file}, line {line}', { file, line })
}
