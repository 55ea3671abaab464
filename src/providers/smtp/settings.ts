import { say, type Words } from '../../language/sentence.ts'
import { readSwitch } from '../../settings/readers.ts'
import type { ParsedSetting, SettingFault, Values } from '../../settings/setting.ts'
import { integerSetting, missingSettings, settingWithReader, textSetting } from '../../settings/setting.ts'
import { isLoopback, readApiUrl } from '../../settings/urls.ts'
import type { HttpLimits } from '../http-client.ts'

/** Checks an SMTP URL and keeps it as text: it is parsed where it is used, so that nothing else holds the password by itself. */
function readSmtpUrlText(text: string): ParsedSetting<string> {
  const address = readSmtpUrl(text.trim())
  return 'wrong' in address ? { fault: address.wrong } : { value: text.trim() }
}

/** Settings of the enterprise's mail servers. */
export const smtpSettings = {
  SMTP_URL: settingWithReader(readSmtpUrlText, {
    secret: true,
    meaning:
      'Your mail server, with user and password percent-encoded. smtp:// requires STARTTLS (port 587), smtps:// begins with TLS (port 465). With SMTP_OAUTH2_TOKEN_URL the user stands alone. For a server without TLS, on this machine: smtp://localhost:25?ignoreTLS=true.',
    example: 'smtp://courier:password@mail.example.com:587',
  }),
  SMTP_FALLBACK_URL: settingWithReader(readSmtpUrlText, {
    secret: true,
    meaning:
      'A second mail server, the next carrier of each mail that the first one does not take: it cannot be reached, hangs, or refuses for another reason than recipient or content. The first is used again when it is back.',
    example: 'smtps://courier:password@mail2.example.com:465',
  }),
  SMTP_OAUTH2_TOKEN_URL: settingWithReader(readApiUrl, {
    meaning:
      'For a mail server that wants OAuth2 (XOAUTH2) instead of a password, as Microsoft 365 and Google do: where access tokens are asked for (docs/operations.md). A URL with a user and no password then logs in so.',
    example: 'https://login.microsoftonline.com/00000000-0000-0000-0000-000000000000/oauth2/v2.0/token',
  }),
  SMTP_OAUTH2_CLIENT_ID: textSetting({
    meaning: 'OAuth2: the application (client) that asks.',
    example: '11111111-1111-1111-1111-111111111111',
  }),
  SMTP_OAUTH2_CLIENT_SECRET: textSetting({
    secret: true,
    meaning:
      "OAuth2: the client's secret. Without a refresh token the client asks for itself (client credentials).",
    example: 'the-secret-of-the-client',
  }),
  SMTP_OAUTH2_REFRESH_TOKEN: textSetting({
    secret: true,
    meaning: 'OAuth2: the refresh token that the mailbox has consented to, as Google needs it.',
    example: 'the-refresh-token-of-the-mailbox',
  }),
  SMTP_OAUTH2_SCOPE: textSetting({
    meaning: 'OAuth2: what is asked for. Microsoft 365 with client credentials needs the one of the example.',
    example: 'https://outlook.office365.com/.default',
  }),
  SMTP_CLIENT_CERT_FILE: textSetting({
    meaning:
      'For a mail server that knows us by a certificate: the file with ours, its chain, and its key (PEM, without a passphrase). Read at start.',
    example: '/etc/courier/client.pem',
  }),
  SMTP_LOGIN_WITHOUT_TLS: settingWithReader(readSwitch, {
    default: 'off',
    meaning:
      'on: user and password may cross the network in the clear, to a server on another machine that offers no TLS (?requireTLS=false) or is not asked for it (?ignoreTLS=true). Whoever is on the way reads them.',
    example: 'on',
  }),
  SMTP_CONNECTIONS: integerSetting([1, 200], {
    default: 50,
    meaning:
      'Connections to the mail server at the same time, at most. 50 is what Postfix takes from one client unless told otherwise. It begins with 10; while all are in use one more is opened for each answer, and after the server has refused one (421) no more than it took. A server that becomes slow instead of refusing gets more than it likes: set fewer.',
  }),
} as const

