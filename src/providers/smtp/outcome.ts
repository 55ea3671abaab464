import { quote, say, tell, type Words } from '../../language/sentence.ts'
import type { FaultScope } from '../../messages/message.ts'
import { isCertificateError } from '../diagnosis.ts'
import type { Outcome } from '../provider.ts'
import type { Redactor } from '../redact.ts'

/** Makes the outcome of a message that the server has accepted. */
export function acceptedOutcome(response: string, redactor: Redactor): Outcome {
  const queueId = /\bqueued as ([\w.-]{4,64})/i.exec(response)?.[1]
  const reply = quote(redactor.reply(joinReplyLines(response)))
  return queueId ? { is: 'sent', reply, providerId: queueId } : { is: 'sent', reply }
}

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

/** The reply when STARTTLS fails: TLS is required here, and somebody on the way may have hidden the server's offer. */
const NO_TLS = 'the server offers no TLS, without which nothing is sent'

interface Reply {
  readonly status: number
  /** RFC 3463, such as `5.1.1`; empty without one. */
  readonly enhanced: string
}

type ReplyVerdict =
  | { readonly is: 'rejected'; readonly scope: FaultScope }
  | { readonly is: 'retry'; readonly whose: 'ours' | 'later'; readonly scope: FaultScope }

/** Makes the outcome of a failed attempt. */
export function smtpFailure(error: SmtpError, progress: DialogueProgress, redactor: Redactor): Outcome {
  const reply = error.response ? readReply(error.response) : undefined
  const untouched = progress.begun ? {} : { untouched: true as const }
  if (reply && !progress.stopped) {
    const code = reply.enhanced ? `${reply.status} ${reply.enhanced}` : String(reply.status)
    const shown = quote(redactor.reply(joinReplyLines(error.response ?? '')))
    const text =
      error.command === 'STARTTLS' ? say('{about}: {what}', { about: tell(NO_TLS), what: shown }) : shown
    const verdict = judgeReply(error.code ?? '', error.command ?? '', reply)
    return verdict.is === 'rejected'
      ? { ...verdict, code, reply: text }
      : { ...verdict, code, reply: text, ...untouched, ...overloadOf(reply, progress) }
  }
  const cause = progress.stopped ?? error.originalCode ?? error.code ?? 'connection-lost'
  const words = error.response
    ? say('no SMTP reply: {words}', { words: redactor.reply(error.response) })
    : describeFailure(error, cause, progress)
  if (progress.dotted)
    return {
      is: 'ambiguous',
      code: cause,
      reply: say('no reply after the end of the message: {words}', { words: tell(words) }),
    }
  // A wrong certificate does not go away by itself, so the operator has to learn of it; other failures pass, or the server's side mends them.
  const whose = isCertificateError(cause) ? 'ours' : 'later'
  return { is: 'retry', whose, scope: 'transport', code: cause, reply: words, ...untouched }
}

/**
 * Says whether a reply means too many connections: so does a 421 before a message begins (421 4.7.0, or 421 alone), unless it says
 * that the server is shutting down (RFC 3463: 4.3.x is about the system).
 */
function overloadOf({ status, enhanced }: Reply, { begun }: DialogueProgress): { overload?: 'connections' } {
  return status === 421 && !begun && !enhanced.startsWith('4.3.') ? { overload: 'connections' } : {}
}

