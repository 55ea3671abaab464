import type { NewMessage } from '../messages/message.ts'
import type { KeyedHashes } from '../outbox/encryption.ts'
import type { Charge, ChargesOf } from '../outbox/outbox.ts'
import { mailboxOf } from './recipients.ts'

const MINUTE = 60_000
const TEN_MINUTES = 10 * MINUTE
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const PER_RECIPIENT = ['recipient-10m', 'recipient-day', 'alarm-recipient-hour'] as const

/** The quotas of each channel, by the names in answers, metrics and the log. */
export const QUOTA_NAMES = {
  email: [...PER_RECIPIENT, 'email-minute', 'email-day'],
  sms: [...PER_RECIPIENT, 'sms-prefix-10m', 'sms-country-day', 'sms-minute', 'sms-day'],
} as const
type QuotaName = (typeof QUOTA_NAMES)[keyof typeof QUOTA_NAMES][number]

/** Limits; 0 switches one off. */
export interface QuotaLimits {
  readonly recipientPer10Minutes: number
  readonly recipientPerDay: number
  readonly alarmRecipientPerHour: number
  readonly smsPrefixPer10Minutes: number
  readonly smsCountryPerDay: number
  readonly channel: Readonly<Record<'email' | 'sms', { readonly perMinute: number; readonly perDay: number }>>
}

/**
 * Makes the list of counters that one message draws on.
 *
 * - Per recipient and kind: codes and links, so that nobody is flooded with them. Alarms have a quota of their own, wide enough
 *   for any device but one that has gone mad. An address counts by its mailbox, however it is written.
 * - Per number prefix (the number without its last four digits): against ranges of numbers that earn money by being sent to.
 * - Per country and per channel: limits for the whole account; a channel's warns from half of it on, while there is time to act.
 *
 * @param keys make a counter's name, so that no number or address stands in it.
 */
export function createChargesOf(limits: QuotaLimits, keys: Pick<KeyedHashes, 'bucketHash'>): ChargesOf {
  return (message, country) => {
    const charges = [
      ...chargesOfRecipient(limits, keys, message),
      ...(message.channel === 'sms' ? chargesOfNumber(limits, keys, message, country) : []),
      ...chargesOfChannel(limits, message),
    ]
    return charges.filter(({ limit }) => limit > 0)
  }
}

interface NamedCharge extends Charge {
  readonly quota: QuotaName
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
