import type { Channel } from '../../messages/message.ts'
import type { SettledByStore } from '../calls.ts'

/**
 * Keeps what was ended in passing, where nobody asked for it (an outlived twin), until the next claim of its channel
 * reports it. Goes with the transaction like the tally.
 */
export interface UnreportedEnds {
  ended(message: SettledByStore): void
  /** What is to be reported for a channel; kept again if the transaction is undone. */
  take(channel: Channel): readonly SettledByStore[]
  committed(): void
  undone(): void
}

export function createUnreportedEnds(): UnreportedEnds {
  let kept: readonly SettledByStore[] = []
  let now: SettledByStore[] = []
  return {
    ended: message => void now.push(message),
    take(channel) {
      const taken = now.filter(each => each.channel === channel)
      now = now.filter(each => each.channel !== channel)
      return taken
    },
    committed() {
      kept = [...now]
    },
    undone() {
      now = [...kept]
    },
  }
}
