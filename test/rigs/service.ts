import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { Agent, type Dispatcher, request } from 'undici'
import { computeSignature } from '../../src/commands/callback-client.ts'
import type { Channel } from '../../src/messages/message.ts'
import { type ServiceOptions, startService } from '../../src/service/service.ts'
import { sharedCertificate } from './certificate.ts'
import { ownHost } from './own-host.ts'
import { serveHere } from './serve-here.ts'
import { startSmtpServer } from './smtp-server.ts'
import { ACCOUNT_SID, AUTH_TOKEN, startTwilioServer } from './twilio-server.ts'

export { until } from './until.ts'

export const CORP_ID = 'corp-100fa4b2'
export const EMAIL_TOKEN = 'canaryEmailTokenVq3xGm7RzKp'
export const SMS_TOKEN = 'canarySmsTokenWt9cNk4HvXrQ'
export const SMTP_USER = 'courier'
export const SMTP_PASSWORD = 'canary-Smtp-password-71b'

export type Settings = Readonly<Record<string, string>>

/** Many messages at once from one machine are no attack where nobody tests quotas. */
export const NO_QUOTAS: Settings = {
  QUOTAS:
    'recipient-10m=off recipient-day=off sms-prefix-10m=off alarm-recipient-hour=off signup-domain-hour=off sms-minute=off sms-day=off email-minute=off',
}

/** Both listeners on free ports of loopback, and the login of the Twilio that is there. */
export const LOOPBACK: Settings = {
  HOST: '127.0.0.1',
  PORT: '0',
  ADMIN_HOST: '127.0.0.1',
  ADMIN_PORT: '0',
  TWILIO_ACCOUNT_SID: ACCOUNT_SID,
  TWILIO_AUTH_TOKEN: AUTH_TOKEN,
  TWILIO_FROM: '+15005550006',
  DEFAULT_AREA_CODE: '86',
}

export interface AskOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'HEAD' | 'PATCH' | 'OPTIONS'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/**
 * Everybody the service talks to, recording, on loopback, a certificate, and the settings that point at them; all of it ends with the
 * test.
 */
