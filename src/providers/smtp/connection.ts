import net from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { createTransport } from 'nodemailer'
import type { SMTPConnectionOptions } from 'nodemailer/lib/smtp-connection'
import type { SMTPPoolOptions } from 'nodemailer/lib/smtp-pool'
import type { OutgoingMail } from '../../messages/message.ts'
import type { Clock } from '../../runtime/clock.ts'
import { isLoopback } from '../../settings/loopback.ts'
import type { Outcome, Verification } from '../provider.ts'
import { presentableReply } from '../reply.ts'
import { type Attempt, createAttempt } from './attempt.ts'
import { diagnoseLogin } from './diagnosis.ts'
import type { SignMessage } from './dkim.ts'
import type { SmtpLimits } from './limits.ts'
import { tryLogin } from './log-in.ts'
import { patchConnections, WHOLE_MAILS } from './nodemailer-connection.ts'
import { joinReplyLines, type SmtpError, smtpFailure } from './outcome.ts'
import type { TokenFailure } from './token-answer.ts'
import type { SmtpAddress } from './url.ts'
import {
  requireToken,
  type SmtpAuth,
  type TokenLogin,
  TokenLoginError,
  tokenAuth,
  tokenAuthHandlers,
} from './xoauth2.ts'

export interface SmtpConnectionOptions {
  readonly address: SmtpAddress
  readonly limits: SmtpLimits
  readonly clock: Clock
  readonly ehloName: string
  /** Envelope sender; empty for the null reverse-path. */
  readonly bounceTo: string
  /** Signs a message before it is sent. */
  readonly signMessage?: SignMessage
  /** In the place of a password. */
  readonly tokenLogin?: TokenLogin | undefined
  /** Password or token may cross the network in the clear; see `SMTP_LOGIN_WITHOUT_TLS`. */
  readonly loginWithoutTls?: boolean
  readonly tls?: ConnectionOptions
}

/** An address beyond ASCII, which only a server with SMTPUTF8 may be given (RFC 6531, 3.1). */
const BEYOND_ASCII = /[^\x20-\x7e]/
const NO_SMTPUTF8: Outcome = {
  is: 'rejected',
  why: 'recipient',
  code: 'no-smtputf8',
  reply: 'the mail server does not offer SMTPUTF8, which an address beyond ASCII needs',
  incapable: true,
}

type Transport = ReturnType<typeof createPool>

/** The state that the parts of a connection share. */
interface Connection extends SmtpConnectionOptions {
  /** Of the message that is being sent. */
  attempt: Attempt | undefined
  socket: net.Socket | undefined
  /** The socket that carried the latest message that began: the server has taken that connection. */
  takenSocket: net.Socket | undefined
}

export type SmtpConnection = ReturnType<typeof createSmtpConnection>

/**
 * One connection to the server: it is opened when it is needed, kept, and replaced when it is lost. It sends one message at a time.
 *
 * Makes a nodemailer pool of one connection. The limits before and after the dot differ, while nodemailer has a single limit on
 * silence for all, so we must know which socket carries which message; with one connection in each pool we do.
 */
export function createSmtpConnection(options: SmtpConnectionOptions) {
  const { address, signMessage } = options
  patchConnections()
  const connection: Connection = { ...options, attempt: undefined, socket: undefined, takenSocket: undefined }
  const transport = createPool(connection)
  const { tokenLogin } = options
  const passwords = address.auth ? [address.auth.pass] : []
  const secrets = (): readonly string[] => tokenLogin?.tokens.secrets() ?? passwords

  return {
    /** Whether it is open, and the server has let it come as far as a message's first command. */
    get isOpen() {
      const { socket, takenSocket, attempt } = connection
      return socket?.readyState === 'open' && (socket === takenSocket || attempt?.begun === true)
    },
    /** @param onAwaitingReply called once the end of the message is on its way. */
    async send(mail: OutgoingMail, signal: AbortSignal, onAwaitingReply?: () => void): Promise<Outcome> {
      if (connection.attempt) throw new Error('a connection carries one message at a time')
      const { attempt, done } = beginAttempt(connection, mail, signal, onAwaitingReply)
      try {
        const raw = signMessage === undefined ? mail.raw : await signMessage(mail.raw)
        const response = await sendByPool(transport, connection, { ...mail, raw }, attempt)
        return response === null ? NO_SMTPUTF8 : acceptedOutcome(response, mail.to, secrets())
      } catch (error) {
        if (error instanceof TokenLoginError && attempt.stopped === undefined)
          return loginFailure(error.failure, attempt)
        return smtpFailure(asSmtpError(error), attempt, mail.to, secrets())
      } finally {
        done()
      }
    },
    /** Connects and logs in over a connection of its own. */
    verify: (): Promise<Verification> => verifyConnection(connection, secrets),
    async close(): Promise<void> {
      connection.attempt?.stop('closed')
      transport.close({ force: true })
      const last = connection.socket
      if (!last || last.destroyed) return
      await new Promise<void>(resolve => {
        last.once('close', () => resolve())
        last.destroy()
      })
    },
  }
}

