import type { NewMessage } from '../messages/message.ts'
import type { Charge } from '../outbox/outbox.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

/** Limits; 0 switches one off. */
export interface QuotaLimits {
  readonly recipientPer10Minutes: number
  readonly recipientPerDay: number
  readonly smsPrefixPer10Minutes: number
  readonly smsCountryPerDay: number
  readonly channel: Readonly<Record<'email' | 'sms', { readonly perMinute: number; readonly perDay: number }>>
}

/**
 * Makes the list of counters that one message draws on.
 *
 * Per recipient and kind: codes and links only, so that nobody is flooded with them; an alarm is never held back by
 * it. An address counts without regard to case and without a `+tag`: they reach the same person. Per number prefix
 * (less its last four digits): ranges that are called to be paid for it. Per country and per channel: brakes for the
 * whole account; a channel's is told of from half of it on, while there is time to look.
 *
 * @param hash a keyed hash, so that no number or address stands in a counter's name.
 */
export function createQuotas(
  limits: QuotaLimits,
  hash: (...fields: readonly string[]) => string,
): (message: NewMessage, country: string | undefined) => readonly Charge[] {
  return (message, country) => {
    const charges: Charge[] = []
    const { channel, kind, purpose, recipient } = message
    const charge = (quota: string, limit: number, windowMs: number, bucket: () => string) => {
      if (limit > 0) charges.push({ quota, bucket: bucket(), windowMs, limit })
    }
    if (purpose !== 'alarm') {
      let name: string | undefined
      const bucket = () => (name ??= hash('recipient', channel, personOf(recipient), kind))
      charge('recipient-10m', limits.recipientPer10Minutes, 10 * MINUTE, bucket)
      charge('recipient-day', limits.recipientPerDay, DAY, bucket)
    }
    if (channel === 'sms') {
      charge('sms-prefix-10m', limits.smsPrefixPer10Minutes, 10 * MINUTE, () =>
        hash('prefix', recipient.slice(0, -4)),
      )
      charge('sms-country-day', limits.smsCountryPerDay, DAY, () => `country:${country ?? 'none'}`)
    }
    const brake = (quota: string, limit: number, windowMs: number) => {
      if (limit > 0)
        charges.push({ quota, bucket: `channel:${channel}`, windowMs, limit, warnAt: Math.ceil(limit / 2) })
    }
    brake(`${channel}-minute`, limits.channel[channel].perMinute, MINUTE)
    brake(`${channel}-day`, limits.channel[channel].perDay, DAY)
    return charges
  }
}

function personOf(recipient: string): string {
  return recipient.replace(/(?<=.)\+[^@]*(?=@)/, '').toLowerCase()
}
