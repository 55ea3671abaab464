import type { HttpLimits } from './http-client.ts'

/** Twilio answers within a second as a rule; 30 s is the SDK's own limit. */
export const TWILIO_LIMITS: HttpLimits = { connectMs: 5_000, answerMs: 30_000, bodyMs: 5_000 }

/** The longest that an attempt may take, ms. A lease must outlive it. */
export function longestTwilioAttemptMs(limits: HttpLimits = TWILIO_LIMITS): number {
  return limits.connectMs + limits.answerMs + limits.bodyMs
}
