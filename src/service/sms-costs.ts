import type { ChannelSpec } from '../delivery/channel-state.ts'
import { findMisfit } from '../delivery/route.ts'
import type { Emit } from '../events/events.ts'
import type { NewMessage, Outgoing, OutgoingSms } from '../messages/message.ts'
import { countSegments } from '../messages/sms-segments.ts'
import type { Provider } from '../providers/provider.ts'
import { COST_UNITS, priceOf, type SmsCosts } from '../settings/costs.ts'

/** The carrier that is asked first for a message, and its price there, in units. */
export interface ExpectedUse {
  readonly carrier: string
  readonly cost: number
}

/** Tells what a new message will use. @returns undefined for a mail, and for what no carrier can send */
export function createExpectedUse(channels: readonly ChannelSpec[], costs: SmsCosts) {
  const route = channels.find(({ channel }) => channel === 'sms')?.route
  return (message: NewMessage, outgoing: Outgoing): ExpectedUse | undefined => {
    if (outgoing.channel !== 'sms') return undefined
    const first = route?.(message).find(({ provider }) => findMisfit(provider, outgoing) === null)
    if (first === undefined) return undefined
    const carrier = first.provider.name
    return { carrier, cost: costOf(costs, carrier, outgoing) }
  }
}

/** The same provider, which reports what its SMS cost: those that it took, or may have taken. */
export function withCosts(provider: Provider, costs: SmsCosts, emit: Emit): Provider {
  if (!costs.has(provider.name)) return provider
  return {
    ...provider,
    async send(message, ...rest) {
      const outcome = await provider.send(message, ...rest)
      if (message.channel === 'sms' && (outcome.is === 'sent' || outcome.is === 'ambiguous')) {
        const cost = costOf(costs, provider.name, message) / COST_UNITS
        emit({ type: 'sms-cost', provider: provider.name, country: message.country, cost })
      }
      return outcome
    },
  }
}

/** The price of its segments, in our words; of a template carrier's words nothing is known. */
function costOf(costs: SmsCosts, carrier: string, message: OutgoingSms): number {
  const price = priceOf(costs, carrier, message.country)
  return price === 0 ? 0 : price * segmentsOf(message)
}

function segmentsOf({ text }: OutgoingSms): number {
  try {
    return countSegments(text()).segments
  } catch {
    return 1
  }
}
