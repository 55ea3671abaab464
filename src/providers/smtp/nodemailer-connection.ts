import type { Socket } from 'node:net'
import SMTPConnection from 'nodemailer/lib/smtp-connection'

/** The most replies that may wait to be read. Of a pipeline three are awaited, and a 421 may come unasked. */
const MOST_UNREAD = 100

/** The part of nodemailer's connection that takes a body once the server has asked for it. */
export interface BodyStream {
  /** @param mail all of it. */
  end(mail: Buffer): void
}

/** The option of connections that are given whole mails. */
export const WHOLE_MAILS = { wholeMails: true } as const

/** Members of nodemailer's connections that it does not publish. */
interface Unpublished {
  readonly options: Partial<typeof WHOLE_MAILS>
  readonly _socket: Socket
  readonly _responseQueue: readonly string[]
  readonly _responseActions: ((reply: string) => void)[]
  _onData(chunk: Buffer): void
  _onResponseTooLarge(): void
  _createSendStream(callback: unknown): BodyStream
  _actionSMTPStream(reply: string, callback: unknown): void
}

/**
 * Patches nodemailer's connections in two places. Its pool makes them itself, so the patch is in their class;
 * test/providers/smtp/floods.test.ts and dialogue.test.ts fail when nodemailer names or calls these members otherwise.
 *
 * - A server that says more than was asked loses its connection. nodemailer bounds the length of a reply, but not how many wait
 *   to be read, and it reads one in each turn of the event loop, empty lines included: 18 MB of these, from a mail server or from
 *   anybody on the way to it before TLS, held everything up for ten seconds and took 200 MB.
 * - A mail that is there as a whole leaves in one write, its dot included. It skips two streams and a loop over each of its
 *   octets, which took a tenth of all that a mail costs.
 */
export function patchConnections(): void {
  const connections = SMTPConnection.prototype as unknown as Unpublished
  const { _onData: read, _createSendStream: createStream } = connections
  if (patched.has(read)) return
  connections._onData = function (this: Unpublished, chunk) {
    read.call(this, chunk)
    if (this._responseQueue.length > MOST_UNREAD) this._onResponseTooLarge()
  }
  connections._createSendStream = function (this: Unpublished, callback) {
    if (this.options.wholeMails !== true) return createStream.call(this, callback)
    this._responseActions.push(reply => this._actionSMTPStream(reply, callback))
    return { end: mail => void this._socket.write(toWireForm(mail), 'latin1') }
  }
  patched.add(connections._onData)
}

const patched = new WeakSet<Unpublished['_onData']>()

/** A bare CR or LF, which some servers take for a line end and others do not. */
const BARE_LINE_END = /\r(?!\n)|(?<!\r)\n/

/** Puts a mail and its end into the form of the wire: lines end in CRLF, and a dot that begins a line is doubled (RFC 5321, 4.5.2). */
function toWireForm(mail: Buffer): string {
  const given = mail.toString('latin1')
  const lines = BARE_LINE_END.test(given) ? given.replace(/\r\n?|\n/g, '\r\n') : given
  const text = `${lines.startsWith('.') ? '.' : ''}${lines.replaceAll('\n.', '\n..')}`
  return text.endsWith('\r\n') ? `${text}.\r\n` : `${text}\r\n.\r\n`
}
