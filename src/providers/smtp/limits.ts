import type { HttpLimits } from '../http-exchange.ts'

/** Time limits, ms. */
export interface SmtpLimits {
  /** DNS and TCP. */
  readonly connectMs: number
  /** The server's first line; the TLS handshake has the same. */
  readonly greetingMs: number
  /** Silence after a command before the dot. EHLO, STARTTLS and login have this much together. */
  readonly commandMs: number
  /** The reply after the dot. */
  readonly replyMs: number
  /** How long an unused connection is kept. */
  readonly idleMs: number
}

/** Makes the limits of asking for an access token, which is part of setting up a connection. */
export function tokenLimits({ connectMs, greetingMs, commandMs }: SmtpLimits): HttpLimits {
  return { connectMs, answerMs: commandMs / 2, bodyMs: greetingMs }
}

/**
 * The limits unless others are given. RFC 5321 4.5.3.2 allows more in each place, but people wait for these mails. Only after the
 * dot, where servers scan, the limit is long.
 */
export const SMTP_LIMITS: SmtpLimits = {
  connectMs: 5_000,
  greetingMs: 5_000,
  commandMs: 20_000,
  replyMs: 300_000,
  idleMs: 60_000,
}

/** Computes the longest that an attempt may take, ms: up to the dot, and then for the reply. A lease must outlive it. */
export function longestSmtpAttemptMs(limits: SmtpLimits = SMTP_LIMITS): number {
  return limits.connectMs + limits.greetingMs + 4 * limits.commandMs + limits.replyMs
}
