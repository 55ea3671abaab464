import net from 'node:net'
import { Readable } from 'node:stream'
import type { ConnectionOptions } from 'node:tls'
import { createTransport } from 'nodemailer'
import type { SMTPPoolOptions } from 'nodemailer/lib/smtp-pool'
import type { OutgoingMail } from '../../messages/message.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Outcome } from '../provider.ts'
import { presentableReply } from '../reply.ts'
import type { SmtpLimits } from './limits.ts'
import { oneLine, type SmtpError, smtpFailure } from './outcome.ts'
import type { SmtpAddress } from './url.ts'

export interface SmtpConnectionOptions {
  readonly address: SmtpAddress
  readonly limits: SmtpLimits
  readonly clock: Clock
  readonly ehloName: string
  /** Envelope sender; empty for the null reverse-path. */
  readonly bounceTo: string
  readonly dkim?: { readonly domain: string; readonly selector: string; readonly privateKey: string }
  readonly tls?: ConnectionOptions
}

/** An address that goes into a command as it is: nothing to encode, nothing to refuse. Empty: the null reverse-path. */
const PLAIN = /^[!-;=?-~]*$/

/** One connection to the server, opened when needed, kept, and replaced when it is lost. One message at a time. */
export interface SmtpConnection {
  send(mail: OutgoingMail, signal: AbortSignal): Promise<Outcome>
  /** Connects and logs in over a connection of its own. */
  verify(): Promise<{ readonly ok: boolean; readonly detail: string }>
  close(): Promise<void>
}

interface Attempt {
  /** The dot must be on its way by then, on the monotonic clock in ms. */
  readonly dotBy: number
  /** Not sent from this moment on, ms since the epoch. */
  readonly expiresAt: number
  readonly abort: AbortController
  begun: boolean
  dotted: boolean
  stopped?: string
  body?: Readable
}

/**
 * A nodemailer pool of one connection. One each, because the limits before and after the dot differ while nodemailer
 * has one limit on silence for all, so we must know which socket carries which message.
 */
