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
  const { name, connections = 50, dkim, accessTokens: tokens, clock = { now: Date.now } } = settings
  const { ehloName, bounceTo, loginWithoutTls, tls } = settings
  const address = readSmtpUrl(settings.url)
  if ('wrong' in address) throw new TypeError(`the SMTP URL ${address.wrong}`)
  const { user, pass } = address.auth ?? { user: '', pass: '' }
  const options: SmtpConnectionOptions = {
    address,
    limits: { ...SMTP_LIMITS, ...settings.limits },
    clock,
    ehloName,
    bounceTo,
    loginWithoutTls,
    tls,
    signMessage: dkim && createDkimSigner(dkim),
    tokenLogin: tokens !== undefined && user !== '' && pass === '' ? { user, tokens } : undefined,
  }
  const pool = createConnectionPool(() => createSmtpConnection(options), connections)

  return {
    name,
    channel: 'email',
    concurrency: connections,
    scopesOf: () => ({ sender: bounceTo || undefined }),
    async send(message, signal, onAwaitingReply): Promise<Outcome> {
      if (message.channel !== 'email') throw new TypeError(`${name} sends e-mail, not ${message.channel}`)
      const connection = await pool.take(signal)
      if (!connection) return signal.aborted ? ABORTED : notBegun('closed', 'the provider was closed')
      let isLent = true
      // Another message may have the connection by the time that the caller's patience is over.
      const stopCounting = (): void => {
        if (isLent) pool.stopCounting(connection)
      }
      try {
        // Between its turn and now nobody listened to the signal.
        if (signal.aborted) return ABORTED
        const outcome = await connection.send(message, signal, () => onAwaitingReply?.(stopCounting))
        if (outcome.is !== 'retry' || outcome.overload === undefined) return outcome
        return { ...outcome, accepted: pool.countTaken(connection) }
      } finally {
        isLent = false
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

type Turn = (connection: SmtpConnection | undefined) => void

/**
 * Lends connections, one message at a time each.
 * @param open makes a connection, which connects with its first message.
 * @param max how many are lent at a time, not counting those that `stopCounting` was called for.
 */
export function createConnectionPool(open: () => SmtpConnection, max: number) {
  const opened = new Set<SmtpConnection>()
  const uncounted = new Set<SmtpConnection>()
  let lent = 0
  // The idle connection that came back last is the first one out, so that at a low rate a few stay warm and the rest close.
  const free: SmtpConnection[] = []
  const waiting: Turn[] = []
  let closing: Promise<unknown> | undefined

  function lend(): SmtpConnection {
    lent += 1
    // A connection that was refused or lost would have to be opened again, so an open one is lent first. Without one the index is
    // -1, which takes the last.
    const [connection = open()] = free.splice(
      free.findLastIndex(each => each.isOpen),
      1,
    )
    opened.add(connection)
    return connection
  }

  function lendToNext(): void {
    if (lent < max) waiting.shift()?.(lend())
  }

  return {
    /** Waits until one is free. @returns undefined when `signal` aborts or the pool is closed first. */
    async take(signal: AbortSignal): Promise<SmtpConnection | undefined> {
      if (closing !== undefined || signal.aborted) return undefined
      if (lent < max) return lend()
      return waitForTurn(waiting, signal)
    },
    /** Lets another connection be lent in the place of this one, which stays with its message until it is given back. */
    stopCounting(connection: SmtpConnection): void {
      uncounted.add(connection)
      lent -= 1
      if (waiting.length > 0) lendToNext()
    },
    giveBack(connection: SmtpConnection): void {
      if (!uncounted.delete(connection)) lent -= 1
      // When some were not counted for a while, more connections are open than are ever lent at a time.
      if (lent + free.length < max) free.push(connection)
      else {
        opened.delete(connection)
        void connection.close()
      }
      if (waiting.length > 0) lendToNext()
    },
    /**
     * Counts the other connections that are open and count, when the server has just refused this one.
     * @returns undefined while others are being opened: the server may take them or not.
     */
    countTaken(refused: SmtpConnection): number | undefined {
      const others = [...opened].filter(each => each !== refused && !uncounted.has(each))
      const isBeingOpened = others.some(each => !each.isOpen && !free.includes(each))
      return isBeingOpened ? undefined : others.filter(each => each.isOpen).length
    },
    /** Refuses the attempts that wait for a connection, and stops those under way. A second call waits for the first. */
    async close(): Promise<void> {
      for (const answer of waiting.splice(0)) answer(undefined)
      closing ??= Promise.all([...opened].map(each => each.close()))
      await closing
    },
  }
}

/** Waits in the queue for a connection. @returns undefined when `signal` aborts first, or the pool is closed. */
function waitForTurn(waiting: Turn[], signal: AbortSignal): Promise<SmtpConnection | undefined> {
  return new Promise(resolve => {
    const leave = (): void => {
      waiting.splice(waiting.indexOf(answer), 1)
      resolve(undefined)
    }
    const answer: Turn = connection => {
      signal.removeEventListener('abort', leave)
      resolve(connection)
    }
    waiting.push(answer)
    signal.addEventListener('abort', leave, { once: true })
  })
}