export type Sinks = Awaited<ReturnType<typeof startSinks>>
export async function startSinks(t: Test) {
  const directory = await mkdtemp(join(tmpdir(), 'courier-rig-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const { key, cert } = await sharedCertificate()
  await writeFile(join(directory, 'cert.pem'), cert)
  await writeFile(join(directory, 'key.pem'), key)
  const host = ownHost()
  const login = { user: SMTP_USER, pass: SMTP_PASSWORD }
  const { server: smtp, port } = await startSmtpServer(t, { host, login })
  const twilio = await startTwilioServer()
  t.teardown(() => twilio.close())
  const settings: Settings = {
    CORP_ID,
    EMAIL_TOKEN,
    SMS_TOKEN,
    ...LOOPBACK,
    TLS_CERT_FILE: join(directory, 'cert.pem'),
    TLS_KEY_FILE: join(directory, 'key.pem'),
    DATABASE_URL: `file:${join(directory, 'outbox.db')}`,
    STORE_SECRET: 'canary-store-secret-0123456789',
    SMTP_URL: `smtp://${SMTP_USER}:${SMTP_PASSWORD}@${host}:${port}?ignoreTLS=true`,
    MAIL_FROM: 'Example <no-reply@courier.example>',
    TWILIO_API_URL: twilio.url,
    BRAND_NAME: 'Example',
  }
  // The service's certificate is its own authority.
  return { smtp, twilio, ca: cert, directory, settings }
}

/** The whole service on free loopback ports, over HTTPS, with recording sinks; all of it ends with the test. */
export type ServiceRig = Awaited<ReturnType<typeof startRig>>
export async function startRig(t: Test, more: Settings = {}, first: ServiceOptions = {}) {
  const sinks = await startSinks(t)
  const log: string[] = []
  const start = (settings: Settings, options: ServiceOptions) =>
    startService(
      { ...sinks.settings, ...more, ...settings },
      { log: { write: line => void log.push(line) }, startStoreThread: serveHere, ...options },
    )
  let service = await start({}, first)
  const agent = new Agent({ connect: { ca: sinks.ca }, connections: 64 })
  t.teardown(async () => {
    await agent.destroy()
    await service.close()
  })
  const path = (channel: Channel) => new URL(service.urls[channel] ?? 'https://off.invalid/').pathname
  const tokens = { email: EMAIL_TOKEN, sms: SMS_TOKEN }
  const sign = (
    channel: Channel,
    timestamp = String(Math.floor(Date.now() / 1000)),
    token = tokens[channel],
  ): string =>
    `timestamp=${encodeURIComponent(timestamp)}&signature=${computeSignature({ corpId: CORP_ID, token }, timestamp)}`

  const ask = (where: string, options: AskOptions = {}) =>
    exchange(agent, new URL(`${service.publicUrl}${where}`), options)

  return {
    ...sinks,
    /** Lines of the log, oldest first. */
    log: log as readonly string[],
    /** The same, parsed. */
    events: () => log.map(line => JSON.parse(line) as Record<string, unknown>),
    service: () => service,
    /** Path of a channel's callbacks, with the right key. */
    path,
    /** `timestamp=…&signature=…`, right for now unless told otherwise. */
    sign,
    /** Any request to the public listener. */
    ask,
    /** A callback as the platform sends it, unsigned unless `query` says otherwise. */
    post: (channel: Channel, body: unknown, { query = '' } = {}) =>
      ask(`${path(channel)}${query === '' ? '' : `?${query}`}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
      }),
    validate: (channel: Channel, query = sign(channel)) => ask(`${path(channel)}?${query}`),
    /** What the private listener answers. */
    page: async (where: string, headers: Readonly<Record<string, string>> = {}) =>
      (await fetch(`${service.adminUrl}${where}`, { headers })).text(),
    /** Ends the service and starts it again on the same store, with other settings. */
    async restart(settings: Settings = {}, options: ServiceOptions = {}) {
      await service.close()
      service = await start(settings, options)
    },
  }
}

export type Answer = Awaited<ReturnType<typeof exchange>>
async function exchange(agent: Dispatcher, url: URL, options: AskOptions) {
  const began = performance.now()
  const { statusCode, headers, body } = await request(url, {
    dispatcher: agent,
    method: options.method ?? 'GET',
    ...(options.headers === undefined ? {} : { headers: options.headers }),
    ...(options.body === undefined ? {} : { body: options.body }),
  })
  const text = await body.text()
  return { status: statusCode, headers, text, ...errorOf(text), ms: performance.now() - began }
}

/** `errCode`: null when the body has none. */
function errorOf(text: string): { readonly errCode: number | null; readonly errMsg: string } {
  try {
    const { err_code, err_msg } = JSON.parse(text) as Record<string, unknown>
    return {
      errCode: Number.isInteger(err_code) ? Number(err_code) : null,
      errMsg: typeof err_msg === 'string' ? err_msg : '',
    }
  } catch {
    return { errCode: null, errMsg: '' }
  }
}

/** A body of each channel that is right in every way; parts may be replaced. */
export function mailBody(more: Readonly<Record<string, unknown>> = {}, params: object = {}): object {
  return {
    subject: 'Activate your account',
    to: 'ann@example.com',
    email_param: { type: 1, url: 'https://www.example.com/activate?code=abc', hour: '24', ...params },
    ...more,
  }
}

export function smsBody(more: Readonly<Record<string, unknown>> = {}, params: object = {}): object {
  return {
    to: '13800138000',
    area_code: '86',
    sms_param: { type: 1, code: '482913', minute: '5', ...params },
    ...more,
  }
}

/** A text as the name of an assertion: on one line, whatever is in it. */
export function shown(text: unknown): string {
  return JSON.stringify(text).replace(
    /[^\x20-\x7e]/g,
    unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
