import { dirname, join } from 'node:path'
import type { Logger } from 'pino'
import type { AuthenticationOptions, ChannelSecrets } from '../callback/authenticate.ts'
import { callbackKeys, createSourceNetworks } from '../callback/authenticate.ts'
import {
  countryOfAreaCode,
  createPhoneParser,
  createRecipientReader,
  mailboxOf,
  type ReadRecipients,
} from '../callback/recipients.ts'
import { type Config, ConfigError, type Mailbox } from '../config/config.ts'
import type { Emit } from '../events/events.ts'
import { messageKinds } from '../messages/kinds.ts'
import type { Channel, NewMessage } from '../messages/message.ts'
import { createStoreKeys, type StoreKeys } from '../outbox/encryption.ts'
import type { Enterprise, MemoStore, Outbox, StoreOptions } from '../outbox/outbox.ts'
import type { SqliteOutboxOptions } from '../outbox/sqlite/outbox.ts'
import { loadStoreSecret, readSecret } from '../outbox/store-secret.ts'
import { createRobots, type Robots } from '../providers/http-gateway/robots.ts'
import { modulesOf } from '../providers/list.ts'
import { proxyOf } from '../providers/module.ts'
import type { Provider } from '../providers/provider.ts'
import type { SmsTemplateFile } from '../providers/sms-template-file.ts'
import { NO_TEMPLATES, type SmsTemplates } from '../providers/sms-templates.ts'
import type { Clock } from '../runtime/clock.ts'
import { tellYamlFault } from '../runtime/yaml-text.ts'
import type { SmsRoutes } from '../settings/senders.ts'
import { createRenderer, type Renderer } from '../words/render.ts'

/** Makes parts and their options from the settings: only this file knows the names of both. */

/** Makes the options of authentication: which callers are accepted, and which signatures their POSTs need. */
export function authenticationOptions(config: Config, wall: () => number): AuthenticationOptions {
  return {
    corpId: config.CORP_ID,
    channels: { email: channelSecrets(config, 'email', 'EMAIL'), sms: channelSecrets(config, 'sms', 'SMS') },
    sources: createSourceNetworks(config.ALLOWED_SOURCES, config.TRUSTED_PROXIES),
    postSignature: config.POST_SIGNATURE,
    signatureMaxAgeSeconds: config.SIGNATURE_MAX_AGE_SECONDS,
    wall,
  }
}

/** Lists the secrets that a channel accepts; a channel that is off has none. */
function channelSecrets(config: Config, channel: Channel, name: 'EMAIL' | 'SMS'): ChannelSecrets | undefined {
  const token = config[`${name}_TOKEN`]
  if (token === undefined) return undefined
  const tokenPrevious = config[`${name}_TOKEN_PREVIOUS`]
  const { accepted } = callbackKeys(channel, {
    corpId: config.CORP_ID,
    token,
    tokenPrevious,
    ownKey: config.CALLBACK_KEYS?.get(channel),
    ownKeyPrevious: config.CALLBACK_KEYS?.get(`${channel}-previous`),
  })
  return { tokens: tokenPrevious === undefined ? [token] : [token, tokenPrevious], keys: accepted }
}

/**
 * Makes the reader of recipients. SMS may go to the listed countries, or if none is listed to the country of the default area code;
 * of these only to countries that a route leads to.
 */
export function openRecipientReader(config: Config): ReadRecipients {
  const area = config.DEFAULT_AREA_CODE
  const home = area === undefined ? null : countryOfAreaCode(area)
  const wanted = config.SMS_COUNTRIES ?? (home === null ? [] : [home])
  return createRecipientReader(
    createPhoneParser({ countries: routedCountries(wanted, config.SMS_ROUTES), defaultAreaCode: area }),
  )
}

/** Opens the robots of groups; null: there are none. */
export function openRobots(config: Config, renderer: Renderer, clock: Clock, emit: Emit): Robots | null {
  const { SMS_GATEWAYS: gateways = [], SMS_GATEWAY_SECRETS: secrets = new Map() } = config
  const robots = gateways.filter(({ channel }) => channel === 'chat')
  if (robots.length === 0) return null
  return createRobots({
    robots,
    secrets,
    clock,
    proxy: proxyOf(config),
    textOf: message => alarmText(renderer, message),
    onPost: post => emit({ type: 'robot-posted', ...post }),
  })
}

/** Puts an alarm into words as its mail or SMS does, without a mail's footer. */
function alarmText({ render, viewMail }: Renderer, message: NewMessage): string {
  try {
    if (message.channel === 'email') return viewMail(message).text.split(/^-- $/m)[0]?.trim() ?? ''
    const outgoing = render(message)
    return outgoing.channel === 'sms' ? outgoing.text() : ''
  } catch {
    // Its carriers send templates, and nothing puts it into words.
    return message.kind
  }
}

/** Lists the allowed countries that a route leads to. */
function routedCountries(
  allowed: '*' | readonly string[],
  routes: SmsRoutes | undefined,
): '*' | ReadonlySet<string> {
  if (routes === undefined || routes.has('*')) return allowed === '*' ? allowed : new Set(allowed)
  return new Set(allowed === '*' ? routes.keys() : allowed.filter(country => routes.has(country)))
}