/** The faults of these settings together, when e-mail is on. */
export function* findSmtpFaults(settings: Given): Generator<SettingFault> {
  yield* missingSettings(settings, {
    SMTP_URL: 'e-mail is on (EMAIL_TOKEN), so name your mail server: smtp://user:password@host:587',
  })
  const servers = URLS.flatMap(name => {
    const address = readSmtpUrl(settings[name] ?? '')
    return 'wrong' in address ? [] : [{ name, ...address }]
  })
  const withoutPassword = servers.flatMap(({ name, auth }) => (auth?.pass === '' ? name : []))
  if (settings.SMTP_OAUTH2_TOKEN_URL !== undefined)
    yield* findTokenFaults(settings, withoutPassword.length > 0)
  else yield* findPasswordFaults(settings, withoutPassword)
  if (settings.SMTP_LOGIN_WITHOUT_TLS === false)
    for (const { name, host, secure, startTls, auth } of servers)
      if (auth !== undefined && !secure && startTls === 'off' && !isLoopback(host))
        yield {
          name,
          problem: 'has a login and ?ignoreTLS=true, so that it would cross the network in the clear',
          remedy: 'leave ignoreTLS out, or set SMTP_LOGIN_WITHOUT_TLS=on if nobody can listen on the way',
        }
}

type Given = Partial<Values<typeof smtpSettings>>

/** @param withoutPassword the URLs with a user and no password, in whose place nothing is set. */
function* findPasswordFaults(settings: Given, withoutPassword: readonly string[]): Generator<SettingFault> {
  for (const name of withoutPassword)
    yield {
      name,
      problem:
        'has a user and no password: write user:password@, or set SMTP_OAUTH2_TOKEN_URL, where an access token is asked for in its place',
    }
  const idle = OAUTH2.find(name => settings[name] !== undefined)
  yield* missingSettings(settings, {
    SMTP_OAUTH2_TOKEN_URL: idle !== undefined && say('{idle} needs it', { idle }),
  })
}

/** @param isUsed whether a mail server is logged in to with a token. */
function* findTokenFaults(settings: Given, isUsed: boolean): Generator<SettingFault> {
  if (settings.SMTP_URL !== undefined && !isUsed)
    yield {
      name: 'SMTP_URL',
      problem: 'needs a user and no password for SMTP_OAUTH2_TOKEN_URL',
      remedy: 'write smtp://courier%40example.com@smtp.office365.com:587, or leave the other out',
    }
  yield* missingSettings(settings, {
    SMTP_OAUTH2_CLIENT_ID: 'it belongs to SMTP_OAUTH2_TOKEN_URL',
    SMTP_OAUTH2_CLIENT_SECRET:
      settings.SMTP_OAUTH2_REFRESH_TOKEN === undefined &&
      'it belongs to SMTP_OAUTH2_CLIENT_ID, unless there is a refresh token',
  })
}

const URLS = ['SMTP_URL', 'SMTP_FALLBACK_URL'] as const
const OAUTH2 = [
  'SMTP_OAUTH2_CLIENT_ID',
  'SMTP_OAUTH2_CLIENT_SECRET',
  'SMTP_OAUTH2_REFRESH_TOKEN',
  'SMTP_OAUTH2_SCOPE',
] as const

/** An SMTP URL, read: the server, and the way to connect to it. */
export interface SmtpAddress {
  readonly host: string
  readonly port: number
  /** TLS from the first byte (`smtps://`). */
  readonly secure: boolean
  /** STARTTLS: `required`, `offered` (used when the server offers it) or `off`. */
  readonly startTls: 'required' | 'offered' | 'off'
  /** Without a password: an access token takes its place. */
  readonly auth?: { readonly user: string; readonly pass: string }
}

const ENCODE = say('write #/?@:% in a user name or password as %23 %2F %3F %40 %3A %25')

