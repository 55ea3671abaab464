import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { Clock } from '../../runtime/clock.ts'
import type { SmtpLimits } from './limits.ts'
import type { Progress } from './outcome.ts'

export interface AttemptOptions {
  readonly clock: Clock
  readonly limits: SmtpLimits
  /** The message is not sent from this moment on, ms since the epoch. */
  readonly expiresAt: number
  /** The dot must be on its way by then, ms from now. */
  readonly dotWithinMs: number
  /** Called once the dot that ends the message is on its way. */
  readonly onDotted?: () => void
  /** The connection's socket, which may be replaced while the attempt goes on. */
  readonly socket: () => Socket | undefined
}

/** One message on its way over a connection. */
export interface Attempt extends Progress {
  /** Aborted when the attempt is stopped. */
  readonly signal: AbortSignal
  /** Stops the attempt in so many ms, unless another limit takes this one's place. */
  limit(reason: string, ms: number): void
  /** Ends it now, whatever the server is at. Only the first reason counts. */
  stop(reason: string): void
  /**
   * MAIL FROM is next: the body is asked for just before it.
   * @returns the body, or one that ends in an error when the message must not be sent.
   */
  begin(body: Readable): Readable
  /** It has its outcome: its limits are off. */
  finish(): void
}

/** Begins to count the time of an attempt. */
export function createAttempt(options: AttemptOptions): Attempt {
  const { clock, expiresAt, socket } = options
  const abort = new AbortController()
  const dotBy = performance.now() + options.dotWithinMs
  let timer: NodeJS.Timeout | undefined
  let body: Readable | undefined

  const attempt = {
    begun: false,
    dotted: false,
    finished: false,
    stopped: undefined as string | undefined,
    signal: abort.signal,
    isExpired: () => clock.now() >= expiresAt,
    limit(reason: string, ms: number) {
      clearTimeout(timer)
      if (attempt.finished) return
      // Replacing a lost connection and trickling replies draw from the same time.
      const left = attempt.dotted ? ms : Math.min(ms, dotBy - performance.now())
      timer = setTimeout(() => attempt.stop(reason), left)
    },
    stop(reason: string) {
      if (attempt.finished || attempt.stopped !== undefined) return
      attempt.stopped = reason
      abort.abort()
      socket()?.destroy()
    },
    begin(given: Readable) {
      if (attempt.finished || body?.readableDidRead) {
        // nodemailer does neither send after an abort nor twice; if it ever did, the message could arrive twice.
        socket()?.destroy()
        return unsendable(given, 'a message must not be sent again')
      }
      if (attempt.isExpired()) {
        attempt.stop('expired')
        return unsendable(given, 'its validity is over')
      }
      attempt.begun = true
      body = given
      followBody(attempt, given, options)
      return given
    },
    finish() {
      attempt.finished = true
      clearTimeout(timer)
      socket()?.setTimeout(0)
    },
  }
  return attempt
}

/** Notices when the server wants the body and when all of it was read, and changes the limits by that. */
function followBody(
  attempt: Attempt & { dotted: boolean; readonly finished: boolean; isExpired(): boolean },
  body: Readable,
  { socket, limits, onDotted }: AttemptOptions,
): void {
  // Read once the server has said 354: connecting and the dialogue may have taken longer than its validity.
  body.once('resume', () => {
    if (attempt.isExpired()) attempt.stop('expired')
  })
  // Counts silence on TLS as well: a TLS socket's traffic refreshes the timer of the socket below it.
  socket()?.setTimeout(limits.commandMs)
  attempt.limit('dialogue-limit', 3 * limits.commandMs)
  body.once('end', () => {
    if (attempt.finished) return
    attempt.dotted = true
    socket()?.setTimeout(0)
    attempt.limit('reply-limit', limits.replyMs)
    onDotted?.()
  })
}

/** A body that ends the sending in an error. nodemailer may be gone from its connection by now and not hear it. */
function unsendable(body: Readable, why: string): Readable {
  body.on('error', () => {})
  return body.destroy(new Error(why))
}