/** Connects and logs in over a socket of its own. @param secrets no reply may repeat them */
async function verifyConnection(
  connection: Connection,
  secrets: () => readonly string[],
): Promise<Verification> {
  const { address, limits, bounceTo } = connection
  const overall = setTimeout(() => connection.socket?.destroy(), setUpMs(limits))
  try {
    const socket = await new Promise<net.Socket>((resolve, reject) => {
      openSocket(connection, (error, opened) =>
        opened ? resolve(opened.connection) : reject(error ?? new Error('Connection closed')),
      )
    })
    await tryLogin({ ...dialogueOptions(connection), connection: socket }, authOf(connection), bounceTo)
    const detail = `takes ${bounceTo || 'the empty sender'} as sender`
    return { ok: true, detail: `${await describeLogin(connection)}; ${detail}` }
  } catch (thrown) {
    if (thrown instanceof TokenLoginError) {
      const { what, next, reply } = thrown.failure
      return { ok: false, detail: `${what} (${reply})`, next }
    }
    const error = asSmtpError(thrown)
    const { reply } = smtpFailure(error, { begun: false, dotted: false }, '', secrets())
    const { what, next } = await diagnoseLogin(error, address, limits.greetingMs)
    return { ok: false, detail: `${what} (${reply})`, next }
  } finally {
    clearTimeout(overall)
  }
}

/** The login for nodemailer; undefined: none. */
function authOf({ address, tokenLogin }: SmtpConnectionOptions): SmtpAuth | undefined {
  if (tokenLogin !== undefined) return tokenAuth(tokenLogin)
  return address.auth
}

/** Says how the connection that was just tried logs in. */
async function describeLogin({ address, tokenLogin, clock }: SmtpConnectionOptions): Promise<string> {
  if (tokenLogin === undefined)
    return address.auth ? 'connected and logged in' : 'connected; no login is configured'
  const token = await tokenLogin.tokens.getToken()
  const minutes = 'whose' in token ? 0 : Math.round((token.expiresAt - clock.now()) / 60_000)
  const rotates = tokenLogin.tokens.hasRotated()
    ? ' (with it came a new refresh token, which is forgotten with the next start: docs/operations.md)'
    : ''
  return `connected and logged in with an access token for ${minutes} min${rotates}`
}

/** Adds up the time for connecting, the greeting, and EHLO, STARTTLS and login, ms. */
function setUpMs({ connectMs, greetingMs, commandMs }: SmtpLimits): number {
  return connectMs + greetingMs + commandMs
}

/** @returns the attempt, and what to call once it has its outcome. */
function beginAttempt(
  connection: Connection,
  { expiresAt }: OutgoingMail,
  signal: AbortSignal,
  onDotted?: () => void,
): { attempt: Attempt; done: () => void } {
  const { clock, limits } = connection
  const attempt = createAttempt({
    clock,
    limits,
    expiresAt,
    dotWithinMs: setUpMs(limits) + 3 * limits.commandMs,
    onDotted,
    socket: () => connection.socket,
  })
  connection.attempt = attempt
  const onAbort = (): void => attempt.stop('aborted')
  signal.addEventListener('abort', onAbort, { once: true })
  if (connection.socket) attempt.setTimeLimit('command-limit', limits.commandMs)
  else attempt.setTimeLimit('set-up-limit', setUpMs(limits))
  const done = (): void => {
    attempt.finish()
    if (attempt.begun) connection.takenSocket = connection.socket
    signal.removeEventListener('abort', onAbort)
    connection.attempt = undefined
  }
  return { attempt, done }
}

/** Makes the options of a dialogue with the server, for the pool and for `verify`. */
function dialogueOptions(connection: Connection): SMTPConnectionOptions {
  const { address, limits, tls } = connection
  return {
    host: address.host,
    port: address.port,
    secure: address.secure,
    requireTLS: !address.secure && requiresTls(connection),
    ignoreTLS: address.startTls === 'off',
    name: connection.ehloName,
    connectionTimeout: setUpMs(limits),
    greetingTimeout: limits.greetingMs,
    // The attempt's own limits always fire before this one.
    socketTimeout: setUpMs(limits) + limits.replyMs * 2,
    ...(tls && { tls }),
    ...(connection.tokenLogin && { customAuth: tokenAuthHandlers(connection.tokenLogin) }),
  }
}

function createPool(connection: Connection) {
  const { limits } = connection
  const auth = authOf(connection)
  const options: SMTPPoolOptions & { pool: true } = {
    ...dialogueOptions(connection),
    ...WHOLE_MAILS,
    pool: true,
    maxConnections: 1,
    maxMessages: Infinity,
    // A connection that the server closed while idle is replaced once, silently; the body is never read twice.
    maxRequeues: 1,
    disableFileAccess: true,
    disableUrlAccess: true,
    idleTimeout: limits.idleMs,
    getSocket: (_options, done) => openSocket(connection, done),
    ...(auth && { auth: { ...auth } }),
  }
  const transport = createTransport(options)
  // An error without a message in flight, such as a connection lost while idle, is ignored: the next message opens another one.
  transport.on('error', () => {})
  return transport
}

