import type { FastifyInstance } from 'fastify'
import { parseAddress } from '../callback/address.ts'
import { createPhoneParser } from '../callback/phone.ts'
import { type Config, UNNAMED } from '../config/config.ts'
import type { Delivery } from '../delivery/port.ts'
import type { Emit } from '../events/events.ts'
import type { Channel } from '../messages/message.ts'
import { callbackKinds, messageKinds, PLAIN_KIND } from '../messages/registry.ts'
import { samples } from '../messages/samples.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { Certificate } from '../tls/certificate.ts'
import type { RefusedRenewal } from '../tls/watch.ts'
import { renderPreview } from '../words/preview.ts'
import type { Renderer } from '../words/render.ts'
import type { TemplateProblem } from '../words/template-files.ts'
import { backupRoute } from './backup.ts'
import type { ConsoleOptions, WordsPreview } from './console/options.ts'
import { consoleRoutes } from './console/routes.ts'
import { createAdminListener } from './listener.ts'
import type { Metrics } from './metrics/metrics.ts'
import { createReadiness } from './readiness.ts'
import type { ServiceHealth } from './service-health.ts'
import { statusRoutes } from './status/routes.ts'
import { createStatus } from './status/status.ts'

export interface AdminOptions {
  readonly config: Config
  readonly outbox: Outbox
  readonly delivery: Delivery
  readonly health: ServiceHealth
  readonly metrics: Metrics
  readonly renderer: Renderer
  /** The faults of SMS_TEMPLATES_FILE as it is now. */
  readonly smsTemplateProblems: () => readonly string[]
  readonly certificate: () => Certificate | null
  readonly renewalRefused: () => RefusedRenewal | null
  /** Says whether POST_SIGNATURE=required would have let every recent POST of a channel in. */
  readonly requiredIsSafe: (channel: Channel) => boolean
  readonly recipientHash: (channel: Channel, recipient: string) => string
  readonly urls: { readonly email?: string; readonly sms?: string }
  readonly testSend: ConsoleOptions['testSend']
  readonly emit: Emit
  /** Null when there are no device alerts. */
  readonly deviceAlerts: ConsoleOptions['deviceAlerts']
  readonly webhooks: ConsoleOptions['webhooks']
  readonly draining: () => boolean
  readonly startedAt: number
  /** ms since the epoch. */
  readonly now: () => number
}

/** The private listener with all that is on it: health, metrics, console. */
export async function openAdmin(options: AdminOptions): Promise<FastifyInstance> {
  const { config, outbox, delivery, health, metrics, now } = options
  const storeLoss = () => outbox.loss?.() ?? null
  const app = createAdminListener(
    {
      ready: createReadiness({
        draining: options.draining,
        probe: () => outbox.queries.probeCommit(),
        health,
        channelStatus: () => delivery.status(),
        renewalRefused: () => options.renewalRefused() !== null,
        storeLoss,
        monotonic: () => performance.now(),
      }),
    },
    {
      host: config.ADMIN_HOST,
      tokens: tokensOf(config),
      names: config.ADMIN_NAMES,
      now,
      onRefused: reason => options.emit({ type: 'admin-refused', reason }),
    },
  )
  const { DATABASE_URL: store } = config
  if (store.kind === 'file' && outbox.backUp !== undefined)
    backupRoute(app, outbox.backUp, store.path, options.emit)
  app.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await metrics.scrape()))
  const channels = [...new Set(delivery.status().map(({ channel }) => channel))]
  const recipientHash = (typed: string) => hashOf(typed, options.recipientHash, config.DEFAULT_AREA_CODE)
  const status = createStatus({ ...outbox, health, channels, channelStatus: () => delivery.status() })
  await app.register(statusRoutes, { status, recipientHash, now })
  await app.register(consoleRoutes, consoleOptions(options, { status, channels, recipientHash, storeLoss }))
  return app
}

function consoleOptions(
  options: AdminOptions,
  shared: Pick<ConsoleOptions, 'status' | 'channels' | 'recipientHash' | 'storeLoss'>,
): ConsoleOptions {
  const { config, outbox, delivery, renderer } = options
  const { channels } = shared
  return {
    ...shared,
    actions: outbox.actions,
    health: options.health,
    channelStatus: () => delivery.status(),
    kinds: callbackKinds,
    kindNames: [...new Set([...messageKinds.map(kind => kind.name), PLAIN_KIND])],
    gallery: samples,
    certificate: options.certificate,
    renewalRefused: options.renewalRefused,
    templateProblems: () => [...renderer.problems().map(problemLine), ...options.smsTemplateProblems()],
    renderedInFull: renderer.renderedInFull,
    locales: () => renderer.locales,
    previewWords: (channel, kind, locale) => previewWords(renderer, channel, kind, locale),
    urls: options.urls,
    testSend: options.testSend,
    emit: options.emit,
    tryNow: channel => delivery.tryNow(channel),
    postSignature: config.POST_SIGNATURE,
    requiredIsSafe: () => channels.filter(options.requiredIsSafe),
    deviceAlerts: options.deviceAlerts,
    webhooks: options.webhooks,
    rotating: channels.filter(channel => isRotating(config, channel)),
    draining: options.draining,
    startedAt: options.startedAt,
    now: options.now,
  }
}

function tokensOf({ ADMIN_TOKEN, ADMIN_TOKENS, METRICS_TOKEN, STATUS_TOKEN }: Config) {
  const unnamed = ADMIN_TOKEN === undefined ? [] : [[UNNAMED.token, ADMIN_TOKEN] as const]
  return {
    operators: new Map([...unnamed, ...(ADMIN_TOKENS ?? [])]),
    metrics: METRICS_TOKEN,
    status: STATUS_TOKEN,
  }
}

function isRotating(config: Config, channel: Channel): boolean {
  const name = channel === 'email' ? 'EMAIL' : 'SMS'
  return (config[`${name}_TOKEN_PREVIOUS`] ?? config[`${name}_CALLBACK_KEY_PREVIOUS`]) !== undefined
}

function problemLine({ file, line, reason }: TemplateProblem): string {
  return `${file}${line === undefined ? '' : `, line ${line}`}: ${reason}`
}

/** A recipient that an operator typed in full, as the store knows it; null: neither an address nor a number. */
function hashOf(
  typed: string,
  hash: AdminOptions['recipientHash'],
  defaultAreaCode: string | undefined,
): string | null {
  const address = parseAddress(typed, true)
  if (address !== null) return hash('email', address)
  const parse = createPhoneParser({
    countries: '*',
    ...(defaultAreaCode !== undefined && { defaultAreaCode }),
  })
  const number = parse(typed, undefined)
  return number.ok ? hash('sms', number.number) : null
}

function previewWords(
  renderer: Renderer,
  channel: Channel,
  kind: string,
  locale: string,
): WordsPreview | null {
  if (!renderer.locales.includes(locale)) return null
  const found = renderPreview(renderer, channel, kind, locale)
  if (found === null) return null
  if (found.channel === 'sms')
    return { channel, kind, locale, text: found.text, segments: found.size.segments }
  const { subject, html, text } = found.mail
  return { channel, kind, locale, subject, html, text }
}