/** Opens the file of the carriers' approved templates; a file that cannot be used refuses the start. @throws ConfigError */
export async function openSmsTemplates(
  config: Config,
  log: Logger,
  onRead?: (channel: Channel) => void,
): Promise<SmsTemplateFile> {
  const { SMS_TEMPLATES_FILE: path, PLUGIN_SENDERS: pluginSenders } = config
  if (path === undefined || config.SMS_TOKEN === undefined)
    return { ...NO_TEMPLATES, faults: () => [], close: () => {} }
  const { openSmsTemplateFile } = await import('../providers/sms-template-file.ts')
  const kinds = messageKinds
    .filter(({ channel }) => channel === 'sms')
    .map(({ name, params }) => [name, params] as const)
  const templates = openSmsTemplateFile({
    path,
    pluginSenders,
    carriers: modulesOf(config)
      .filter(({ channel }) => channel === 'sms')
      .map(({ name }) => name),
    kinds: new Map(kinds),
    onChange(faults) {
      for (const { line, reason } of faults) log.warn({ file: path, line, reason }, 'template problem')
      if (faults.length > 0) return
      log.info({ file: path }, 'templates read again')
      onRead?.('sms')
    },
  })
  const faults = templates.faults()
  if (faults.length === 0) return templates
  templates.close()
  throw new ConfigError(faults.map(fault => ({ name: 'SMS_TEMPLATES_FILE', problem: tellYamlFault(fault) })))
}

/** @throws ConfigError when no carrier can send any SMS, because templates or signatures are missing. */
export function requireTemplates(
  config: Config,
  providers: readonly Pick<Provider, 'name' | 'channel'>[],
  templates: SmsTemplates,
): void {
  const names = providers.filter(({ channel }) => channel === 'sms').map(({ name }) => name)
  const faults = modulesOf(config)
    .filter(({ name }) => names.includes(name))
    .flatMap(module => module.findTemplateFault?.(config, templates) ?? [])
  if (names.length > 0 && faults.length === names.length) throw new ConfigError(faults)
}

/**
 * Makes the keys of everything at rest, from STORE_SECRET or from the file beside the embedded store. An address goes by its mailbox,
 * as it does in quotas, so that its messages are found however somebody writes it.
 */
export async function openStoreKeys(config: Config): Promise<StoreKeys> {
  const keys = await readStoreKeys(config)
  return {
    ...keys,
    recipientHash: (channel, recipient) =>
      keys.recipientHash(channel, channel === 'email' ? mailboxOf(recipient) : recipient),
  }
}

async function readStoreKeys(config: Config): Promise<StoreKeys> {
  const { DATABASE_URL: store, STORE_SECRET: secret, STORE_SECRET_PREVIOUS: previous = [] } = config
  const file = store.kind === 'file' ? join(dirname(store.path), 'store.secret') : null
  // When STORE_SECRET is set and the service has made a secret earlier, that earlier one counts as a previous secret.
  const made = file === null || secret === undefined ? null : await readSecret(file)
  const used = file === null ? secret : await loadStoreSecret({ secret, file })
  if (used === undefined) throw new Error('STORE_SECRET is needed with a shared store')
  return createStoreKeys(used, made === null ? previous : [...previous, made])
}

/** Opens the store that DATABASE_URL names; the other implementation is not loaded. */
export async function openOutbox(
  config: Config,
  clock: Clock,
  storeKeys: StoreKeys,
  log: Logger,
  more: Pick<SqliteOutboxOptions, 'onCommit' | 'startThread'> & Pick<Enterprise, 'formerly'> = {},
): Promise<Outbox> {
  const { DATABASE_URL: store, CORP_ID: corpId } = config
  const shared: StoreOptions = {
    clock,
    storeKeys,
    enterprise: { corpId, formerly: more.formerly },
    maxBacklog: config.MAX_BACKLOG,
    retentionDays: config.RETENTION_DAYS,
    keepsEvents: config.EVENTS_URL !== undefined,
    log: ({ doing, message }) => log.warn({ event: 'store', doing }, message),
    onCommit: more.onCommit,
  }
  if (store.kind === 'postgres') {
    const { createPostgresOutbox } = await import('../outbox/postgres/outbox.ts')
    // Well below the time for an answer, so that there is one; but a database under load needs some.
    const statementTimeoutMs = Math.min(800, Math.max(400, config.ANSWER_WITHIN_MS * 0.4))
    return createPostgresOutbox({ ...shared, url: store.url, statementTimeoutMs })
  }
  const { createSqliteOutbox } = await import('../outbox/sqlite/outbox.ts')
  return createSqliteOutbox({ ...shared, path: store.path, startThread: more.startThread })
}

/** How this process takes or keeps the leader leases of its name; they are undefined where it is the only one. */
export function leaseTaker({ takeLeaderLease: take }: Pick<MemoStore, 'takeLeaderLease'>, owner: string) {
  return (name: string) => take && ((ttlMs: number) => take(name, owner, ttlMs))
}

/** Makes the renderer of every channel's messages. */
export function openRenderer(config: Config, log: Logger): Renderer {
  const from = config.MAIL_FROM ?? { address: 'nobody@localhost.invalid' }
  return createRenderer({
    brand: { name: config.BRAND_NAME ?? '', color: config.BRAND_COLOR, url: config.BRAND_URL },
    locale: config.LOCALE,
    localeByCountry: config.LOCALE_BY_COUNTRY,
    templatesDir: config.TEMPLATES_DIR,
    mail: {
      from: formatMailbox(from),
      replyTo: config.MAIL_REPLY_TO && formatMailbox(config.MAIL_REPLY_TO),
      messageIdDomain: from.address.slice(from.address.lastIndexOf('@') + 1),
    },
    sms: {
      pluginSenders: config.PLUGIN_SENDERS,
      countrySenders: config.SENDER_BY_COUNTRY,
      webotpDomain: config.WEBOTP_DOMAIN,
      maxSegments: config.SMS_MAX_SEGMENTS,
    },
    log: log.child({ event: 'templates' }),
  })
}

/** Formats a mailbox for a header. */
function formatMailbox({ name, address }: Mailbox): string {
  return name === undefined ? address : `"${name.replace(/(["\\])/g, '\\$1')}" <${address}>`
}
