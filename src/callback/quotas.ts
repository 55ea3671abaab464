import type { Channel } from '../messages/message.ts'
import type { KeyedHashes } from '../outbox/encryption.ts'
import type { Charge, ChargesOf } from '../outbox/outbox.ts'
import { mailboxOf, registeredDomainOf } from './recipients.ts'

const MINUTE = 60_000
const TEN_MINUTES = 10 * MINUTE
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const PER_RECIPIENT = ['recipient-10m', 'recipient-day', 'alarm-recipient-hour'] as const

/** The quotas of each channel, by the names in answers, metrics and the log. */
export const QUOTA_NAMES = {
  email: [...PER_RECIPIENT, 'signup-domain-hour', 'email-minute', 'email-day'],
  sms: [...PER_RECIPIENT, 'sms-prefix-10m', 'sms-country-day', 'sms-minute', 'sms-day'],
} as const
type QuotaName = (typeof QUOTA_NAMES)[Channel][number]

type QuotaTerms = Pick<Charge, 'windowMs' | 'newcomersOnly'> & { readonly warns?: true }

/** The window of each quota, and what is special: half of it is a warning, or it counts newcomers only. */
const QUOTAS: Readonly<Record<QuotaName, QuotaTerms>> = {
  'recipient-10m': { windowMs: TEN_MINUTES },
  'recipient-day': { windowMs: DAY },
  'alarm-recipient-hour': { windowMs: HOUR, warns: true },
  'signup-domain-hour': { windowMs: HOUR, warns: true, newcomersOnly: true },
  'sms-prefix-10m': { windowMs: TEN_MINUTES },
  'sms-country-day': { windowMs: DAY },
  'sms-minute': { windowMs: MINUTE, warns: true },
  'sms-day': { windowMs: DAY, warns: true },
  'email-minute': { windowMs: MINUTE, warns: true },
  'email-day': { windowMs: DAY, warns: true },
}

/** Limits by name; 0: none. */
export type QuotaLimits = Readonly<Record<QuotaName, number>>

/** Mails that anybody has sent to any address, by signing up with it: types 1 and 5. */
const SIGN_UPS: ReadonlySet<string> = new Set(['registration-activation', 'activation-code'])

/** Makes what all charges of a quota have in common, of those that have a limit. */
function termsOf(limits: QuotaLimits): ReadonlyMap<QuotaName, Omit<Charge, 'bucket'>> {
  const terms = new Map<QuotaName, Omit<Charge, 'bucket'>>()
  for (const quota of Object.keys(QUOTAS) as QuotaName[]) {
    const limit = limits[quota]
    const { warns, ...own } = QUOTAS[quota]
    // A warning comes while there is time to act.
    if (limit > 0) terms.set(quota, { quota, limit, ...own, ...(warns && { warnAt: Math.ceil(limit / 2) }) })
  }
  return terms
}

/**
 * Makes the list of counters that one message draws on.
 *
 * - Per recipient and kind: codes and links, so that nobody is flooded with them. Alarms have a quota of their own, wide enough
 *   for any device but one that has gone mad. An address counts by its mailbox, however it is written.
 * - Per domain that somebody registered: sign-ups of addresses to which nothing was sent yet, since whoever has a domain can make up
 *   thousands of them. Nobody is locked out of an account by it: recoveries, alarms and known addresses are not counted.
 * - Per number prefix (the number without its last four digits): against ranges of numbers that earn money by being sent to.
 * - Per country and per channel: limits for the whole account.
 *
 * @param keys make a counter's name, so that no number or address stands in it.
 */
export function createChargesOf(
  limits: QuotaLimits,
  { bucketHash }: Pick<KeyedHashes, 'bucketHash'>,
): ChargesOf {
  const terms = termsOf(limits)
  return ({ channel, kind, purpose, recipient }, country = 'none') => {
    const charges: Charge[] = []
    /** @param bucketOf is asked only where a quota counts: most buckets are hashes. */
    function charge(quotas: readonly QuotaName[], bucketOf: () => string | null): void {
      let bucket: string | null | undefined
      for (const quota of quotas) {
        const counting = terms.get(quota)
        if (counting === undefined) continue
        if (bucket === undefined) bucket = bucketOf()
        if (bucket !== null) charges.push({ ...counting, bucket })
      }
    }
    charge(purpose === 'alarm' ? ['alarm-recipient-hour'] : ['recipient-10m', 'recipient-day'], () =>
      bucketHash('recipient', channel, channel === 'email' ? mailboxOf(recipient) : recipient, kind),
    )
    if (SIGN_UPS.has(kind))
      charge(['signup-domain-hour'], () => {
        const domain = registeredDomainOf(recipient)
        return domain === null ? null : bucketHash('domain', domain)
      })
    if (channel === 'sms') {
      charge(['sms-prefix-10m'], () => bucketHash('prefix', recipient.slice(0, -4)))
      charge(['sms-country-day'], () => `country:${country}`)
    }
    charge([`${channel}-minute`, `${channel}-day`], () => `channel:${channel}`)
    return charges
  }
}
