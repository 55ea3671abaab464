import type { Channel } from '../messages/message.ts'
import { withTimeout } from '../runtime/clock.ts'
import type { ChannelSpec } from './attempt.ts'
import { type ChannelOptions, createChannel, type DeliveryChannel } from './channel.ts'
import type { Delivery } from './port.ts'
import { createSettler } from './settle.ts'

export interface DeliveryOptions extends Omit<ChannelOptions, 'settler' | 'run' | 'work'> {
  readonly channels: readonly ChannelSpec[]
}

/** How often the messages that wait in memory are searched for those that have waited too long, ms. */
const SWEEP_MS = 5000
/** How often the store ends what is over in a channel that is switched off, ms. */
const DISABLED_MS = 60_000

/** Makes the delivery: each channel on its own (channel.ts), and what they share: the store's settlements, start and end. */
export function createDelivery(options: DeliveryOptions): Delivery {
  const { outbox, clock, verdicts, emit } = options
  const run = { isStopping: false }
  let sweeper: NodeJS.Timeout | undefined
  const work = createWork()
  const channels = new Map<Channel, DeliveryChannel>()
  const settler = createSettler({
    outbox,
    clock,
    verdicts,
    emit,
    onCaughtUp() {
      for (const channel of channels.values()) channel.fill()
    },
  })
  const shared = { ...options, settler, run, work }
  for (const spec of options.channels) channels.set(spec.channel, createChannel(spec, shared))
  const disabled = (['email', 'sms'] as const).filter(channel => !channels.has(channel))
  let disabledAt = Number.NEGATIVE_INFINITY

  function channelOf(name: Channel): DeliveryChannel {
    const channel = channels.get(name)
    if (channel === undefined) throw new Error(`no provider for ${name}`)
    return channel
  }

  /** Lets the store end what is over in a channel that is switched off: what waits there since before is not sent, but ends with its life. */
  async function endDisabled(channel: Channel): Promise<void> {
    work.begin()
    while (!run.isStopping && !settler.isBehind) {
      const { hasEnded } = await settler.endOver(channel, options.leaseMs)
      if (!hasEnded) break
    }
    work.end()
  }

  /** Does that, unless it was done a short while ago. */
  function tidyDisabled(): void {
    const now = clock.now()
    if (run.isStopping || settler.isBehind || now - disabledAt < DISABLED_MS) return
    disabledAt = now
    for (const channel of disabled) void endDisabled(channel)
  }

  /** A message that waits for long goes back before its lease runs out unnoticed. */
  function sweep(): void {
    if (settler.isBehind) return
    for (const channel of channels.values()) channel.sweep()
    tidyDisabled()
  }

  return {
    reservePlace: (name, purpose, destination) => channels.get(name)?.reservePlace(purpose, destination),
    releasePlace: (name, destination) => channelOf(name).releasePlace(destination),
    isVerdictFar: (name, destination) => channelOf(name).isVerdictFar(destination),
    submit: handover => channelOf(handover.message.channel).submit(handover),
    wake: (name, code, destination) => channelOf(name).wake(code, destination),
    tryNow: name => channelOf(name).tryNow(),
    status: () => [...channels.values()].flatMap(channel => channel.status()),
    start() {
      sweeper = setInterval(sweep, Math.min(SWEEP_MS, options.leaseMs - options.attemptWithinMs)).unref()
      for (const channel of channels.values()) channel.wake()
      tidyDisabled()
    },
    async stop(graceMs, abortMs) {
      run.isStopping = true
      clearInterval(sweeper)
      for (const channel of channels.values()) channel.stop()
      await work.endsWithin(graceMs)
      for (const channel of channels.values()) channel.abort()
      await work.endsWithin(abortMs)
      settler.abandon()
      // Callbacks that came meanwhile are stored: they are answered before their connections are closed.
      verdicts.end()
    },
  }
}

/** Counts attempts, settlements, claims and kept places that have begun and not ended: a drain waits for them. */
function createWork() {
  let underWay = 0
  let onIdle: (() => void) | undefined
  return {
    begin(): void {
      underWay += 1
    },
    end(): void {
      underWay -= 1
      if (underWay === 0) onIdle?.()
    },
    /** Resolves when nothing is under way, or after `ms`. */
    async endsWithin(ms: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      onIdle = resolve
      if (underWay === 0) resolve()
      await withTimeout(ms, promise)
    },
  }
}
