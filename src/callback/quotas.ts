import type { NewMessage } from '../messages/message.ts'
import { QUOTA_LIST, type QuotaLimits } from '../messages/quotas.ts'
import type { KeyedHashes } from '../outbox/encryption.ts'
import type { Charge, ChargesOf, Outbox } from '../outbox/outbox.ts'
import { callingCodeOf, mailboxOf, registeredDomainOf } from './recipients.ts'

/** Mails that anybody has sent to any address, by signing up with it: types 1 and 5. */
const SIGN_UPS: ReadonlySet<string> = new Set(['registration-activation', 'activation-code'])

/** What has the counter of a quota; null: the message does not count there. */
type BucketOf = (message: NewMessage, country: string) => string | null

/**
 * Makes the list of counters that one message draws on.
 *
 * @param keys make a counter's name, so that no number or address stands in it.
 * @param sender of mails: in its domain are the operator's own people, who may all sign up at once.
 */
export function createChargesOf(
  limits: QuotaLimits,
  { bucketHash }: { readonly bucketHash: KeyedHashes['bucketHash'] },
  sender = '',
): ChargesOf {
  const own = registeredDomainOf(sender)
  /** An address counts by its mailbox, however it is written. */
  const ofRecipient: BucketOf = ({ channel, kind, recipient }) =>
    bucketHash('recipient', channel, channel === 'email' ? mailboxOf(recipient) : recipient, kind)
  const bucketOf: Readonly<Record<(typeof QUOTA_LIST)[number]['per'], BucketOf>> = {
    // Codes and links, so that nobody is flooded with them.
    recipient: (message, country) => (message.purpose === 'alarm' ? null : ofRecipient(message, country)),
    // Wide enough for any device but one that has gone mad.
    'alarm-recipient': (message, country) =>
      message.purpose === 'alarm' ? ofRecipient(message, country) : null,
    // Whoever has a domain can make up thousands of addresses. Nobody is locked out of an account by it: recoveries, alarms and
    // known addresses are not counted.
    'signup-domain'({ kind, recipient }) {
      const domain = SIGN_UPS.has(kind) ? registeredDomainOf(recipient) : null
      return domain === null || domain === own ? null : bucketHash('domain', domain)
    },
    // A flood of invented numbers is braked, and people who got something before pass.
    'calling-code': ({ purpose, recipient }) =>
      purpose === 'alarm' ? null : `code:${callingCodeOf(recipient)}`,
    // The number without its last four digits: against ranges of numbers that earn money by being sent to.
    prefix: ({ recipient }) => bucketHash('prefix', recipient.slice(0, -4)),
    country: (_message, country) => `country:${country}`,
    channel: ({ channel }) => `channel:${channel}`,
  }
  const counting = QUOTA_LIST.flatMap(({ name: quota, channel, per, usual: _usual, warns, ...more }) => {
    // New numbers are counted without a limit, too, so that one can be chosen.
    if (limits[quota] === 0 && per !== 'calling-code') return []
    const limit = limits[quota] || Number.POSITIVE_INFINITY
    return [{ channel, per, terms: { ...more, quota, limit, warnAt: warns && Math.ceil(limit / 2) } }]
  })
  return (message, country = 'none') => {
    const charges: Charge[] = []
    if (message.content.isProbe) return charges
    let latest: { readonly per: string; readonly bucket: string | null } | undefined
    for (const { channel, per, terms } of counting) {
      if (channel !== undefined && channel !== message.channel) continue
      // Most buckets are hashes, and those of one kind stand together.
      if (latest?.per !== per) latest = { per, bucket: bucketOf[per](message, country) }
      if (latest.bucket !== null) charges.push({ ...terms, bucket: latest.bucket })
    }
    return charges
  }
}

/**
 * Makes the settling by which an SMS counts as delivered once it is sent, where nobody reports what became of it.
 * @param reporting the carriers that do.
 */
export function deliverUnreported(settle: Outbox['settle'], reporting: ReadonlySet<string>): typeof settle {
  return (id, lease, end) => {
    const by = end.records?.at(-1)?.provider ?? ''
    return settle(id, lease, end.to === 'queued' || reporting.has(by) ? end : { ...end, delivered: true })
  }
}
