import type { ChannelSpec, Route } from '../delivery/attempt.ts'
import { createCarrier, findMisfit } from '../delivery/carrier.ts'
import type { Channel } from '../messages/message.ts'
import type { Provider } from '../providers/provider.ts'
import type { CarrierReports } from '../reports/carrier-reports.ts'
import type { Clock } from '../runtime/clock.ts'
import { routeOf, type SmsRoutes } from '../settings/senders.ts'
import { countryOf, type Renderer } from '../words/render.ts'

export interface ChannelsOptions {
  readonly providers: readonly Provider[]
  /** It is undefined when there is one SMS carrier at most. */
  readonly routes: SmsRoutes | undefined
  readonly clock: Clock
  readonly random: () => number
  readonly reports: CarrierReports
}

/** Makes the channels that have providers: each provider as a carrier of its own, and the routes that lead messages to them. */
export function createChannels(options: ChannelsOptions): readonly ChannelSpec[] {
  const { providers, routes, reports } = options
  return (['email', 'sms'] as const).map(createChannel).filter(({ carriers }) => carriers.length > 0)

  function createChannel(channel: Channel): ChannelSpec {
    const carriers = providers
      .filter(provider => provider.channel === channel)
      .map(provider => createCarrier(provider, options))
    if (channel === 'email' || routes === undefined) return { channel, carriers, route: () => carriers }
    const route: Route = ({ recipient }) =>
      (routeOf(routes, countryOf(recipient)) ?? []).flatMap(name =>
        carriers.filter(({ provider }) => provider.name === name),
      )
    return { channel, carriers, route, reports }
  }
}

/**
 * Makes the function that renders new messages. The text of an SMS is rendered only when a carrier asks for it, so the carriers of
 * its route are asked whether the message fits, which shows whether it can be rendered. A message that fits none of them for
 * another reason is accepted: the operator has to mend that, and it waits.
 */
export function renderForRoute(
  channels: readonly ChannelSpec[],
  render: Renderer['render'],
): Renderer['render'] {
  const route = channels.find(({ channel }) => channel === 'sms')?.route
  return (message, country) => {
    const outgoing = render(message, country)
    if (outgoing.channel !== 'sms') return outgoing
    const unfit = (route?.(message) ?? []).map(({ provider }) => findMisfit(provider, outgoing))
    // This call throws the reason why it cannot be rendered.
    if (unfit.length > 0 && unfit.every(why => why?.code === 'RENDER')) outgoing.text()
    return outgoing
  }
}
