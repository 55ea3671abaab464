import type { NewMessage } from '../messages/message.ts'
import type { KeyedHashes } from '../outbox/encryption.ts'
import type { Charge } from '../outbox/outbox.ts'
import { mailboxOf } from './address.ts'

const MINUTE = 60_000
const TEN_MINUTES = 10 * MINUTE
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const PER_RECIPIENT = ['recipient-10m', 'recipient-day', 'alarm-recipient-hour'] as const

/** The quotas of each channel, by the names in answers, metrics and the log. */
export const QUOTA_NAMES = {
  email: [...PER_RECIPIENT, 'email-minute', 'email-day'],
  sms: [
    ...PER_RECIPIENT,
    'sms-prefix-10m',
    'sms-country-day',
    'sms-minute',
    'sms-day',
    'sms-carrier-day',
    'sms-cost-day',
  ],
} as const
type QuotaName = (typeof QUOTA_NAMES)[keyof typeof QUOTA_NAMES][number]

/** Limits; 0 switches one off. */
export interface QuotaLimits {
  readonly recipientPer10Minutes: number
  readonly recipientPerDay: number
  readonly alarmRecipientPerHour: number
  readonly smsPrefixPer10Minutes: number
  readonly smsCountryPerDay: number
  /** By carrier. */
  readonly smsCarrierPerDay?: ReadonlyMap<string, number> | undefined
  /** A limit in the units of `cost`. */
  readonly smsCostPerDay?: number
  readonly channel: Readonly<Record<'email' | 'sms', { readonly perMinute: number; readonly perDay: number }>>
}

/**
 * Makes the list of counters that one message draws on.
 *
 * Per recipient and kind: codes and links, so that nobody is flooded with them; alarms have a brake of their own, wide
 * enough for any device but one that has gone mad. Of an address its mailbox counts, however it is written. Per number prefix
 * (less its last four digits): ranges that are called to be paid for it. Per country and per channel: brakes for the
 * whole account; a channel's warns from half of it on, while there is time to look. By cost: what it will probably be. A
 * carrier's own quota counts what it is handed, and stops at acceptance only what no carrier has room for.
 *
 * @param keys make a counter's name, so that no number or address stands in it.
 */
export function createQuotas(
  limits: QuotaLimits,
  keys: Pick<KeyedHashes, 'bucketHash'>,
): (
  message: NewMessage,
  country: string | undefined,
  use?: { readonly fullCarrier: string | undefined; readonly cost: number },
) => readonly Charge[] {
  const {
    recipientPer10Minutes,
    recipientPerDay,
    alarmRecipientPerHour,
    smsPrefixPer10Minutes,
    smsCountryPerDay,
  } = limits
  return ({ channel, kind, purpose, recipient }, country, use) => {
    const charges: (Charge & { readonly quota: QuotaName })[] = []
    const person = () =>
      keys.bucketHash('recipient', channel, channel === 'email' ? mailboxOf(recipient) : recipient, kind)
    if (purpose !== 'alarm' && (recipientPer10Minutes > 0 || recipientPerDay > 0)) {
      const bucket = person()
      charges.push(
        { quota: 'recipient-10m', bucket, windowMs: TEN_MINUTES, limit: recipientPer10Minutes },
        { quota: 'recipient-day', bucket, windowMs: DAY, limit: recipientPerDay },
      )
    }
    if (purpose === 'alarm' && alarmRecipientPerHour > 0)
      charges.push({
        quota: 'alarm-recipient-hour',
        bucket: person(),
        windowMs: HOUR,
        limit: alarmRecipientPerHour,
        warnAt: Math.ceil(alarmRecipientPerHour / 2),
      })
    if (channel === 'sms') {
      if (smsPrefixPer10Minutes > 0) {
        const bucket = keys.bucketHash('prefix', recipient.slice(0, -4))
        charges.push({ quota: 'sms-prefix-10m', bucket, windowMs: TEN_MINUTES, limit: smsPrefixPer10Minutes })
      }
      const bucket = `country:${country ?? 'none'}`
      charges.push({ quota: 'sms-country-day', bucket, windowMs: DAY, limit: smsCountryPerDay })
    }
    const { perMinute, perDay } = limits.channel[channel]
    const bucket = `channel:${channel}`
    charges.push(
      {
        quota: `${channel}-minute`,
        bucket,
        windowMs: MINUTE,
        limit: perMinute,
        warnAt: Math.ceil(perMinute / 2),
      },
      { quota: `${channel}-day`, bucket, windowMs: DAY, limit: perDay, warnAt: Math.ceil(perDay / 2) },
    )
    if (use !== undefined) {
      const { fullCarrier, cost } = use
      if (fullCarrier !== undefined)
        charges.push(chargeOfCarrier(fullCarrier, limits.smsCarrierPerDay?.get(fullCarrier) ?? 0))
      charges.push(chargeOfCost(cost, limits.smsCostPerDay ?? 0))
    }
    return charges.filter(({ limit, amount = 1 }) => limit > 0 && amount > 0)
  }
}

/** Makes the charge for one SMS by a carrier. @param limit in a day. */
export function chargeOfCarrier(carrier: string, limit: number): Charge & { readonly quota: QuotaName } {
  const warnAt = Math.ceil(limit / 2)
  return { quota: 'sms-carrier-day', bucket: `carrier:${carrier}`, windowMs: DAY, limit, warnAt }
}

/** The highest value that a counter of the store can hold. */
const NO_LIMIT = 2 ** 31 - 1

/** Makes the charge for what an SMS costs, in whole units. @param limit in a day; 0: none, but the cost is counted for people to see. */
export function chargeOfCost(amount: number, limit: number): Charge & { readonly quota: QuotaName } {
  const charge = { quota: 'sms-cost-day', bucket: 'cost', windowMs: DAY, amount } as const
  return limit > 0 ? { ...charge, limit, warnAt: Math.ceil(limit / 2) } : { ...charge, limit: NO_LIMIT }
}
