import { type ParsedSetting, splitList } from './parsed-setting.ts'
import { isCountryCode } from './senders.ts'

/** A ten-thousandth of the operator's currency, so that sums are whole. */
export const COST_UNITS = 10_000

/** Carrier → country, or `*` for all others → price of a segment, in units. */
export type SmsCosts = ReadonlyMap<string, ReadonlyMap<string, number>>

const COSTS = 'must be prices of a segment such as aliyun:CN=0.045,*=0.5; twilio:*=0.08'

/** `SMS_COSTS`: carriers with their prices, `;` between them. Which carriers there are is not known here. */
export function readCosts(text: string): ParsedSetting<SmsCosts> {
  const costs = new Map<string, ReadonlyMap<string, number>>()
  for (const part of text.split(';').filter(each => each.trim() !== '')) {
    const [carrier = '', list = '', ...more] = part.split(':').map(each => each.trim())
    const prices = splitList(list).map(each => /^([A-Za-z]{2}|\*)=(\d{1,4}(?:\.\d{1,4})?)$/.exec(each))
    const entries = prices.map((found): [string, number] => [
      (found?.[1] ?? '').toUpperCase(),
      Math.round(Number(found?.[2]) * COST_UNITS),
    ])
    const isRight = entries.every(
      ([country, price]) => (country === '*' || isCountryCode(country)) && price >= 0,
    )
    if (carrier === '' || more.length > 0 || entries.length === 0 || !isRight || costs.has(carrier))
      return { fault: `${COSTS}; countries in two letters, * for all others, at most four decimals` }
    costs.set(carrier, new Map(entries))
  }
  return costs.size > 0 ? { value: costs } : { fault: COSTS }
}

/** `QUOTA_SMS_CARRIER_PER_DAY`: carrier → SMS in a day. */
export function readCarrierQuotas(text: string): ParsedSetting<ReadonlyMap<string, number>> {
  const found = splitList(text).map(each => /^([a-z][a-z0-9-]*)=(\d{1,9})$/.exec(each))
  const quotas = new Map(found.map(each => [each?.[1] ?? '', Number(each?.[2])]))
  return found.length > 0 && quotas.size === found.length && !quotas.has('')
    ? { value: quotas }
    : { fault: 'must be carriers, each once, such as aliyun=5000, twilio=500' }
}

/** The price of a segment by a carrier, in units; 0 where none is set. */
export function priceOf(costs: SmsCosts, carrier: string, country: string): number {
  const prices = costs.get(carrier)
  return prices?.get(country) ?? prices?.get('*') ?? 0
}
