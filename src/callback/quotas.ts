import type { NewMessage } from '../messages/message.ts'
import type { KeyedHashes } from '../outbox/encryption.ts'
import type { Charge } from '../outbox/outbox.ts'
import { mailboxOf } from './recipients.ts'

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
 * - Per recipient and kind: codes and links, so that nobody is flooded with them. Alarms have a quota of their own, wide enough
 *   for any device but one that has gone mad. An address counts by its mailbox, however it is written.
 * - Per number prefix (the number without its last four digits): against ranges of numbers that earn money by being sent to.
 * - Per country and per channel: limits for the whole account; a channel's warns from half of it on, while there is time to act.
 * - By cost: the probable cost of the message.
 * - A carrier's own quota counts what the carrier is handed. At acceptance it refuses only what no carrier has room for.
 *
 * @param keys make a counter's name, so that no number or address stands in it.
 */
export function createChargesOf(
  limits: QuotaLimits,
  keys: Pick<KeyedHashes, 'bucketHash'>,
): (message: NewMessage, country: string | undefined, use?: ExpectedUse) => readonly Charge[] {
  return (message, country, use) => {
    const charges = [
      ...chargesOfRecipient(limits, keys, message),
      ...(message.channel === 'sms' ? chargesOfNumber(limits, keys, message, country) : []),
      ...chargesOfChannel(limits, message),
      ...(use === undefined ? [] : chargesOfUse(limits, use)),
    ]
    return charges.filter(({ limit, amount = 1 }) => limit > 0 && amount > 0)
  }
}

interface NamedCharge extends Charge {
  readonly quota: QuotaName
}

/** The use that an SMS will probably make of quotas, by the first carrier of its route that it fits. */
export interface ExpectedUse {
  /** That carrier, when it and all others that the message fits are full; otherwise it is counted where it is sent. */
  readonly fullCarrier: string | undefined
  /** In units of SMS_COSTS. */
  readonly cost: number
}

function chargesOfRecipient(
  { recipientPer10Minutes, recipientPerDay, alarmRecipientPerHour }: QuotaLimits,
  keys: Pick<KeyedHashes, 'bucketHash'>,
  { channel, kind, purpose, recipient }: NewMessage,
): readonly NamedCharge[] {
  const isAlarm = purpose === 'alarm'
  if (isAlarm ? alarmRecipientPerHour === 0 : recipientPer10Minutes === 0 && recipientPerDay === 0) return []
  const person = channel === 'email' ? mailboxOf(recipient) : recipient
  const bucket = keys.bucketHash('recipient', channel, person, kind)
  if (!isAlarm)
    return [
      { quota: 'recipient-10m', bucket, windowMs: TEN_MINUTES, limit: recipientPer10Minutes },
      { quota: 'recipient-day', bucket, windowMs: DAY, limit: recipientPerDay },
    ]
  const warnAt = Math.ceil(alarmRecipientPerHour / 2)
  return [{ quota: 'alarm-recipient-hour', bucket, windowMs: HOUR, limit: alarmRecipientPerHour, warnAt }]
}

function chargesOfNumber(
  { smsPrefixPer10Minutes: perPrefix, smsCountryPerDay }: QuotaLimits,
  keys: Pick<KeyedHashes, 'bucketHash'>,
  { recipient }: NewMessage,
  country = 'none',
): readonly NamedCharge[] {
  const ofCountry = {
    quota: 'sms-country-day',
    bucket: `country:${country}`,
    windowMs: DAY,
    limit: smsCountryPerDay,
  } as const
  if (perPrefix === 0) return [ofCountry]
  const bucket = keys.bucketHash('prefix', recipient.slice(0, -4))
  return [{ quota: 'sms-prefix-10m', bucket, windowMs: TEN_MINUTES, limit: perPrefix }, ofCountry]
}

function chargesOfChannel(limits: QuotaLimits, { channel }: NewMessage): readonly NamedCharge[] {
  const { perMinute, perDay } = limits.channel[channel]
  const bucket = `channel:${channel}`
  const warnAt = (limit: number) => Math.ceil(limit / 2)
  return [
    { quota: `${channel}-minute`, bucket, windowMs: MINUTE, limit: perMinute, warnAt: warnAt(perMinute) },
    { quota: `${channel}-day`, bucket, windowMs: DAY, limit: perDay, warnAt: warnAt(perDay) },
  ]
}

function chargesOfUse(limits: QuotaLimits, { fullCarrier, cost }: ExpectedUse): readonly NamedCharge[] {
  const ofCost = chargeOfCost(cost, limits.smsCostPerDay ?? 0)
  if (fullCarrier === undefined) return [ofCost]
  return [chargeOfCarrier(fullCarrier, limits.smsCarrierPerDay?.get(fullCarrier) ?? 0), ofCost]
}

/** Makes the charge for one SMS by a carrier. @param limit in a day. */
export function chargeOfCarrier(carrier: string, limit: number): NamedCharge {
  const warnAt = Math.ceil(limit / 2)
  return { quota: 'sms-carrier-day', bucket: `carrier:${carrier}`, windowMs: DAY, limit, warnAt }
}

/** Makes the charge for what an SMS costs, in whole units. @param limit in a day; 0: none, but the cost is counted for people to see. */
export function chargeOfCost(amount: number, limit: number): NamedCharge {
  const charge = { quota: 'sms-cost-day', bucket: 'cost', windowMs: DAY, amount } as const
  return limit > 0
    ? { ...charge, limit, warnAt: Math.ceil(limit / 2) }
    : { ...charge, limit: Number.POSITIVE_INFINITY }
}
