import type { ConnectionOptions } from 'node:tls'
import type { Clock } from '../../runtime/clock.ts'
import { notBegun, type Outcome, type Provider } from '../provider.ts'
import type { AccessTokens } from './access-tokens.ts'
import { createSmtpConnection, type SmtpConnection } from './connection.ts'
import { createConnectionPool } from './connection-pool.ts'
import { createDkimSigner, type DkimSettings } from './dkim.ts'
import { SMTP_LIMITS, type SmtpLimits } from './limits.ts'
import { readSmtpUrl } from './url.ts'

export interface SmtpSettings {
  readonly name: 'smtp' | 'smtp-fallback'
  /** See readSmtpUrl. */
  readonly url: string
  /** How many connections at most; one message at a time each. */
  readonly connections?: number
  /** The name in EHLO, which must resolve: some servers look up one that does not for seconds. */
  readonly ehloName: string
  /** Envelope sender: where bounces go. */
  readonly bounceTo: string
  readonly dkim?: DkimSettings
  /** The access tokens for a URL with a user and no password. They are closed with the provider. */
  readonly accessTokens?: AccessTokens | undefined
  /** Password or token may cross the network in the clear. */
  readonly loginWithoutTls?: boolean
  readonly limits?: Partial<SmtpLimits>
  /** The clock that a message's `expiresAt` is measured by; the machine's unless given. */
  readonly clock?: Clock
  /** Additional TLS options, such as `ca`. */
  readonly tls?: ConnectionOptions
}

/**
 * Sends mail through an SMTP server over kept connections, each message in an envelope of its own.
 *
 * @throws TypeError when the URL is not one of readSmtpUrl's, or the DKIM key is no RSA key.
 */
export function createSmtpProvider(settings: SmtpSettings): Provider {
  const { name, connections = 50, ehloName, bounceTo, dkim, tls, clock = { now: Date.now } } = settings
  const { accessTokens: tokens } = settings
  const address = readSmtpUrl(settings.url)
  if ('wrong' in address) throw new TypeError(`the SMTP URL ${address.wrong}`)
  const signMessage = dkim && createDkimSigner(dkim)
  const limits = { ...SMTP_LIMITS, ...settings.limits }
  const { user, pass } = address.auth ?? { user: '', pass: '' }
  const tokenLogin = tokens !== undefined && user !== '' && pass === '' ? { user, tokens } : undefined
  const open = (): SmtpConnection =>
    createSmtpConnection({
      address,
      limits,
      ehloName,
      bounceTo,
      clock,
      signMessage,
      tokenLogin,
      loginWithoutTls: settings.loginWithoutTls,
      tls,
    })
  const pool = createConnectionPool(open, connections)

  return {
    name,
    channel: 'email',
    concurrency: connections,
    async send(message, signal, onAwaitingReply): Promise<Outcome> {
      if (message.channel !== 'email') throw new TypeError(`${name} sends e-mail, not ${message.channel}`)
      const connection = await pool.take(signal)
      if (!connection)
        return signal.aborted
          ? notBegun('aborted', 'stopped by us')
          : notBegun('closed', 'the provider was closed')
      let isLent = true
      // Another message may have the connection by the time that the caller's patience is over.
      const stopCounting = (): void => {
        if (isLent) pool.stopCounting(connection)
      }
      try {
        const outcome = await connection.send(message, signal, () => onAwaitingReply?.(stopCounting))
        return outcome.overload === undefined
          ? outcome
          : { ...outcome, accepted: pool.countTaken(connection) }
      } finally {
        isLent = false
        pool.giveBack(connection)
      }
    },
    async verify() {
      const connection = open()
      try {
        return await connection.verify()
      } finally {
        await connection.close()
      }
    },
    async close() {
      await Promise.all([pool.close(), tokens?.close()])
    },
  }
}
