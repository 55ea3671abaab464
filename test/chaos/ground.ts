import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import { type Evidence, type Judgement, judge } from '../faults/checker.ts'
import { createTestCertificate } from '../rigs/certificate.ts'
import { LOOPBACK, NO_QUOTAS } from '../rigs/service.ts'
import { CORP, TOKEN } from './platform.ts'
import { startSinks } from './sinks.ts'

const STORE_SECRET = 'load-run-store-secret-0123456789'

/**
 * Opens what a run under load has around the service: a folder with a certificate, providers that keep what arrives, settings by which
 * it serves both channels on loopback with no quota in the way, and the judge.
 */
export async function openGround(...given: Parameters<typeof startSinks>) {
  const directory = await mkdtemp(join(tmpdir(), 'courier-load-'))
  const pem = await createTestCertificate()
  await writeFile(join(directory, 'cert.pem'), pem.cert)
  await writeFile(join(directory, 'key.pem'), pem.key)
  const { smtpPort, twilioUrl, arrivals, close } = await startSinks(...given)
  const { recipientHash } = createStoreKeys(STORE_SECRET)
  return {
    directory,
    pem,
    arrivals,
    settings: (databaseUrl: string): Record<string, string> => ({
      ...NO_QUOTAS,
      ...LOOPBACK,
      CORP_ID: CORP,
      EMAIL_TOKEN: TOKEN.email,
      SMS_TOKEN: TOKEN.sms,
      TLS_CERT_FILE: join(directory, 'cert.pem'),
      TLS_KEY_FILE: join(directory, 'key.pem'),
      DATABASE_URL: databaseUrl,
      STORE_SECRET,
      SMTP_URL: `smtp://127.0.0.1:${smtpPort}?ignoreTLS=true`,
      MAIL_FROM: 'Example <no-reply@example.com>',
      TWILIO_API_URL: twilioUrl,
      PATH: process.env['PATH'] ?? '',
    }),
    judge: (answers: Evidence['answers'], rows: Evidence['rows']): Judgement =>
      judge({ answers, arrivals, rows, recipientHash }),
    async close() {
      await close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