/** Says whether TLS is required: a password must not cross the network in the clear because somebody on the way hid STARTTLS. */
function requiresTls({ address, loginWithoutTls = false }: Connection): boolean {
  if (address.startTls !== 'offered') return address.startTls === 'required'
  return address.auth !== undefined && !loginWithoutTls && !isLoopback(address.host)
}

/** Members of nodemailer's pool that it does not publish. */
interface UnpublishedPool {
  readonly _connections: readonly {
    readonly connection: { readonly _supportedExtensions: readonly string[] }
  }[]
}

/** Says whether the server offers SMTPUTF8, by its latest reply to EHLO over the pool's only connection. */
function offersSmtpUtf8({ transporter }: Transport): boolean {
  const { _connections: pooled } = transporter as unknown as UnpublishedPool
  return pooled.some(({ connection }) => connection._supportedExtensions.includes('SMTPUTF8'))
}

type SocketOpened = (error: Error | null, result?: { connection: net.Socket } | false) => void

/** Opens the socket in nodemailer's place, so that we know which message it carries; without a token the server is not connected to. */
function openSocket(connection: Connection, done: SocketOpened): void {
  const { attempt, tokenLogin } = connection
  if (tokenLogin === undefined) return connectSocket(connection, done)
  requireToken(tokenLogin.tokens.getToken()).then(() => {
    // nodemailer has let go of one that was stopped.
    if (attempt?.stopped === undefined) connectSocket(connection, done)
  }, done)
}

function connectSocket(connection: Connection, done: SocketOpened): void {
  const { address, limits } = connection
  const opened = net.connect({ host: address.host, port: address.port })
  connection.socket = opened
  connection.attempt?.setTimeLimit('set-up-limit', setUpMs(limits))
  const limit = setTimeout(
    () => opened.destroy(Object.assign(new Error('connecting took too long'), { code: 'ETIMEDOUT' })),
    limits.connectMs,
  )
  const failed = (error: Error): void => {
    clearTimeout(limit)
    done(error)
  }
  opened.once('error', failed)
  opened.once('connect', () => {
    clearTimeout(limit)
    opened.off('error', failed)
    opened.on('error', () => {})
    connection.attempt?.setTimeLimit('set-up-limit', limits.greetingMs + limits.commandMs)
    done(null, { connection: opened })
  })
  opened.on('timeout', () => connection.attempt?.stop('command-limit'))
  opened.once('close', () => {
    clearTimeout(limit)
    if (connection.socket === opened) connection.socket = undefined
  })
}

/**
 * Hands a mail straight to nodemailer's pool. nodemailer's mailer would do the same in the end, but first it would build a MIME
 * tree and an id for the finished message, which nobody needs and which costs a third of sending it.
 * @returns the server's reply; null when the recipient is beyond ASCII, and the server does not take such.
 */
async function sendByPool(
  transport: Transport,
  connection: Connection,
  { to, raw }: OutgoingMail,
  attempt: Attempt,
): Promise<string | null> {
  let refused = false
  const finished = {
    data: { signal: attempt.signal },
    message: {
      // nodemailer calls this once the connection is ready, just before MAIL FROM; the body's own call checks the validity.
      getEnvelope() {
        refused = BEYOND_ASCII.test(to) && !offersSmtpUtf8(transport)
        // Without a recipient nothing is sent, and the connection stays.
        return { from: connection.bounceTo, to: refused ? [] : [to] }
      },
      messageId: () => '',
      getHeader: () => '',
      createReadStream: () => attempt.begin(raw),
    },
  }
  return new Promise((resolve, reject) => {
    transport.transporter.send(
      finished as unknown as Parameters<typeof transport.transporter.send>[0],
      (error, info) => {
        if (refused) resolve(null)
        else if (error) reject(error)
        else resolve(info?.response ?? '')
      },
    )
  })
}

function acceptedOutcome(response: string, recipient: string, secrets: readonly string[]): Outcome {
  const queueId = /\bqueued as ([\w.-]{4,64})/i.exec(response)?.[1]
  const reply = presentableReply(joinReplyLines(response), recipient, secrets)
  return queueId ? { is: 'sent', reply, providerId: queueId } : { is: 'sent', reply }
}

/** Makes the outcome when there was no token, or the server has no use for one: the message waits. */
function loginFailure({ whose, code, reply, retryAfterMs }: TokenFailure, { begun }: Attempt): Outcome {
  return { is: 'retry', whose, code, reply, retryAfterMs, ...(!begun && { untouched: true }) }
}

/** Passes on a failure of the network or the server; anything else is a bug, and is thrown. */
function asSmtpError(error: unknown): SmtpError {
  if (error instanceof Error && ('code' in error || /^Connection (?:pool was )?closed/.test(error.message)))
    return error
  throw new Error('sending by SMTP failed in an unexpected way', { cause: error })
}
