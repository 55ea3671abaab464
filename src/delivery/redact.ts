import type { Content } from '../messages/message.ts'
import type { Outcome } from '../providers/provider.ts'

/** Shorter values are words of every reply. */
const LEAST = 3

/**
 * An outcome whose reply holds nothing that the message says. Providers take out what looks like a code, a link or an
 * address; a code may be a plain word, though, and a name always is, and only here it is known which one.
 */
export function redactOutcome(outcome: Outcome, { params, subject = '' }: Content): Outcome {
  const lower = outcome.reply.toLowerCase()
  let { reply } = outcome
  for (const value of [...Object.values(params), subject]) {
    if (value.length < LEAST || !lower.includes(value.toLowerCase())) continue
    const found = new RegExp(value.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`), 'gi')
    reply = reply.replace(found, '…')
  }
  return reply === outcome.reply ? outcome : { ...outcome, reply }
}
