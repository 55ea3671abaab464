import type { Channel } from '../messages/message.ts'
import { withTimeout } from '../runtime/clock.ts'
import type { ChannelSpec } from './attempt.ts'
import { type ChannelOptions, createChannel } from './channel.ts'
import type { Delivery } from './port.ts'
import { createSettler } from './settle.ts'

export interface DeliveryOptions extends Omit<ChannelOptions, 'settler' | 'run' | 'work'> {
  readonly channels: readonly ChannelSpec[]
}

/** How often what waits in memory, and who rests, is looked at, ms; and the store, for a channel that is switched off. */
const TIDY_MS = 1000
const OFF_POLL_MS = 5000

/** Makes the delivery: each channel on its own (channel.ts), and what they share: the store's settlements, start and end. */
export function createDelivery(options: DeliveryOptions): Delivery {
  const { outbox, clock, verdicts, emit } = options
  const run = { isStopping: false }
  const work = createWork()
  const settler = createSettler({
    outbox,
    clock,
    verdicts,
    emit,
    onCaughtUp() {
      for (const channel of all) channel.fill()
    },
  })
  const shared = { ...options, settler, run, work }

  function open(channel: Channel) {
    const spec = options.channels.find(each => each.channel === channel)
    if (spec !== undefined) return createChannel(spec, shared)
    // It is switched off: no carrier sends what waits there since before, but the store ends it with its life.
    const off = { ...shared, pollMs: OFF_POLL_MS, idlePollMs: OFF_POLL_MS }
    return createChannel({ channel, carriers: [], route: () => [] }, off)
  }

  const channels = { email: open('email'), sms: open('sms') }
  const all = Object.values(channels)
  let tidying: NodeJS.Timeout | undefined

  return {
    reservePlace: (name, purpose, destination) => channels[name].reservePlace(purpose, destination),
    releasePlace: name => channels[name].releasePlace(),
    submit: handover => channels[handover.message.channel].submit(handover),
    wake: name => channels[name].wake(),
    tryNow: name => channels[name].tryNow(),
    status: () => all.flatMap(channel => channel.status()),
    start() {
      tidying = setInterval(() => {
        if (!settler.isBehind) for (const channel of all) channel.tidy()
      }, TIDY_MS).unref()
      for (const channel of all) channel.fill()
    },
    async stop(graceMs, abortMs) {
      run.isStopping = true
      clearInterval(tidying)
      for (const channel of all) channel.stop()
      await work.endsWithin(graceMs)
      for (const channel of all) channel.abort()
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