/**
 * Reads `smtp[s]://[user[:password]@]host[:port][?requireTLS=false|ignoreTLS=true]`; user and password are
 * percent-encoded. `smtp://` (port 587) insists on STARTTLS unless the URL says `requireTLS=false` (use it when the
 * server offers it) or `ignoreTLS=true` (never, for a server on the same machine). `smtps://` (port 465) is TLS
 * from the first byte, RFC 8314.
 *
 * @returns the address, or what is wrong with the URL, in words that do not repeat its password.
 */
export function readSmtpUrl(text: string): SmtpAddress | { readonly wrong: Words } {
  const url = URL.parse(text)
  if (!url || (url.protocol !== 'smtp:' && url.protocol !== 'smtps:'))
    return {
      wrong: say('must look like smtp://user:password@host:587 or smtps://user:password@host:465; {encode}', {
        encode: ENCODE,
      }),
    }
  if (!url.hostname) return { wrong: 'names no host' }
  if (url.pathname !== '' && url.pathname !== '/')
    return { wrong: 'has a path; a password with / or # in it must be percent-encoded' }
  if (url.hash) return { wrong: 'has a #; a password with # in it must be percent-encoded' }
  const flags = readFlags(url.searchParams)
  if ('wrong' in flags) return flags
  const auth = readLogin(url)
  if (auth && 'wrong' in auth) return auth
  const secure = url.protocol === 'smtps:'
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port ? Number(url.port) : secure ? 465 : 587,
    secure,
    startTls: flags.ignoreTLS ? 'off' : flags.requireTLS ? 'required' : 'offered',
    ...(auth && { auth }),
  }
}

function readFlags(
  query: URLSearchParams,
): { requireTLS: boolean; ignoreTLS: boolean } | { readonly wrong: Words } {
  const flags = { requireTLS: true, ignoreTLS: false }
  for (const [name, value] of query) {
    if (name !== 'requireTLS' && name !== 'ignoreTLS')
      return { wrong: 'knows only ?requireTLS=false and ?ignoreTLS=true' }
    if (value !== 'true' && value !== 'false')
      return { wrong: say('has ?{name}= that is neither true nor false', { name }) }
    flags[name] = value === 'true'
  }
  return flags
}

function readLogin(url: URL): { user: string; pass: string } | { readonly wrong: Words } | undefined {
  if (!url.username && !url.password) return undefined
  try {
    return { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) }
  } catch {
    return { wrong: 'has a user or password with a % that is not percent-encoding; write it as %25' }
  }
}

/** Time limits, ms. */
export interface SmtpLimits {
  /** DNS and TCP. */
  readonly connectMs: number
  /** The server's first line; the TLS handshake has the same. */
  readonly greetingMs: number
  /** Silence after a command before the dot. EHLO, STARTTLS and login have this much together. */
  readonly commandMs: number
  /** The reply after the dot. */
  readonly replyMs: number
  /** How long an unused connection is kept. */
  readonly idleMs: number
}

/** Makes the limits of asking for an access token, which is part of setting up a connection. */
export function tokenLimits({ connectMs, greetingMs, commandMs }: SmtpLimits): HttpLimits {
  return { connectMs, answerMs: commandMs / 2, bodyMs: greetingMs }
}

/**
 * The limits unless others are given. RFC 5321 4.5.3.2 allows more in each place, but people wait for these mails. Only after the
 * dot, where servers scan, the limit is long.
 */
export const SMTP_LIMITS: SmtpLimits = {
  connectMs: 5_000,
  greetingMs: 5_000,
  commandMs: 20_000,
  replyMs: 300_000,
  idleMs: 60_000,
}

/** Computes the longest that an attempt may take, ms: up to the dot, and then for the reply. A lease must outlive it. */
export function longestSmtpAttemptMs(limits: SmtpLimits = SMTP_LIMITS): number {
  return limits.connectMs + limits.greetingMs + 4 * limits.commandMs + limits.replyMs
}
