import { chargeOfCarrier, chargeOfCost, type ExpectedUse } from '../callback/quotas.ts'
import { findMisfit } from '../delivery/route.ts'
import type { Emit } from '../events/events.ts'
import type { Outgoing, OutgoingSms } from '../messages/message.ts'
import { countSegments } from '../messages/sms-segments.ts'
import { type Charge, type QuotaUse, StoreUnavailable } from '../outbox/outbox.ts'
import { notBegun, type Outcome, type Provider } from '../providers/provider.ts'
import type { Clock } from '../runtime/clock.ts'
import { COST_UNITS, priceOf, type SmsCosts } from '../settings/costs.ts'
import { routeOf, type SmsRoutes } from '../settings/routes.ts'

export interface CarrierUseOptions {
  readonly providers: readonly Provider[]
  readonly routes: SmsRoutes | undefined
  readonly costs: SmsCosts
  /** SMS in a day, by carrier. */
  readonly perDay: ReadonlyMap<string, number>
  /** In units of SMS_COSTS; 0: no limit. */
  readonly costPerDay: number
  readonly quotas: Pick<QuotaUse, 'chargeUse' | 'refundUse'>
  readonly clock: Clock
  readonly emit: Emit
}

/** Counts how much SMS use of the carriers' quotas, and of the operator's money. */
export function createCarrierUse(options: CarrierUseOptions) {
  const { providers, routes, costs, perDay, costPerDay, clock, emit } = options
  const findFitting = createFindFitting(providers, routes)
  /** Until when carriers are full, as far as this process knows, ms since the epoch. */
  const full = new Map<string, number>()

  function fullUntil(carrier: string): number | null {
    const until = full.get(carrier) ?? 0
    return until > clock.now() ? until : null
  }

  /** Makes the charges for a message at a carrier: one SMS, and the cost there beyond what was counted at acceptance. */
  function chargesOf(message: OutgoingSms, carrier: string): readonly Charge[] {
    const [first] = findFitting(message)
    const more = costOf(costs, carrier, message) - costOf(costs, first?.name ?? carrier, message)
    const limit = perDay.get(carrier) ?? 0
    return [
      ...(limit > 0 ? [chargeOfCarrier(carrier, limit)] : []),
      ...(more > 0 ? [chargeOfCost(more, costPerDay)] : []),
    ]
  }

  function reportCost(provider: string, message: OutgoingSms, outcome: Outcome): void {
    if (!costs.has(provider) || (outcome.is !== 'sent' && outcome.is !== 'ambiguous')) return
    const cost = costOf(costs, provider, message) / COST_UNITS
    emit({ type: 'sms-cost', provider, country: message.country, cost })
  }

  const sendCounted = createSendCounted(options, full)
  return {
    /**
     * Estimates what a new message will use, by the first carrier of its route that it fits.
     * @returns undefined for a mail, and for a message that no carrier can send
     */
    expectUse(outgoing: Outgoing): ExpectedUse | undefined {
      if (outgoing.channel !== 'sms' || (costs.size === 0 && perDay.size === 0)) return undefined
      const fitting = findFitting(outgoing)
      const [first] = fitting
      if (first === undefined) return undefined
      const isFull = fitting.every(({ name }) => fullUntil(name) !== null)
      return { fullCarrier: isFull ? first.name : undefined, cost: costOf(costs, first.name, outgoing) }
    },
    /**
     * Wraps a carrier: it is handed nothing beyond its quota, and the cost of each SMS that it took, or may have taken, is reported
     * as an event.
     */
    wrapProvider(provider: Provider): Provider {
      if (provider.channel !== 'sms' || (costs.size === 0 && !perDay.has(provider.name))) return provider
      return {
        ...provider,
        fullUntil: () => fullUntil(provider.name),
        async send(message, ...rest) {
          if (message.channel !== 'sms') return provider.send(message, ...rest)
          const outcome = await sendCounted(provider.name, message, chargesOf(message, provider.name), () =>
            provider.send(message, ...rest),
          )
          reportCost(provider.name, message, outcome)
          return outcome
        },
      }
    },
  }
}

