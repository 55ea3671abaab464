import { isCertificateError } from '../diagnosis.ts'
import type { Outcome } from '../provider.ts'
import { presentableReply } from '../reply.ts'

/** The point that an attempt had reached when it failed. */
export interface DialogueProgress {
  /** MAIL FROM may have been sent. */
  readonly begun: boolean
  /** The dot that ends the message may have been sent: from here on only the server knows. */
  readonly dotted: boolean
  /** We ended it ourselves, and why: a time limit, or the caller's signal. */
  readonly stopped?: string
}

/** The fields that nodemailer's errors carry. */
export interface SmtpError {
  readonly message: string
  readonly code?: string | undefined
  /** The system's or TLS's own code, when nodemailer replaced it. */
  readonly originalCode?: string | undefined
  readonly response?: string | undefined
  readonly responseCode?: number | undefined
  readonly command?: string | undefined
}

/** A login waits for it, and whoever is on the way may have hidden it. */
const NO_TLS = 'the server offers no TLS, without which nothing is sent'

interface Reply {
  readonly status: number
  /** RFC 3463, such as `5.1.1`; empty without one. */
  readonly enhanced: string
}

type Verdict =
  | { readonly is: 'rejected'; readonly why: 'recipient' | 'content' }
  | { readonly is: 'retry'; readonly whose: 'ours' | 'later'; readonly perhapsRecipient?: true }

/**
 * The outcome of a failed attempt.
 *
 * @param secrets must not show up in the reply, wherever the server has them from.
 */
export function smtpFailure(
  error: SmtpError,
  progress: DialogueProgress,
  recipient: string,
  secrets: readonly string[] = [],
): Outcome {
  const reply = error.response ? readReply(error.response) : undefined
  const untouched = progress.begun ? {} : { untouched: true as const }
  if (reply && !progress.stopped) {
    const code = reply.enhanced ? `${reply.status} ${reply.enhanced}` : String(reply.status)
    const said = presentableReply(oneLine(error.response ?? ''), recipient, secrets)
    const text = error.command === 'STARTTLS' ? `${NO_TLS}: ${said}`.slice(0, 200) : said
    const verdict = judge(error.code ?? '', error.command ?? '', reply)
    return verdict.is === 'rejected'
      ? { is: 'rejected', why: verdict.why, code, reply: text }
      : { ...verdict, code, reply: text, ...untouched, ...overloadOf(reply, progress) }
  }
  const cause = progress.stopped ?? error.originalCode ?? error.code ?? 'connection-lost'
  const words = error.response
    ? `no SMTP reply: ${presentableReply(error.response, recipient, secrets)}`.slice(0, 160)
    : explain(error, cause, progress)
  if (progress.dotted)
    return {
      is: 'ambiguous',
      code: cause,
      reply: `no reply after the end of the message: ${words}`.slice(0, 200),
    }
  // A certificate does not mend itself, so somebody has to hear of it; the rest passes, or is for the server's side.
  const whose = isCertificateError(cause) ? 'ours' : 'later'
  return { is: 'retry', whose, code: cause, reply: words, ...untouched }
}

/**
 * A server that hangs up before a message begins has too many connections (421 4.7.0, or 421 alone), unless it says that
 * it is shutting down (RFC 3463: 4.3.x is about the system).
 */
function overloadOf({ status, enhanced }: Reply, { begun }: DialogueProgress): { overload?: 'connections' } {
  return status === 421 && !begun && !enhanced.startsWith('4.3.') ? { overload: 'connections' } : {}
}

/** The meaning of a reply of 4xx or 5xx, by the command that it answers (RFC 5321 4.2, RFC 3463). */
function judge(code: string, command: string, { status, enhanced }: Reply): Verdict {
  const ours: Verdict = { is: 'retry', whose: 'ours' }
  const later: Verdict = { is: 'retry', whose: 'later' }
  // "Relaying denied" is said of every recipient when a server does not know us, and of one when it does not go there.
  const perhapsOurs: Verdict = command === 'RCPT TO' ? { ...ours, perhapsRecipient: true } : ours
  if (status === 421) return later
  if (code === 'EAUTH' || status === 530 || status === 535) return ours
  if (status === 454) return perhapsOurs
  if (status < 500) return later
  if (isOurs(enhanced)) return ours
  const afterMessage = code === 'EMESSAGE'
  if (command === 'RCPT TO' && enhanced.startsWith('5.7.')) return perhapsOurs
  if (command === 'RCPT TO' || command === 'DATA') {
    if (/^5\.[12]\./.test(enhanced)) return { is: 'rejected', why: 'recipient' }
    if (command === 'RCPT TO' && !enhanced && [550, 551, 553].includes(status))
      return { is: 'rejected', why: 'recipient' }
    if (afterMessage) return { is: 'rejected', why: 'content' }
  }
  // Greeting, EHLO, STARTTLS, MAIL FROM, and the reply to DATA itself, which has not seen the message: not its fault.
  return perhapsOurs
}

/**
 * Refusals that name the sender or its domain's set-up and not this message: bad sender address (5.1.7, 5.1.8,
 * RFC 3463), DKIM, SPF and reverse DNS failures (5.7.20 to 5.7.26, RFC 7372) and a sender without MX (5.7.27,
 * RFC 7505). One wrong setting must not burn every message.
 */
function isOurs(enhanced: string): boolean {
  return /^5\.(?:1\.[78]|7\.2[0-7])$/.test(enhanced)
}

/** Reads a refusal; undefined: the server said neither 4xx nor 5xx. */
function readReply(response: string): Reply | undefined {
  const match = /^([45]\d\d)(?:[ -](\d\.\d{1,3}\.\d{1,3}))?(?=[\s-]|$)/.exec(response)
  return match ? { status: Number(match[1]), enhanced: match[2] ?? '' } : undefined
}

/** `550-5.1.1 No\n550 5.1.1 such user` → `550 5.1.1 No such user`. */
export function oneLine(response: string): string {
  return response.replace(/\r?\n\d{3}(?:[ -]|$)(?:\d\.\d{1,3}\.\d{1,3} )?/g, ' ').replace(/^(\d{3})-/, '$1 ')
}

/** The network's words, not the server's: they name at most the host. */
function explain(error: SmtpError, cause: string, { stopped }: DialogueProgress): string {
  if (stopped) return STOPPED[stopped] ?? stopped
  const text = error.message.replace(/[\p{C}\p{Z}]+/gu, ' ').slice(0, 150) || cause
  return isCertificateError(cause) ? `the server's certificate was not accepted: ${text}` : text
}

const STOPPED: Readonly<Record<string, string>> = {
  aborted: 'stopped by us',
  expired: 'its validity is over',
  closed: 'the provider was closed',
  'set-up-limit': 'connecting, greeting and login took too long',
  'command-limit': 'no reply to a command within its limit',
  'dialogue-limit': 'the dialogue before the end of the message took too long',
  'reply-limit': 'no reply to the message within its limit',
}
