import type { HttpLimits } from '../http-exchange.ts'

/** Twilio answers within a second as a rule; 30 s is the SDK's own limit. */
export const TWILIO_LIMITS: HttpLimits = { connectMs: 5_000, answerMs: 30_000, bodyMs: 5_000 }