/** Makes the function that finds the carriers of its route that a message fits. */
function createFindFitting(providers: readonly Provider[], routes: SmsRoutes | undefined) {
  const carriers = providers.filter(({ channel }) => channel === 'sms')
  const all = carriers.map(({ name }) => name)
  return (message: OutgoingSms): readonly Provider[] =>
    ((routes === undefined ? all : routeOf(routes, message.country)) ?? []).flatMap(name =>
      carriers.filter(each => each.name === name && findMisfit(each, message) === null),
    )
}

/**
 * Reads how much SMS have cost within a day, those under way included, and how much they may, in the operator's currency.
 * @returns null without prices, and when the store does not answer
 */
export async function readCostOfDay(
  { costs, costPerDay }: Pick<CarrierUseOptions, 'costs' | 'costPerDay'>,
  quotas: Pick<QuotaUse, 'readUse'>,
): Promise<{ readonly used: number; readonly limit: number | null } | null> {
  if (costs.size === 0) return null
  try {
    const [units = 0] = await quotas.readUse([chargeOfCost(1, costPerDay)])
    return { used: units / COST_UNITS, limit: costPerDay > 0 ? costPerDay / COST_UNITS : null }
  } catch (error) {
    if (error instanceof StoreUnavailable) return null
    throw error
  }
}

const NOT_COUNTED = notBegun('aborted', 'the store cannot count it now')

/**
 * Makes the function that sends a copy of an SMS and counts it: before it leaves, and takes the count back if it surely was not sent.
 * @param full gets the carriers that are full, and until when.
 */
function createSendCounted({ quotas, clock, emit }: CarrierUseOptions, full: Map<string, number>) {
  function setFull(carrier: string, quota: string, seconds: number): void {
    if (quota === 'sms-carrier-day') full.set(carrier, clock.now() + seconds * 1000)
  }

  /** Makes null of a store that does not answer now; one that cannot take a use back counts one too many. */
  const orNull = (error: unknown): null => {
    if (!(error instanceof StoreUnavailable)) throw error
    return null
  }

  return async (
    carrier: string,
    { kind }: OutgoingSms,
    charges: readonly Charge[],
    send: () => Promise<Outcome>,
  ): Promise<Outcome> => {
    if (charges.length === 0) return send()
    const charged = await quotas.chargeUse(charges).catch(orNull)
    if (charged === null) return NOT_COUNTED
    if (charged.is === 'over-quota') {
      const { quota, retryAfterSeconds } = charged
      emit({ type: 'over-quota', channel: 'sms', kind, quota })
      setFull(carrier, quota, retryAfterSeconds)
      const reply = `the quota ${quota} is used up`
      return { is: 'limit', scope: 'account', code: quota, reply, retryAfterMs: retryAfterSeconds * 1000 }
    }
    for (const quota of charged.nearing) emit({ type: 'near-quota', channel: 'sms', quota })
    for (const { quota, seconds } of charged.full) setFull(carrier, quota, seconds)
    const outcome = await send()
    if (outcome.is === 'sent' || outcome.is === 'ambiguous') return outcome
    full.delete(carrier)
    await quotas.refundUse(charged.windows).catch(orNull)
    return outcome
  }
}

/** Computes the price of an SMS from the segments of our own text; the text of a carrier's template is not known. */
function costOf(costs: SmsCosts, carrier: string, message: OutgoingSms): number {
  const price = priceOf(costs, carrier, message.country)
  return price === 0 ? 0 : price * countSegmentsOf(message)
}

function countSegmentsOf({ text }: OutgoingSms): number {
  try {
    return countSegments(text()).segments
  } catch {
    return 1
  }
}
