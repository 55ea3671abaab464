import type { Content } from '../messages/message.ts'

/** Shorter values are words of every reply. */
const LEAST = 3

/**
 * A provider's reply without anything that the message says. Providers take out what looks like a code, a link or an
 * address; a code may be a plain word, though, and a name always is, and only here it is known which one.
 */
export function redactReply(reply: string, { params, subject = '' }: Content): string {
  const lower = reply.toLowerCase()
  let redacted = reply
  for (const value of [...Object.values(params), subject]) {
    if (value.length < LEAST || !lower.includes(value.toLowerCase())) continue
    const found = new RegExp(value.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`), 'gi')
    redacted = redacted.replace(found, '…')
  }
  return redacted
}
