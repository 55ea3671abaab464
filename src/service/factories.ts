import { dirname, join } from 'node:path'
import type { Logger } from 'pino'
import type { ChannelSecrets } from '../callback/authenticate.ts'
import { callbackKeys } from '../callback/key.ts'
import { countryOfAreaCode, type PhoneRules } from '../callback/phone.ts'
import type { QuotaLimits } from '../callback/quotas.ts'
import type { Config, Mailbox } from '../config/config.ts'
import type { Channel } from '../messages/message.ts'
import { createStoreKeys, type StoreKeys } from '../outbox/encryption.ts'
import type { Outbox } from '../outbox/outbox.ts'
import { loadStoreSecret } from '../outbox/store-secret.ts'
import type { Clock } from '../runtime/clock.ts'
import { createRenderer, type Renderer } from '../words/render.ts'

/** What each part is made with, from the settings: the only place that knows both their names. */

/** The secrets that each channel accepts; a channel that is off has none. */
export function channelSecrets(config: Config): Partial<Record<Channel, ChannelSecrets>> {
  const secrets: Partial<Record<Channel, ChannelSecrets>> = {}
  for (const [channel, name] of [
    ['email', 'EMAIL'],
    ['sms', 'SMS'],
  ] as const) {
    const token = config[`${name}_TOKEN`]
    if (token === undefined) continue
    const tokenPrevious = config[`${name}_TOKEN_PREVIOUS`]
    const { accepted } = callbackKeys(channel, {
      corpId: config.CORP_ID,
      token,
      tokenPrevious,
      ownKey: config[`${name}_CALLBACK_KEY`],
      ownKeyPrevious: config[`${name}_CALLBACK_KEY_PREVIOUS`],
    })
    secrets[channel] = {
      tokens: tokenPrevious === undefined ? [token] : [token, tokenPrevious],
      keys: accepted,
    }
  }
  return secrets
}

/** Where SMS may go: the listed countries, else the country of the default area code. */
export function phoneRules(config: Config): PhoneRules {
  const area = config.DEFAULT_AREA_CODE
  const home = area === undefined ? null : countryOfAreaCode(area)
  const countries = config.SMS_COUNTRIES ?? (home === null ? [] : [home])
  return {
    countries: countries === '*' ? '*' : new Set(countries),
    ...(area === undefined ? {} : { defaultAreaCode: area }),
  }
}

export function quotaLimits(config: Config): QuotaLimits {
  return {
    recipientPer10Minutes: config.QUOTA_RECIPIENT_PER_10_MINUTES,
    recipientPerDay: config.QUOTA_RECIPIENT_PER_DAY,
    smsPrefixPer10Minutes: config.QUOTA_SMS_PREFIX_PER_10_MINUTES,
    smsCountryPerDay: config.QUOTA_SMS_COUNTRY_PER_DAY,
    channel: {
      email: { perMinute: config.QUOTA_EMAIL_PER_MINUTE, perDay: config.QUOTA_EMAIL_PER_DAY },
      sms: { perMinute: config.QUOTA_SMS_PER_MINUTE, perDay: config.QUOTA_SMS_PER_DAY },
    },
  }
}

/** The key of everything at rest: STORE_SECRET, or the file beside the embedded store. */
export async function openStoreKeys(config: Config): Promise<StoreKeys> {
  const { DATABASE_URL: store, STORE_SECRET: secret } = config
  if (store.kind === 'file') {
    return createStoreKeys(await loadStoreSecret({ secret, file: join(dirname(store.path), 'store.secret') }))
  }
  if (secret === undefined) throw new Error('STORE_SECRET is needed with a shared store')
  return createStoreKeys(secret)
}

/** The store; each implementation is loaded only when it is the one. */
export async function openOutbox(
  config: Config,
  clock: Clock,
  storeKeys: StoreKeys,
  log: Logger,
  committed: (event: { readonly ms: number; readonly calls: number }) => void = () => undefined,
): Promise<Outbox> {
  const { DATABASE_URL: store } = config
  const shared = {
    clock,
    storeKeys,
    maxBacklog: config.MAX_BACKLOG,
    retentionDays: config.RETENTION_DAYS,
    log: ({ doing, message }: { readonly doing: string; readonly message: string }) => {
      log.warn({ event: 'store', doing }, message)
    },
    committed,
  }
  if (store.kind === 'postgres') {
    const { createPostgresOutbox } = await import('../outbox/postgres/outbox.ts')
    // Well below the time for an answer, so that there is one; but a database under load needs some.
    const statementTimeoutMs = Math.min(800, Math.max(400, config.ANSWER_WITHIN_MS * 0.4))
    return createPostgresOutbox({ ...shared, url: store.url, statementTimeoutMs })
  }
  const { createSqliteOutbox } = await import('../outbox/sqlite/outbox.ts')
  return createSqliteOutbox({ ...shared, path: store.path })
}

/** The words of every channel. */
export function openRenderer(config: Config, log: Logger): Renderer {
  const from = config.MAIL_FROM ?? { address: 'nobody@localhost.invalid' }
  return createRenderer({
    brand: {
      name: config.BRAND_NAME ?? '',
      color: config.BRAND_COLOR,
      ...(config.BRAND_URL === undefined ? {} : { url: config.BRAND_URL }),
    },
    locale: config.LOCALE,
    localeByCountry: config.LOCALE_BY_COUNTRY,
    ...(config.TEMPLATES_DIR === undefined ? {} : { templatesDir: config.TEMPLATES_DIR }),
    mail: {
      from: written(from),
      ...(config.MAIL_REPLY_TO === undefined ? {} : { replyTo: written(config.MAIL_REPLY_TO) }),
      messageIdDomain: from.address.slice(from.address.lastIndexOf('@') + 1),
    },
    sms: {
      pluginSenders: config.PLUGIN_SENDERS,
      countrySenders: config.SENDER_BY_COUNTRY,
      ...(config.WEBOTP_DOMAIN === undefined ? {} : { webotpDomain: config.WEBOTP_DOMAIN }),
      ...(config.SMS_MAX_SEGMENTS === undefined ? {} : { maxSegments: config.SMS_MAX_SEGMENTS }),
    },
    log: log.child({ event: 'templates' }),
  })
}

/** A mailbox as a header has it. */
function written({ name, address }: Mailbox): string {
  return name === undefined ? address : `"${name.replace(/(["\\])/g, '\\$1')}" <${address}>`
}
