import type { Channel } from '../messages/message.ts'
import type { SettledByStore } from './calls.ts'

export type UnreportedEnds = ReturnType<typeof createUnreportedEnds>

/**
 * Keeps the messages that ended while another one was accepted (a duplicate that had outlived its life), until the next claim
 * of their channel reports them. `commit` and `rollBack` follow the transaction in which messages were added or taken.
 */
export function createUnreportedEnds() {
  let committed: readonly SettledByStore[] = []
  let current: SettledByStore[] = []
  return {
    add: (message: SettledByStore) => void current.push(message),
    /** Takes those of a channel; they are kept again if the transaction is rolled back. */
    take(channel: Channel): readonly SettledByStore[] {
      const taken = current.filter(each => each.channel === channel)
      current = current.filter(each => each.channel !== channel)
      return taken
    },
    commit(): void {
      committed = [...current]
    },
    rollBack(): void {
      current = [...committed]
    },
  }
}
