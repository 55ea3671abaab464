import SMTPConnection from 'nodemailer/lib/smtp-connection'

/** Replies that a server may be ahead of us. Of a pipeline three are awaited, and a 421 may come unasked. */
const MOST_UNREAD = 100

/** What nodemailer's connections have besides what it publishes. */
interface Unpublished {
  readonly _responseQueue: readonly string[]
  _onData(chunk: Buffer): void
  _onResponseTooLarge(): void
}

/**
 * Ends a connection whose server says more than was asked. nodemailer bounds the length of a reply, not how many wait to be
 * read, and reads one a turn of the event loop, empty lines included: 18 MB of these, from a mail server or from anybody on
 * the way to it before TLS, held everything up for ten seconds and took 200 MB. Its pool makes its connections itself, so this
 * stands in their class; test/providers/smtp/floods.test.ts notices when nodemailer calls these things otherwise.
 */
export function boundUnreadReplies(): void {
  const connections = SMTPConnection.prototype as unknown as Unpublished
  const { _onData: read } = connections
  if (bounded.has(read)) return
  connections._onData = function (this: Unpublished, chunk) {
    read.call(this, chunk)
    if (this._responseQueue.length > MOST_UNREAD) this._onResponseTooLarge()
  }
  bounded.add(connections._onData)
}

const bounded = new WeakSet<Unpublished['_onData']>()