/** Judges a reply of 4xx or 5xx by the command that it answers (RFC 5321 4.2, RFC 3463). */
function judgeReply(code: string, command: string, reply: Reply): ReplyVerdict {
  const { status, enhanced } = reply
  const scope = scopeOfReply(code, command, reply)
  const ours: ReplyVerdict = { is: 'retry', whose: 'ours', scope }
  const later: ReplyVerdict = { is: 'retry', whose: 'later', scope }
  if (status === 421) return later
  if (scope === 'account' || status === 454) return ours
  if (status < 500) return later
  if (scope === 'sender') return ours
  const afterMessage = code === 'EMESSAGE'
  // "Relaying denied" may concern every recipient, when the server does not know us, or only this one, when it does not relay there.
  if (command === 'RCPT TO' && enhanced.startsWith('5.7.')) return ours
  if (command === 'RCPT TO' || command === 'DATA') {
    if (/^5\.[12]\./.test(enhanced)) return { is: 'rejected', scope: 'recipient' }
    if (command === 'RCPT TO' && !enhanced && [550, 551, 553].includes(status))
      return { is: 'rejected', scope: 'recipient' }
    if (afterMessage) return { is: 'rejected', scope: 'message' }
  }
  // Greeting, EHLO, STARTTLS, MAIL FROM, and the reply to DATA itself, which has not seen the message: not its fault.
  return ours
}

/** Says what a reply concerns. */
function scopeOfReply(code: string, command: string, { status, enhanced }: Reply): FaultScope {
  if (status === 421 || enhanced.startsWith('4.3.')) return 'transport'
  if (code === 'EAUTH' || status === 530 || status === 535) return 'account'
  if (blamesSender(enhanced)) return 'sender'
  if (command === 'RCPT TO') return 'recipient'
  if (code === 'EMESSAGE') return /^4\.[12]\./.test(enhanced) ? 'recipient' : 'message'
  if (command !== 'MAIL FROM') return 'transport'
  if (status === 454) return 'account'
  return status === 552 || enhanced === '5.3.4' ? 'message' : 'sender'
}

/**
 * Says whether a refusal blames the sender or its domain's set-up and not this message: bad sender address (x.1.7, x.1.8,
 * RFC 3463), DKIM, SPF and reverse DNS failures (x.7.20 to x.7.26, RFC 7372) and a sender without MX (x.7.27,
 * RFC 7505). One wrong setting must not burn every message.
 */
function blamesSender(enhanced: string): boolean {
  return /^[45]\.(?:1\.[78]|7\.2[0-7])$/.test(enhanced)
}

/** Reads status and enhanced code of a refusal; undefined: the reply begins with neither 4xx nor 5xx. */
function readReply(response: string): Reply | undefined {
  const match = /^([45]\d\d)(?:[ -](\d\.\d{1,3}\.\d{1,3}))?(?=[\s-]|$)/.exec(response)
  return match ? { status: Number(match[1]), enhanced: match[2] ?? '' } : undefined
}

/** Joins the lines of a reply: `550-5.1.1 No\n550 5.1.1 such user` becomes `550 5.1.1 No such user`. */
function joinReplyLines(response: string): string {
  return response.replace(/\r?\n\d{3}(?:[ -]|$)(?:\d\.\d{1,3}\.\d{1,3} )?/g, ' ').replace(/^(\d{3})-/, '$1 ')
}

/** Describes a failure in the network's words, not the server's: they name at most the host. */
function describeFailure(error: SmtpError, cause: string, { stopped }: DialogueProgress): Words {
  if (stopped) return STOPPED[stopped] ?? quote(stopped)
  const text =
    error.message
      .slice(0, 1000)
      .replace(OPENSSL, '$1')
      .replace(/[\p{C}\p{Z}]+/gu, ' ')
      .slice(0, 150) || cause
  const words = quote(text, cause)
  return isCertificateError(cause)
    ? say("the server's certificate was not accepted: {words}", { words })
    : words
}

/** `40DD…:error:0A00010B:SSL routines:function:reason:file:…`, of which people need the reason. */
const OPENSSL = /^[\dA-F]+:error:[\dA-F]+:[^:]*:[^:]*:([^:]+):.*$/s

const STOPPED: Readonly<Record<string, Words>> = {
  aborted: 'stopped by us',
  expired: 'its validity is over',
  closed: 'the provider was closed',
  'set-up-limit': 'connecting, greeting and login took too long',
  'command-limit': 'no reply to a command within its limit',
  'dialogue-limit': 'the dialogue before the end of the message took too long',
  'reply-limit': 'no reply to the message within its limit',
}
