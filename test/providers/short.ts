import type { HttpLimits } from '../../src/providers/http-client.ts'
import type { SmtpLimits } from '../../src/providers/smtp/settings.ts'

// Limits for tests. What stalls reaches its limit within a test, and what does not stall must not: on a busy machine a
// process may wait for its turn for a second. Connecting never stalls here.

export const SHORT_SMTP: SmtpLimits = {
  connectMs: 15_000,
  greetingMs: 3_000,
  commandMs: 4_000,
  replyMs: 3_000,
  idleMs: 60_000,
}

export const SHORT_HTTP: HttpLimits = { connectMs: 15_000, answerMs: 3_000, bodyMs: 3_000 }
