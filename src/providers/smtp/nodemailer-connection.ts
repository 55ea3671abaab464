import type { Socket } from 'node:net'
import type { Transform } from 'node:stream'
import SMTPConnection from 'nodemailer/lib/smtp-connection'

/** Replies that a server may be ahead of us. Of a pipeline three are awaited, and a 421 may come unasked. */
const MOST_UNREAD = 100

/** What nodemailer's connections have besides what it publishes. */
interface Unpublished {
  readonly _responseQueue: readonly string[]
  readonly _socket: Socket
  _onData(chunk: Buffer): void
  _onResponseTooLarge(): void
  _createSendStream(callback: unknown): Transform
}

/**
 * Mends nodemailer's connections in two places. Its pool makes them itself, so this stands in their class;
 * test/providers/smtp/floods.test.ts and dialogue.test.ts notice when nodemailer calls these things otherwise.
 *
 * - A server that says more than was asked loses its connection. nodemailer bounds the length of a reply, not how many wait
 *   to be read, and reads one a turn of the event loop, empty lines included: 18 MB of these, from a mail server or from
 *   anybody on the way to it before TLS, held everything up for ten seconds and took 200 MB.
 * - The dot leaves with the end of its mail: one write, one packet and one record of TLS less for each.
 */
export function mendConnections(): void {
  const connections = SMTPConnection.prototype as unknown as Unpublished
  const { _onData: read, _createSendStream: createStream } = connections
  if (mended.has(read)) return
  connections._onData = function (this: Unpublished, chunk) {
    read.call(this, chunk)
    if (this._responseQueue.length > MOST_UNREAD) this._onResponseTooLarge()
  }
  connections._createSendStream = function (this: Unpublished, callback) {
    const { _socket: socket } = this
    socket.cork()
    setImmediate(() => socket.uncork())
    return createStream.call(this, callback)
  }
  mended.add(connections._onData)
}

const mended = new WeakSet<Unpublished['_onData']>()
