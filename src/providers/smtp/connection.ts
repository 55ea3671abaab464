import net from 'node:net'
import { Readable, Transform } from 'node:stream'
import type { ConnectionOptions } from 'node:tls'
import SMTPConnection, { type SMTPConnectionAuth } from 'nodemailer/lib/smtp-connection'
import type { OutgoingMail } from '../../messages/message.ts'
import type { Clock } from '../../runtime/clock.ts'
import { lookUpName } from '../../runtime/name-lookup.ts'
import { isLoopback } from '../../settings/urls.ts'
import type { Outcome } from '../provider.ts'
import { createRedactor } from '../redact.ts'
import type { SignMessage } from './dkim.ts'
import { LoginError, readOfferedLogins, requirePasswordLogin } from './login.ts'
import { addTokenLogin, requireToken, type TokenLogin, tokenAuth } from './oauth2.ts'
import { acceptedOutcome, type DialogueProgress, type SmtpError, smtpFailure } from './outcome.ts'
import type { SmtpAddress, SmtpLimits } from './settings.ts'

export interface SmtpConnectionOptions {
  readonly address: SmtpAddress
  readonly limits: SmtpLimits
  readonly clock: Clock
  /** The name in EHLO, which must resolve: some servers look up one that does not for seconds. Undefined: there is none. */
  readonly ehloName?: string | undefined
  /** Envelope sender, where bounces go; empty for the null reverse-path. */
  readonly bounceTo: string
  /** Signs a message before it is sent. */
  readonly signMessage?: SignMessage | undefined
  /** In the place of a password. */
  readonly tokenLogin?: TokenLogin | undefined
  /** Password or token may cross the network in the clear; see `SMTP_LOGIN_WITHOUT_TLS`. */
  readonly loginWithoutTls?: boolean | undefined
  /** Additional TLS options, such as `ca`. */
  readonly tls?: ConnectionOptions | undefined
}

/** An address beyond ASCII, which only a server with SMTPUTF8 may be given (RFC 6531, 3.1). */
const BEYOND_ASCII = /[^\x20-\x7e]/
const NO_SMTPUTF8: Outcome = {
  is: 'rejected',
  scope: 'recipient',
  code: 'no-smtputf8',
  reply: 'the mail server does not offer SMTPUTF8, which an address beyond ASCII needs',
  incapable: true,
}

/** One connection to the server: it is opened when it is needed, kept, and replaced when it is lost. It sends one message at a time. */
export interface SmtpConnection {
  /** Whether it is open, and the server has let it come as far as a message's first command. */
  readonly isOpen: boolean
  /** @param onAwaitingReply called once the end of the message is on its way. */
  send(mail: OutgoingMail, signal: AbortSignal, onAwaitingReply?: () => void): Promise<Outcome>
  close(): Promise<void>
}

