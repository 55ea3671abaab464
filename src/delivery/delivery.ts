import type { Channel } from '../messages/message.ts'
import { withTimeout } from '../runtime/clock.ts'
import type { ChannelSpec } from './attempt.ts'
import { type ChannelOptions, createChannel, type DeliveryChannel } from './channel.ts'
import type { Delivery } from './port.ts'
import { createSettler } from './settle.ts'

export interface DeliveryOptions extends Omit<ChannelOptions, 'settler' | 'run' | 'work'> {
  readonly channels: readonly ChannelSpec[]
}

/** How often what waits in memory, and who rests, is looked at, ms; and what is over in a channel that is switched off. */
const TIDY_MS = 1000
const END_OVER_MS = 60_000

/** Makes the delivery: each channel on its own (channel.ts), and what they share: the store's settlements, start and end. */
export function createDelivery(options: DeliveryOptions): Delivery {
  const { outbox, clock, verdicts, emit } = options
  const run = { isStopping: false }
  const timers: NodeJS.Timeout[] = []
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

  function channelOf(name: Channel): DeliveryChannel {
    const channel = channels.get(name)
    if (channel === undefined) throw new Error(`no provider for ${name}`)
    return channel
  }

  /** Does something now and then, while the store takes the ends of messages. */
  function repeat(everyMs: number, task: () => void): void {
    timers.push(setInterval(() => settler.isBehind || task(), everyMs).unref())
  }

  /** Lets the store end what is over in a channel that is switched off: what waits there since before is not sent, but ends with its life. */
  async function endOver(): Promise<void> {
    work.begin()
    for (const channel of disabled)
      while (!run.isStopping && !settler.isBehind)
        if (!(await settler.endOver(channel, options.leaseMs))) break
    work.end()
  }

  return {
    reservePlace: (name, purpose, destination) => channels.get(name)?.reservePlace(purpose, destination),
    releasePlace: name => channelOf(name).releasePlace(),
    submit: handover => channelOf(handover.message.channel).submit(handover),
    wake: name => channelOf(name).wake(),
    tryNow: name => channelOf(name).tryNow(),
    status: () => [...channels.values()].flatMap(channel => channel.status()),
    start() {
      repeat(TIDY_MS, () => channels.forEach(channel => channel.tidy()))
      repeat(END_OVER_MS, () => void endOver())
      for (const channel of channels.values()) channel.fill()
      void endOver()
    },
    async stop(graceMs, abortMs) {
      run.isStopping = true
      for (const timer of timers) clearInterval(timer)
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