export function createSmtpConnection({
  address,
  limits,
  clock,
  ehloName,
  bounceTo,
  dkim,
  tls,
}: SmtpConnectionOptions): SmtpConnection {
  let current: Attempt | undefined
  let socket: net.Socket | undefined
  let timer: NodeJS.Timeout | undefined
  const secrets = address.auth ? [address.auth.pass] : []
  const setUpMs = limits.connectMs + limits.greetingMs + limits.commandMs

  const options: SMTPPoolOptions & { pool: true } = {
    pool: true,
    maxConnections: 1,
    maxMessages: Infinity,
    // A connection that the server closed while idle is replaced once, silently; the body is never read twice.
    maxRequeues: 1,
    host: address.host,
    port: address.port,
    secure: address.secure,
    requireTLS: !address.secure && address.startTls === 'required',
    ignoreTLS: address.startTls === 'off',
    name: ehloName,
    disableFileAccess: true,
    disableUrlAccess: true,
    connectionTimeout: setUpMs,
    greetingTimeout: limits.greetingMs,
    // Never the first to fire: the timers below are.
    socketTimeout: setUpMs + limits.replyMs * 2,
    idleTimeout: limits.idleMs,
    getSocket: (_options, done) => connect(done),
    ...(address.auth && { auth: { ...address.auth } }),
    ...(tls && { tls }),
    ...(dkim && {
      dkim: { domainName: dkim.domain, keySelector: dkim.selector, privateKey: dkim.privateKey },
    }),
  }
  const transport = createTransport(options)
  // An error without a message in flight (a connection lost while idle) is of no concern: the next message opens another.
  transport.on('error', () => {})

  /** Opens the socket ourselves, so that it is known whose it is. */
  function connect(done: (error: Error | null, result?: { connection: net.Socket } | false) => void): void {
    const opened = net.connect({ host: address.host, port: address.port })
    socket = opened
    arm('set-up-limit', setUpMs)
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
      arm('set-up-limit', limits.greetingMs + limits.commandMs)
      done(null, { connection: opened })
    })
    opened.on('timeout', () => stop('command-limit'))
    opened.once('close', () => {
      clearTimeout(limit)
      if (socket === opened) socket = undefined
    })
  }

  // The plugin sees the connection become ready (the body is asked for just before MAIL FROM) and the body end.
  transport.use('stream', (mail, next) => {
    const attempt = current
    const { raw } = mail.data
    const compose = mail.message.createReadStream.bind(mail.message)
    mail.message.createReadStream = options =>
      begin(attempt, dkim ? compose(options) : oneShot(raw as Buffer))
    next()
  })

  function begin(attempt: Attempt | undefined, body: Readable): Readable {
    if (!attempt || attempt !== current || attempt.body?.readableDidRead) {
      // nodemailer does neither send after an abort nor twice; if it ever did, the message could arrive twice.
      socket?.destroy()
      return unsendable(body, 'a message must not be sent again')
    }
    if (clock.now() >= attempt.expiresAt) {
      stop('expired')
      return unsendable(body, 'its validity is over')
    }
    attempt.begun = true
    attempt.body = body
    // Read once the server has said 354: connecting and the dialogue may have taken longer than its validity.
    body.once('resume', () => {
      if (attempt === current && clock.now() >= attempt.expiresAt) stop('expired')
    })
    // Counts silence on TLS as well: a TLS socket's traffic refreshes the timer of the socket below it.
    socket?.setTimeout(limits.commandMs)
    arm('dialogue-limit', 3 * limits.commandMs)
    body.once('end', () => {
      if (attempt !== current) return
      attempt.dotted = true
      socket?.setTimeout(0)
      arm('reply-limit', limits.replyMs)
    })
    return body
  }

  function arm(reason: string, ms: number): void {
    clearTimeout(timer)
    if (!current) return
    // Replacing a lost connection and trickling replies draw from the same time.
    const left = current.dotted ? ms : Math.min(ms, current.dotBy - performance.now())
    timer = setTimeout(() => stop(reason), left)
  }

  function stop(reason: string): void {
    if (!current || current.stopped) return
    current.stopped = reason
    current.abort.abort()
    socket?.destroy()
  }

  async function send(mail: OutgoingMail, signal: AbortSignal): Promise<Outcome> {
    if (current) throw new Error('a lane carries one message at a time')
    const attempt: Attempt = {
      dotBy: performance.now() + setUpMs + 3 * limits.commandMs,
      expiresAt: mail.expiresAt,
      abort: new AbortController(),
      begun: false,
      dotted: false,
    }
    current = attempt
    const onAbort = (): void => stop('aborted')
    signal.addEventListener('abort', onAbort, { once: true })
    arm(socket ? 'command-limit' : 'set-up-limit', socket ? limits.commandMs : setUpMs)
    try {
      const response = await (dkim === undefined && PLAIN.test(mail.to) && PLAIN.test(bounceTo)
        ? handOver(mail, attempt)
        : compose(mail, attempt))
      return accepted(response, mail.to, secrets)
    } catch (error) {
      return smtpFailure(asSmtpError(error), attempt, mail.to, secrets)
    } finally {
      clearTimeout(timer)
      socket?.setTimeout(0)
      signal.removeEventListener('abort', onAbort)
      current = undefined
    }
  }

  /** By nodemailer's mailer, which signs, and writes an address beyond ASCII as the server wants it. */
  async function compose(mail: OutgoingMail, { abort }: Attempt): Promise<string> {
    const { response } = await transport.sendMail({
      raw: mail.raw,
      // As objects, so that nodemailer takes the addresses as they are and parses nothing.
      envelope: {
        from: bounceTo ? { name: '', address: bounceTo } : '',
        to: [{ name: '', address: mail.to }],
      },
      signal: abort.signal,
    })
    return response
  }

  /**
   * Straight to nodemailer's pool, as its mailer does in the end: for a finished message in a plain envelope the mailer
   * would only make, at a third of the cost of sending it, a MIME tree and an id that nobody asks for.
   */
  async function handOver(mail: OutgoingMail, attempt: Attempt): Promise<string> {
    const finished = {
      data: { signal: attempt.abort.signal },
      message: {
        getEnvelope: () => ({ from: bounceTo, to: [mail.to] }),
        messageId: () => '',
        getHeader: () => '',
        createReadStream: () => begin(attempt, oneShot(mail.raw)),
      },
    }
    return new Promise((resolve, reject) => {
      transport.transporter.send(
        finished as unknown as Parameters<typeof transport.transporter.send>[0],
        (error, info) => (error ? reject(error) : resolve(info?.response ?? '')),
      )
    })
  }

  async function verify(): Promise<{ ok: boolean; detail: string }> {
    const overall = setTimeout(() => socket?.destroy(), setUpMs)
    try {
      await transport.verify()
      return {
        ok: true,
        detail: address.auth ? 'connected and logged in' : 'connected; no login is configured',
      }
    } catch (error) {
      const outcome = smtpFailure(asSmtpError(error), { begun: false, dotted: false }, '', secrets)
      return { ok: false, detail: outcome.reply }
    } finally {
      clearTimeout(overall)
    }
  }

  async function close(): Promise<void> {
    stop('closed')
    transport.close({ force: true })
    const last = socket
    if (!last || last.destroyed) return
    await new Promise<void>(resolve => {
      last.once('close', () => resolve())
      last.destroy()
    })
  }

  return { send, verify, close }
}

/** A body that ends the sending in an error. nodemailer may be gone from its connection by now and not hear it. */
function unsendable(body: Readable, why: string): Readable {
  body.on('error', () => {})
  return body.destroy(new Error(why))
}

/** The message as a stream that is read once; nodemailer's own pipeline for `raw` costs four more streams. */
function oneShot(raw: Buffer): Readable {
  return new Readable({
    read() {
      this.push(raw)
      this.push(null)
    },
  })
}

function accepted(response: string, recipient: string, secrets: readonly string[]): Outcome {
  const queueId = /\bqueued as ([\w.-]{4,64})/i.exec(response)?.[1]
  const reply = presentableReply(oneLine(response), recipient, secrets)
  return queueId ? { is: 'sent', reply, providerId: queueId } : { is: 'sent', reply }
}

/** A failure of the network or the server; anything else is a bug and thrown on. */
function asSmtpError(error: unknown): SmtpError {
  if (error instanceof Error && ('code' in error || /^Connection (?:pool was )?closed/.test(error.message)))
    return error
  throw new Error('sending by SMTP failed in an unexpected way', { cause: error })
}