export function createSmtpConnection(options: SmtpConnectionOptions): SmtpConnection {
  const { limits, clock, bounceTo, signMessage } = options
  let session: Session | undefined
  let attempt: Attempt | undefined
  /** Says goodbye to a session that is not used for a while. */
  let idle: NodeJS.Timeout | undefined

  /** Opens a session that is kept from then on, until it ends. */
  async function renewSession(current: Attempt): Promise<Session> {
    const opened = await openSession(options, current)
    session = opened
    opened.once('end', () => {
      if (session === opened) session = undefined
    })
    clearTimeout(idle)
    // Before nodemailer's own listener. The timer counts silence over TLS as well: a TLS socket's traffic refreshes the timer of the
    // socket below it.
    opened.tcp.prependListener('timeout', () => attempt?.stop('command-limit'))
    idle = setTimeout(() => {
      if (attempt !== undefined || session !== opened) return
      opened.quit()
      opened.close()
    }, limits.idleMs).unref()
    return opened
  }

  /** Sends a mail over a session. @returns the server's reply; null when it cannot be given such a recipient. */
  async function sendOver(
    over: Session,
    current: Attempt,
    { id, to, raw, expiresAt }: OutgoingMail,
    onDotted?: () => void,
  ): Promise<string | null> {
    await over.restarted
    if (BEYOND_ASCII.test(to) && !over.extensions.includes('SMTPUTF8')) return null
    /** Connecting and the dialogue may take longer than is left of the validity, so it is looked at twice. */
    const mayGoOn = (): boolean => {
      if (clock.now() >= expiresAt) current.stop('expired')
      return current.stopped === undefined && !current.dotted
    }
    if (!mayGoOn()) throw connectionClosed()
    current.begun = true
    over.tcp.setTimeout(limits.commandMs)
    current.setTimeLimit('dialogue-limit', 3 * limits.commandMs)
    const body = new WholeMail(raw, () => {
      if (!mayGoOn()) return false
      current.dotted = true
      over.tcp.setTimeout(0)
      current.setTimeLimit('reply-limit', limits.replyMs)
      onDotted?.()
      return true
    })
    // A server that has DSN (RFC 3461) reports a mail that comes back by our id and with its headers alone: a code stays here.
    const recipient = BEYOND_ASCII.test(to) ? {} : { recipient: to }
    const dsn = { id, return: 'HDRS', notify: 'FAILURE', ...recipient } as const
    const { response } = await over.deliver({ from: bounceTo, to: [to], dsn }, body)
    return response
  }

  async function deliver(
    current: Attempt,
    mail: OutgoingMail,
    onDotted?: () => void,
  ): Promise<string | null> {
    const signed = signMessage === undefined ? mail : { ...mail, raw: await signMessage(mail.raw) }
    const kept = session
    try {
      return await sendOver(kept ?? (await renewSession(current)), current, signed, onDotted)
    } catch (error) {
      // A connection that the server closed while it was idle is replaced once, silently; the body never leaves twice.
      if (kept === undefined || current.dotted || current.stopped !== undefined || !endsConnection(error))
        throw error
      return await sendOver(await renewSession(current), current, signed, onDotted)
    }
  }

  // Tokens are renewed meanwhile, and the server may repeat the latest.
  const redactorFor = (mail: OutgoingMail) => createRedactor(mail, secretsOf(options))

  return {
    get isOpen() {
      return session?.hasBegun === true
    },
    async send(mail, signal, onAwaitingReply) {
      if (attempt) throw new Error('a connection carries one message at a time')
      const current = new Attempt(limits, session?.tcp)
      attempt = current
      const onAbort = (): void => current.stop('aborted')
      signal.addEventListener('abort', onAbort, { once: true })
      if (session === undefined) current.setTimeLimit('set-up-limit', setUpMs(limits))
      else current.setTimeLimit('command-limit', limits.commandMs)
      try {
        const response = await current.unlessStopped(deliver(current, mail, onAwaitingReply))
        return response === null ? NO_SMTPUTF8 : acceptedOutcome(response, redactorFor(mail))
      } catch (error) {
        if (error instanceof LoginError && current.stopped === undefined) return error.toOutcome(current)
        return smtpFailure(asSmtpError(error), current, redactorFor(mail))
      } finally {
        current.finish()
        signal.removeEventListener('abort', onAbort)
        attempt = undefined
        if (current.stopped !== undefined) session?.close()
        if (!current.dotted) session?.tcp.setTimeout(0)
        idle?.refresh()
      }
    },
    async close() {
      const last = attempt?.socket ?? session?.tcp
      attempt?.stop('closed')
      session?.close()
      if (!last || last.destroyed) return
      await new Promise<void>(resolve => {
        last.once('close', () => resolve())
        last.destroy()
      })
    },
  }
}

/**
 * One message on its way over a connection, or a check of it, within its limits: a limit ends it, whatever the server is at.
 * The limits before and after the dot differ, while nodemailer has a single one on silence for all.
 */
export class Attempt implements DialogueProgress {
  begun = false
  dotted = false
  stopped: string | undefined
  /** The socket that it uses: it is destroyed when the attempt is stopped, and may be replaced before. */
  socket: net.Socket | undefined
  #isFinished = false
  #timer: NodeJS.Timeout | undefined
  #onStop: ((error: Error) => void) | undefined
  /** The dot must be on its way by then. */
  readonly #dotBy: number

