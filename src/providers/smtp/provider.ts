import type { Clock } from '../../runtime/clock.ts'
import { notBegun, type Outcome, type Provider } from '../provider.ts'
import { createSmtpConnection, type SmtpConnection, type SmtpConnectionOptions } from './connection.ts'
import { createDkimSigner, type DkimSettings } from './dkim.ts'
import type { AccessTokens } from './oauth2.ts'
import { readSmtpUrl, SMTP_LIMITS, type SmtpLimits } from './settings.ts'
import { probeServer, verifyAccount } from './verify.ts'

export interface SmtpSettings
  extends Omit<SmtpConnectionOptions, 'address' | 'limits' | 'clock' | 'signMessage' | 'tokenLogin'> {
  readonly name: 'smtp' | 'smtp-fallback'
  /** See readSmtpUrl. */
  readonly url: string
  /** How many connections at most; one message at a time each. */
  readonly connections?: number
  readonly dkim?: DkimSettings | undefined
  /** The access tokens for a URL with a user and no password. They are closed with the provider. */
  readonly accessTokens?: AccessTokens | undefined
  readonly limits?: Partial<SmtpLimits>
  /** The clock that a message's `expiresAt` is measured by; the machine's unless given. */
  readonly clock?: Clock
}

const ABORTED = notBegun('aborted', 'stopped by us')

/**
 * Sends mail through an SMTP server over kept connections, each message in an envelope of its own.
 *
 * @throws TypeError when the URL is not one of readSmtpUrl's, or the DKIM key is no RSA key.
 */
export function createSmtpProvider(settings: SmtpSettings): Provider {
  const { name, bounceTo, connections = 50, dkim, accessTokens: tokens } = settings
  const address = readSmtpUrl(settings.url)
  if ('wrong' in address) throw new TypeError(`the SMTP URL ${String(address.wrong)}`)
  const { user, pass } = address.auth ?? { user: '', pass: '' }
  const options: SmtpConnectionOptions = {
    clock: { now: Date.now },
    ...settings,
    address,
    limits: { ...SMTP_LIMITS, ...settings.limits },
    signMessage: dkim && createDkimSigner(dkim),
    tokenLogin: tokens !== undefined && user !== '' && pass === '' ? { user, tokens } : undefined,
  }
  const pool = createConnectionPool(() => createSmtpConnection(options), connections)

  return {
    name,
    channel: 'email',
    concurrency: connections,
    scopesOf: () => ({ sender: bounceTo || undefined }),
    async send(message, signal, onHandedOver): Promise<Outcome> {
      if (message.channel !== 'email') throw new TypeError(`${name} sends e-mail, not ${message.channel}`)
      if (signal.aborted) return ABORTED
      const connection = pool.take()
      if (connection === undefined) return notBegun('closed', 'the provider was closed')
      try {
        const outcome = await connection.send(message, signal, onHandedOver)
        if (outcome.is !== 'retry' || outcome.overload === undefined) return outcome
        return { ...outcome, accepted: pool.countTaken(connection) }
      } finally {
        pool.giveBack(connection)
      }
    },
    probe: () => probeServer(options),
    verify: () => verifyAccount(options),
    async close() {
      await Promise.all([pool.close(), tokens?.close()])
    },
  }
}

/**
 * Lends connections, one message at a time each: as many as are asked for, since the caller counts them.
 * @param open makes a connection, which connects with its first message.
 * @param mostKept how many are kept for the next messages at most.
 */
export function createConnectionPool(open: () => SmtpConnection, mostKept: number) {
  const opened = new Set<SmtpConnection>()
  // The idle connection that came back last is the first one out, so that at a low rate a few stay warm and the rest close.
  const free: SmtpConnection[] = []
  let closing: Promise<unknown> | undefined

  return {
    /** @returns undefined when the pool is closed. */
    take(): SmtpConnection | undefined {
      if (closing !== undefined) return undefined
      // A connection that was refused or lost would have to be opened again, so an open one is lent first. Without one the index is
      // -1, which takes the last.
      const [connection = open()] = free.splice(
        free.findLastIndex(each => each.isOpen),
        1,
      )
      opened.add(connection)
      return connection
    },
    giveBack(connection: SmtpConnection): void {
      // When some lasted for long, more connections are open than are ever needed at a time.
      if (opened.size <= mostKept) free.push(connection)
      else {
        opened.delete(connection)
        void connection.close()
      }
    },
    /**
     * Counts the other connections that are open, when the server has just refused this one.
     * @returns undefined while others are being opened: the server may take them or not.
     */
    countTaken(refused: SmtpConnection): number | undefined {
      const others = [...opened].filter(each => each !== refused)
      const isBeingOpened = others.some(each => !each.isOpen && !free.includes(each))
      return isBeingOpened ? undefined : others.filter(each => each.isOpen).length
    },
    /** Lends no more, and stops the messages that are under way. A second call waits for the first. */
    async close(): Promise<void> {
      closing ??= Promise.all([...opened].map(each => each.close()))
      await closing
    },
  }
}
