import type { Channel } from '../messages/message.ts'
import { StoreUnavailable } from '../outbox/outbox.ts'
import { type ClaimsOptions, reportEnded } from './claim.ts'

export interface DisabledChannelsOptions
  extends Pick<ClaimsOptions, 'outbox' | 'clock' | 'verdicts' | 'emit' | 'leaseMs' | 'paused'> {
  readonly channels: readonly Channel[]
  /** Runs a task that ending waits for. */
  readonly trackTask: (task: Promise<void>) => void
}

const EVERY_MS = 60_000

/** Channels that are switched off: what waits there since before is not sent, but it ends with its life. */
export function createDisabledChannels(options: DisabledChannelsOptions) {
  const { outbox, clock, emit, leaseMs, paused, channels, trackTask } = options
  let tidiedAt = Number.NEGATIVE_INFINITY

  async function tidyChannel(channel: Channel): Promise<void> {
    try {
      // The store ends some of it at a time.
      for (let more = true; more && !paused(); ) {
        const { settled } = await outbox.claim(channel, 0, leaseMs)
        reportEnded(settled, options)
        more = settled.length > 0
      }
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      emit({ type: 'store-failed', doing: 'claim', error })
    }
  }

  return {
    /** Lets the store end what is over, unless that was done a short while ago. */
    settleExpired(): void {
      const now = clock.now()
      if (paused() || now - tidiedAt < EVERY_MS) return
      tidiedAt = now
      for (const channel of channels) trackTask(tidyChannel(channel))
    },
  }
}
