import type { Channel } from '../../messages/message.ts'
import type { Ended } from '../calls.ts'

/**
 * Keeps what was ended in passing, where nobody asked for it (an outlived twin), until the next claim of its channel
 * reports it. Goes with the transaction like the tally.
 */
export interface Aside {
  ended(message: Ended): void
  /** What is to be reported for a channel; kept again if the transaction is undone. */
  take(channel: Channel): readonly Ended[]
  committed(): void
  undone(): void
}

export function createAside(): Aside {
  let kept: readonly Ended[] = []
  let now: Ended[] = []
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
