import type { Socket } from 'node:net'
import type { Clock } from '../../runtime/clock.ts'
import type { SmtpLimits } from './limits.ts'
import type { BodyStream } from './nodemailer-connection.ts'
import type { DialogueProgress } from './outcome.ts'

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
export interface Attempt extends DialogueProgress {
  /** Aborted when the attempt is stopped. */
  readonly signal: AbortSignal
  /** Stops the attempt in so many ms, unless another limit takes this one's place. */
  setTimeLimit(reason: string, ms: number): void
  /** Ends it now, whatever the server is at. Only the first reason counts. */
  stop(reason: string): void
  /**
   * Begins the message: nodemailer asks for the body just before MAIL FROM, and pipes it once the server has said 354.
   * @returns the body; it is not sent when it must not be.
   */
  begin(mail: Buffer): Body
  /** Notes that it has its outcome: no limit counts any more. */
  finish(): void
}

/** A mail's body as nodemailer takes it. */
export interface Body {
  /** Whether any of it was sent: while nothing was, nodemailer may send it over another connection. */
  readonly readableDidRead: boolean
  pipe(stream: BodyStream): void
}

/** Begins to count the time of an attempt. */
export function createAttempt(options: AttemptOptions): Attempt {
  const { clock, expiresAt, socket } = options
  const abort = new AbortController()
  const dotBy = performance.now() + options.dotWithinMs
  let timer: NodeJS.Timeout | undefined

  const attempt = {
    begun: false,
    dotted: false,
    finished: false,
    stopped: undefined as string | undefined,
    signal: abort.signal,
    setTimeLimit(reason: string, ms: number) {
      clearTimeout(timer)
      if (attempt.finished) return
      // A lost connection that is replaced, and replies that trickle in, use up the same time.
      const left = attempt.dotted ? ms : Math.min(ms, dotBy - performance.now())
      timer = setTimeout(() => attempt.stop(reason), left)
    },
    stop(reason: string) {
      if (attempt.finished || attempt.stopped !== undefined) return
      attempt.stopped = reason
      abort.abort()
      socket()?.destroy()
    },
    /** Says whether any of the message may leave now. */
    mayGoOn(): boolean {
      // nodemailer sends neither after an abort nor twice; if it ever did, the message could arrive twice.
      if (attempt.finished || attempt.dotted) socket()?.destroy()
      else if (clock.now() >= expiresAt) attempt.stop('expired')
      else return attempt.stopped === undefined
      return false
    },
    begin: (mail: Buffer) => beginBody(attempt, mail, options),
    finish() {
      attempt.finished = true
      clearTimeout(timer)
      socket()?.setTimeout(0)
    },
  }
  return attempt
}

/** Sets the time limit of the dialogue, and once the body has been handed over, that of the final reply. */
function beginBody(
  attempt: Pick<Attempt, 'setTimeLimit'> & { begun: boolean; dotted: boolean; mayGoOn(): boolean },
  mail: Buffer,
  { socket, limits, onDotted }: AttemptOptions,
): Body {
  if (attempt.mayGoOn()) {
    attempt.begun = true
    // The timer counts silence over TLS as well: a TLS socket's traffic refreshes the timer of the socket below it.
    socket()?.setTimeout(limits.commandMs)
    attempt.setTimeLimit('dialogue-limit', 3 * limits.commandMs)
  }
  return {
    get readableDidRead() {
      return attempt.dotted
    },
    pipe(stream) {
      // The validity is checked again: connecting and the dialogue may have taken longer than was left of it.
      if (!attempt.mayGoOn()) return
      stream.end(mail)
      attempt.dotted = true
      socket()?.setTimeout(0)
      attempt.setTimeLimit('reply-limit', limits.replyMs)
      onDotted?.()
    },
  }
}
