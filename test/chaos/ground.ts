import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestCertificate } from '../rigs/certificate.ts'
import { NO_QUOTAS } from '../rigs/service.ts'
import { ACCOUNT_SID, AUTH_TOKEN } from '../rigs/twilio-server.ts'
import { CORP, TOKEN } from './platform.ts'
import { startSinks } from './sinks.ts'

/** What a run under load starts the service with, beside what is its own. */
export interface LoadSettings {
  readonly corp: string
  readonly token: { readonly email: string; readonly sms: string }
  readonly storeSecret: string
  /** Holds `cert.pem` and `key.pem`. */
  readonly directory: string
  readonly databaseUrl: string
  readonly smtpPort: number
  readonly twilioUrl: string
}

/** Both channels on loopback, in front of recording sinks, with no quota in the way. */
export function loadSettings(of: LoadSettings): Record<string, string> {
  return {
    ...NO_QUOTAS,
    CORP_ID: of.corp,
    EMAIL_TOKEN: of.token.email,
    SMS_TOKEN: of.token.sms,
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_HOST: '127.0.0.1',
    ADMIN_PORT: '0',
    TLS_CERT_FILE: join(of.directory, 'cert.pem'),
    TLS_KEY_FILE: join(of.directory, 'key.pem'),
    DATABASE_URL: of.databaseUrl,
    STORE_SECRET: of.storeSecret,
    SMTP_URL: `smtp://127.0.0.1:${of.smtpPort}?ignoreTLS=true`,
    MAIL_FROM: 'Example <no-reply@example.com>',
    TWILIO_ACCOUNT_SID: ACCOUNT_SID,
    TWILIO_AUTH_TOKEN: AUTH_TOKEN,
    TWILIO_FROM: '+15005550006',
    TWILIO_API_URL: of.twilioUrl,
    DEFAULT_AREA_CODE: '86',
  }
}

/** Opens what a run under load has around the service: a folder with a certificate, and providers that keep what arrives. */
export async function openGround(storeSecret: string, ...given: Parameters<typeof startSinks>) {
  const directory = await mkdtemp(join(tmpdir(), 'courier-load-'))
  const { key, cert } = await createTestCertificate()
  await writeFile(join(directory, 'cert.pem'), cert)
  await writeFile(join(directory, 'key.pem'), key)
  const sinks = await startSinks(...given)
  const { smtpPort, twilioUrl, arrivals } = sinks
  const of = { corp: CORP, token: TOKEN, storeSecret, directory, smtpPort, twilioUrl }
  return {
    directory,
    ca: cert,
    arrivals,
    settings: (databaseUrl: string) => ({
      ...loadSettings({ ...of, databaseUrl }),
      PATH: process.env['PATH'] ?? '',
    }),
    async close() {
      await sinks.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
