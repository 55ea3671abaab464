import type { Outcome } from '../providers/provider.ts'

/** So many recipients in a row have to meet a refusal before it counts as one that the operator has to mend. */
const SEVERAL = 3
/** Codes of a provider that are kept apart; beyond them it is refusing all kinds of things. */
const MOST_CODES = 100

/** Tells a refusal that one address met from one that every address meets. */
export function createRefusedRecipients() {
  const refused = new Map<string, Map<string, Set<string>>>()
  return {
    /**
     * @param recipient whom the attempt was for.
     * @returns the outcome; one that may be about the recipient alone is `later` until several recipients in a row, without a
     *   message that was sent between them, have met it. Otherwise anybody who may name a recipient could raise the alarm that
     *   the provider refuses us, and open its circuit breaker.
     */
    judgeOutcome(provider: string, outcome: Outcome, recipient: string): Outcome {
      if (outcome.is === 'sent') refused.delete(provider)
      if (outcome.is !== 'retry' || outcome.whose !== 'ours' || outcome.perhapsRecipient !== true)
        return outcome
      const codes = refused.get(provider) ?? new Map<string, Set<string>>()
      refused.set(provider, codes)
      const recipients = codes.get(outcome.code) ?? new Set()
      if (codes.size < MOST_CODES) codes.set(outcome.code, recipients)
      if (recipients.size < SEVERAL) recipients.add(recipient)
      return recipients.size < SEVERAL ? { ...outcome, whose: 'later' } : outcome
    },
  }
}
