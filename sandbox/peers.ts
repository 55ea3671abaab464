import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import tls from 'node:tls'
import type { Clock } from '../src/runtime/clock.ts'
import { createCertificate } from './certificate.ts'
import { createInbox, type Inbox } from './inbox.ts'
import { createTwilioStandIn, type TwilioFault } from './twilio.ts'
import type { TwilioMessage } from './twilio-answers.ts'

/** Everybody the service depends on, on this machine, and the settings that point it at them. */
export interface Peers {
  /** PEM of the certificate that the service and the mail server use, and its file. */
  readonly cert: string
  readonly certFile: string
  readonly inbox: Inbox
  readonly smtp: string
  readonly twilio: string
  /** SMS that Twilio's stand-in took since the last `clear`, oldest first. */
  sms(): readonly TwilioMessage[]
  setSmsFault(fault: TwilioFault | null): void
  clear(): void
  readonly settings: Readonly<Record<string, string>>
}

export const ENVELOPE_SENDER = 'bounces@courier.example'
export const SMTP_USER = 'courier'

/** Of what was started, how to end it; the last one first. */
export type Ends = (() => unknown)[]

/**
 * Starts the mail server and Twilio's stand-in.
 * @param directory where the certificate and its key are written.
 * @param ends gets what must be called at the end, also when a later step throws.
 * @param changed called when something arrived.
 */
export async function startPeers(
  clock: Clock,
  directory: string,
  ends: Ends,
  changed: () => void,
): Promise<Peers> {
  const { cert, key } = await createCertificate(clock.now())
  const certFile = join(directory, 'certificate.pem')
  const keyFile = join(directory, 'key.pem')
  await writeFile(certFile, cert)
  await writeFile(keyFile, key, { mode: 0o600 })
  ends.push(trust(cert))

  const account = { user: SMTP_USER, password: secret() }
  const inbox = await createInbox({ certificate: { cert, key }, clock, account, onMail: changed })
  ends.push(() => inbox.close())

  let sms: TwilioMessage[] = []
  let fault: TwilioFault | null = null
  const accountSid = `AC${randomBytes(16).toString('hex')}`
  const authToken = randomBytes(16).toString('hex')
  const twilio = createTwilioStandIn({
    accountSid,
    authToken,
    now: () => clock.now(),
    fault: () => fault ?? undefined,
    onMessage: message => {
      sms = [...sms, message].slice(-200)
      changed()
    },
  })
  const { port } = await twilio.listen()
  ends.push(() => twilio.close())

  return {
    cert,
    certFile,
    inbox,
    smtp: `smtp://127.0.0.1:${inbox.port}`,
    twilio: `http://127.0.0.1:${port}`,
    sms: () => sms,
    setSmsFault: next => {
      fault = next
    },
    clear() {
      inbox.clear()
      sms = []
    },
    settings: {
      TLS_CERT_FILE: certFile,
      TLS_KEY_FILE: keyFile,
      SMTP_URL: `smtp://${account.user}:${account.password}@127.0.0.1:${inbox.port}`,
      MAIL_FROM: 'Example IoT <no-reply@courier.example>',
      MAIL_BOUNCE_TO: ENVELOPE_SENDER,
      TWILIO_ACCOUNT_SID: accountSid,
      TWILIO_AUTH_TOKEN: authToken,
      TWILIO_FROM: '+15005550006',
      TWILIO_API_URL: `http://127.0.0.1:${port}`,
    },
  }
}

/** 32 random characters; the last one is no digit, because a Token is followed by a timestamp when it is signed. */
export function secret(): string {
  return `${randomBytes(24).toString('base64url').slice(0, 31)}T`
}

/**
 * Makes this process trust the certificate beside the usual authorities, so that the service's STARTTLS verifies the
 * mail server as it would any other, instead of being told to look away. Gives back how to undo it.
 */
function trust(cert: string): () => void {
  const before = tls.getCACertificates('default')
  tls.setDefaultCACertificates([...before, cert])
  return () => tls.setDefaultCACertificates(before)
}
