import type { Channel } from '../messages/message.ts'
import type { SettledByStore } from './calls.ts'

/**
 * Keeps the messages that ended while another one was accepted (a duplicate that had outlived its life), until the next claim
 * of their channel reports them. `commit` and `rollBack` follow the transaction in which messages were added or taken.
 */
export interface UnreportedEnds {
  add(message: SettledByStore): void
  /** Takes those of a channel; they are kept again if the transaction is rolled back. */
  take(channel: Channel): readonly SettledByStore[]
  commit(): void
  rollBack(): void
}

export function createUnreportedEnds(): UnreportedEnds {
  let committed: readonly SettledByStore[] = []
  let current: SettledByStore[] = []
  return {
    add: message => void current.push(message),
    take(channel) {
      const taken = current.filter(each => each.channel === channel)
      current = current.filter(each => each.channel !== channel)
      return taken
    },
    commit() {
      committed = [...current]
    },
    rollBack() {
      current = [...committed]
    },
  }
}