  constructor(limits: SmtpLimits, socket?: net.Socket) {
    this.#dotBy = performance.now() + setUpMs(limits) + 3 * limits.commandMs
    this.socket = socket
  }

  /** Stops the attempt in so many ms, unless another limit takes this one's place. */
  setTimeLimit(reason: string, ms: number): void {
    clearTimeout(this.#timer)
    if (this.#isFinished) return
    // A lost connection that is replaced, and replies that trickle in, use up the same time.
    const left = this.dotted ? ms : Math.min(ms, this.#dotBy - performance.now())
    this.#timer = setTimeout(() => this.stop(reason), left)
  }

  /** Ends it now. Only the first reason counts. */
  stop(reason: string): void {
    if (this.#isFinished || this.stopped !== undefined) return
    this.stopped = reason
    this.socket?.destroy()
    this.#onStop?.(connectionClosed())
  }

  /** Waits for a result, but no longer than until the attempt is stopped. */
  unlessStopped<Result>(result: Promise<Result>): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    this.#onStop = reject
    result.then(resolve, reject)
    return promise
  }

  /** Notes that it has its outcome: no limit counts any more. */
  finish(): void {
    this.#isFinished = true
    clearTimeout(this.#timer)
  }
}

/** Adds up the time for connecting, the greeting, and EHLO, STARTTLS and login, ms. */
function setUpMs({ connectMs, greetingMs, commandMs }: SmtpLimits): number {
  return connectMs + greetingMs + commandMs
}

/**
 * Connects and logs in. Without a token, where one is needed, the server is not connected to.
 * @throws nodemailer's error of the first step that failed, or a LoginError.
 */
export async function openSession(options: SmtpConnectionOptions, attempt: Attempt): Promise<Session> {
  const { tokenLogin, limits } = options
  if (tokenLogin !== undefined) await requireToken(tokenLogin.tokens.getToken())
  if (attempt.stopped !== undefined) throw connectionClosed()
  attempt.setTimeLimit('set-up-limit', setUpMs(limits))
  const tcp = await connectSocket(options, attempt)
  attempt.setTimeLimit('set-up-limit', limits.greetingMs + limits.commandMs)
  const session = new Session(options, tcp)
  try {
    await session.setUp(tokenLogin === undefined ? options.address.auth : tokenAuth(tokenLogin))
    return session
  } catch (error) {
    session.close()
    throw error
  }
}

/** Opens the socket in nodemailer's place, so that we know which message it carries, and can end it at any moment. */
async function connectSocket(
  { address: { host, port }, limits: { connectMs } }: SmtpConnectionOptions,
  attempt: Attempt,
): Promise<net.Socket> {
  const socket = net.connect({ host, port, lookup: lookUpName })
  attempt.socket = socket
  const tooLong = (): void =>
    void socket.destroy(Object.assign(new Error('connecting took too long'), { code: 'ETIMEDOUT' }))
  const limit = setTimeout(tooLong, connectMs)
  try {
    return await new Promise((resolve, reject) => {
      // It stays for as long as the socket does: nodemailer listens for itself.
      socket.on('error', reject)
      socket.once('close', () => reject(connectionClosed()))
      socket.once('connect', () => resolve(socket))
    })
  } finally {
    clearTimeout(limit)
  }
}

/** Writes the address that we connect from in the place of a name (RFC 5321, 4.1.3): a server that wants a whole name takes no bare one. */
function addressLiteral(address = '127.0.0.1'): string {
  const bare = address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '')
  return net.isIPv6(bare) ? `[IPv6:${bare}]` : `[${bare}]`
}

/** Says whether TLS is required: a password must not cross the network in the clear because somebody on the way hid STARTTLS. */
function requiresTls({ address, loginWithoutTls = false }: SmtpConnectionOptions): boolean {
  if (address.startTls !== 'offered') return address.startTls === 'required'
  return address.auth !== undefined && !loginWithoutTls && !isLoopback(address.host)
}

/** What a server may say from one message to the next, or while it is set up, octets: a dialogue has some hundreds. */
const MOST_OCTETS = 16_384

/** What nodemailer calls with what the server says. It does not publish the name; floods.test.ts fails when it is another one. */
const readByNodemailer = (SMTPConnection.prototype as unknown as { _onData?(chunk: Buffer): void })._onData

type Envelope = Parameters<SMTPConnection['send']>[0]
type Sent = { readonly response: string }
type Done<Result> = (error?: Error | null, result?: Result) => void

/**
 * Made-up ways to log in. For a method that nodemailer does not know it runs what we give it, and so shows what the server
 * offers, and sends commands that it has no method for.
 */
const EXTENSIONS = 'EXTENSIONS'
const SENDER = 'SENDER'

/** The command in nodemailer's error about the sender: it names the method. */
export const SENDER_COMMAND = `AUTH ${SENDER}`

/** nodemailer's dialogue over a socket of ours. What ends the connection ends the step that is waited for. */
export class Session extends SMTPConnection {
  readonly tcp: net.Socket
  /** The server's, by its latest reply to EHLO. */
  extensions: readonly string[] = []
  /** Whether it got as far as a message's first command: the server has taken the connection. */
  hasBegun = false
  /** Awaited before the next message when the last one was refused. */
  restarted: Promise<unknown> | undefined
  #octetsLeft = MOST_OCTETS
  #fail: ((error: Error) => void) | undefined

  constructor(options: SmtpConnectionOptions, tcp: net.Socket) {
    const { address, limits, tls, tokenLogin } = options
    super({
      host: address.host,
      port: address.port,
      secure: address.secure,
      requireTLS: !address.secure && requiresTls(options),
      ignoreTLS: address.startTls === 'off',
      name: options.ehloName ?? addressLiteral(tcp.localAddress),
      connection: tcp,
      connectionTimeout: setUpMs(limits),
      greetingTimeout: limits.greetingMs,
      // The attempt's own limits always fire before this one.
      socketTimeout: setUpMs(limits) + limits.replyMs * 2,
      tls,
    })
    this.tcp = tcp
    if (tokenLogin !== undefined) addTokenLogin(this, tokenLogin)
    this.customAuth.set(EXTENSIONS, async ({ extensions }) => {
      this.extensions = extensions
    })
    // An error without a step that waits, such as a connection lost while idle, is ignored: the next message opens another one.
    this.on('error', error => this.#fail?.(error))
    this.once('end', () => this.#fail?.(connectionClosed()))
  }

  /**
   * Waits for the greeting, EHLO and STARTTLS, and logs in where the server asks for it.
   * @throws LoginError when it offers no way that we have.
   */
  async setUp(auth: SMTPConnectionAuth | undefined): Promise<void> {
    await this.#step(done => this.connect(done))
    const logins = readOfferedLogins(this.lastServerResponse || '')
    await this.#step(done => this.login({ method: EXTENSIONS }, done))
    if (auth === undefined || !this.allowsAuth) return
    if (auth.method === undefined) requirePasswordLogin(logins)
    await this.#step(done => this.login({ ...auth }, done))
  }

  /** Names the sender as for a message, which is then called off: nothing is sent. */
  async trySender(sender: string): Promise<void> {
    this.customAuth.set(SENDER, async ({ sendCommand }) => {
      const { status } = await sendCommand(`MAIL FROM:<${sender}>`)
      if (status !== 250) throw new Error('the sender is refused')
      await sendCommand('RSET')
    })
    await this.#step(done => this.login({ method: SENDER }, done))
  }

  /** Sends a message. When it is refused the session starts over, and goes on with the next one; any other fault has closed it. */
  async deliver(envelope: Envelope, body: Readable): Promise<Sent> {
    this.hasBegun = true
    this.#octetsLeft = MOST_OCTETS
    try {
      return await this.#step<Sent>(done => this.send(envelope, body, done))
    } catch (error) {
      const { code } = error as SmtpError
      // After a 421 nodemailer has closed it, as after all that is no refusal.
      if ((code === 'EENVELOPE' || code === 'EMESSAGE') && !this.destroyed)
        this.restarted = this.#step(done => this.reset(done)).catch(() => this.close())
      throw error
    }
  }

  /** Runs one of nodemailer's methods, which does not call back when the connection ends first. */
  #step<Result>(run: (done: Done<Result>) => void): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    this.#fail = reject
    run((error, result) => (error ? reject(error) : resolve(result as Result)))
    return promise
  }

  /**
   * Hangs up on a server that says more than a dialogue needs. nodemailer bounds the length of a reply, but not how many wait to be
   * read, and it reads one in each turn of the event loop, empty lines included: 18 MB of these, from a mail server or from anybody on
   * the way to it before TLS, held everything up for ten seconds and took 200 MB.
   */
  _onData(chunk: Buffer): void {
    if (this.destroyed) return
    this.#octetsLeft -= chunk.length
    if (this.#octetsLeft >= 0) return readByNodemailer?.call(this, chunk)
    this.emit('error', Object.assign(new Error('the server says too much'), { code: 'EPROTOCOL' }))
    this.close()
  }
}

/** A mail as nodemailer takes it: a stream, which it pipes into one of its own once the server has said 354. */
class WholeMail extends Readable {
  readonly #mail: Buffer
  readonly #mayBeSent: () => boolean

  /** @param mayBeSent is asked just before the mail leaves, and knows by being asked that it does. */
  constructor(mail: Buffer, mayBeSent: () => boolean) {
    super()
    this.#mail = mail
    this.#mayBeSent = mayBeSent
  }

  /**
   * A mail that is there as a whole leaves in one write, its dot included. nodemailer's stream would make the same of it in a loop over
   * each of its octets, which took a tenth of all that a mail costs; so it is put on that stream's far end.
   */
  override pipe<Into extends NodeJS.WritableStream>(into: Into): Into {
    if (!(into instanceof Transform)) throw new TypeError('nodemailer pipes a mail into something else')
    if (!this.#mayBeSent()) return into
    into.push(toWireForm(this.#mail), 'latin1')
    into.push(null)
    return into
  }
}

/** A bare CR or LF, which some servers take for a line end and others do not. */
const BARE_LINE_END = /\r(?!\n)|(?<!\r)\n/

/** Puts a mail and its end into the form of the wire: lines end in CRLF, and a dot that begins a line is doubled (RFC 5321, 4.5.2). */
function toWireForm(mail: Buffer): string {
  const given = mail.toString('latin1')
  const lines = BARE_LINE_END.test(given) ? given.replace(/\r\n?|\n/g, '\r\n') : given
  const text = `${lines.startsWith('.') ? '.' : ''}${lines.replaceAll('\n.', '\n..')}`
  return text.endsWith('\r\n') ? `${text}.\r\n` : `${text}\r\n.\r\n`
}

/** The texts that no reply may repeat. */
export function secretsOf({ tokenLogin, address }: SmtpConnectionOptions): readonly string[] {
  return tokenLogin?.tokens.secrets() ?? (address.auth ? [address.auth.pass] : [])
}

function connectionClosed(): Error {
  return Object.assign(new Error('Connection closed'), { code: 'connection-lost' })
}

/** Says whether an error ended the connection, instead of refusing what was sent over it. */
function endsConnection(error: unknown): boolean {
  const { code, responseCode } = asSmtpError(error)
  return responseCode === 421 || /^(?:ECONNECTION|ESOCKET|ETIMEDOUT|connection-lost)$/.test(code ?? '')
}

/** Passes on a failure of the network or the server; anything else is a bug, and is thrown. */
export function asSmtpError(error: unknown): SmtpError {
  if (error instanceof Error && 'code' in error) return error as SmtpError
  throw new Error('sending by SMTP failed in an unexpected way', { cause: error })
}
