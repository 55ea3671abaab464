import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import type { Clock } from '../../runtime/clock.ts'
import type { Values } from '../../settings/setting.ts'
import { type ChannelSettings, checkLogin, type ProviderModule, proxyOf } from '../module.ts'
import type { AccessTokens } from './oauth2.ts'
import type { SmtpLimits } from './settings.ts'
import { findSmtpFaults, longestSmtpAttemptMs, SMTP_LIMITS, smtpSettings, tokenLimits } from './settings.ts'

/** The enterprise's mail server, and a second one behind it. */
export const smtp: ProviderModule<'smtp', 'email', typeof smtpSettings, SmtpLimits> = {
  name: 'smtp',
  channel: 'email',
  settings: smtpSettings,
  limits: SMTP_LIMITS,
  findFaults: findSmtpFaults,
  longestAttemptMs(config, limits) {
    const once = longestSmtpAttemptMs(limits)
    // The fallback is asked in the same attempt, when the first server has not taken the message: all but the reply twice.
    return config.SMTP_FALLBACK_URL === undefined ? once : 2 * once - limits.replyMs
  },
  async open(config, { clock, limits }) {
    const { SMTP_URL: url, SMTP_FALLBACK_URL: fallbackUrl } = config
    if (config.EMAIL_TOKEN === undefined || url === undefined) return []
    const bounceTo = config.MAIL_BOUNCE_TO ?? config.MAIL_FROM?.address
    if (bounceTo === undefined) throw new Error('MAIL_FROM is needed')
    const dkim = await readDkimKey(config)
    const accessTokens = await openAccessTokens(config, clock, limits)
    const tls = await readClientCertificate(config)
    const { createSmtpProvider } = await import('./provider.ts')
    const open = (name: 'smtp' | 'smtp-fallback', of: string) =>
      createSmtpProvider({
        name,
        url: of,
        connections: config.SMTP_CONNECTIONS,
        ehloName: publicName(config.PUBLIC_URL),
        bounceTo,
        dkim,
        accessTokens,
        loginWithoutTls: config.SMTP_LOGIN_WITHOUT_TLS,
        tls,
        limits,
        clock,
      })
    const first = open('smtp', url)
    return fallbackUrl === undefined ? [first] : [first, open('smtp-fallback', fallbackUrl)]
  },
  async check(_config, provider) {
    const next =
      'look at host, port, user and password in SMTP_URL (and SMTP_FALLBACK_URL), and at the firewall on the way'
    return [await checkLogin(provider, next)]
  },
}

/**
 * Gives the name that this service is known by, for EHLO; undefined without one. A server may look it up, and may refuse one without a
 * dot, so that the machine's or container's own name would not do.
 */
function publicName(publicUrl: string | undefined): string | undefined {
  const name = publicUrl === undefined ? '' : new URL(publicUrl).hostname
  return name.includes('.') && isIP(name) === 0 ? name : undefined
}

/** Makes the access tokens of the mailbox; undefined: its servers take a password. */
export async function openAccessTokens(
  config: Values<typeof smtpSettings> & ChannelSettings,
  clock: Clock,
  limits = SMTP_LIMITS,
): Promise<AccessTokens | undefined> {
  const { SMTP_OAUTH2_TOKEN_URL: url, SMTP_OAUTH2_CLIENT_ID: clientId } = config
  if (url === undefined || clientId === undefined) return undefined
  const { createAccessTokens } = await import('./oauth2.ts')
  const endpoint = {
    url,
    clientId,
    clientSecret: config.SMTP_OAUTH2_CLIENT_SECRET,
    refreshToken: config.SMTP_OAUTH2_REFRESH_TOKEN,
    scope: config.SMTP_OAUTH2_SCOPE,
  }
  return createAccessTokens(endpoint, { clock, limits: tokenLimits(limits), proxy: proxyOf(config) })
}

async function readClientCertificate(config: Values<typeof smtpSettings>) {
  const { SMTP_CLIENT_CERT_FILE: file } = config
  if (file === undefined) return undefined
  const pem = await readFile(file, 'utf8')
  return { cert: pem, key: pem }
}

async function readDkimKey(config: ChannelSettings) {
  const { DKIM_NAME: name, DKIM_KEY_FILE: file } = config
  if (name === undefined || file === undefined) return undefined
  return { ...name, privateKey: await readFile(file, 'utf8') }
}
