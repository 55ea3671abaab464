import { parsePhoneNumberFromString } from 'libphonenumber-js/max'
import type { Emit } from '../events/events.ts'
import type { NewMessage } from '../messages/message.ts'
import type { Acceptance, ClaimedMessage, FinalState, Outbox } from '../outbox/outbox.ts'
import { storeRecord } from '../outbox/rules.ts'
import type { Clock } from '../runtime/clock.ts'
import { mailboxOf } from './recipients.ts'

/** Says whether a message may be sent while a trial lasts. */
type IsNamed = (message: Pick<NewMessage, 'recipient' | 'content'>) => boolean

/**
 * Makes the function that says whether ONLY_TO names a recipient, however it is written: an address counts by its mailbox, as quotas
 * count it.
 * @param entries numbers, addresses, and `@domain`s.
 */
export function createIsNamed(entries: readonly string[]): IsNamed {
  const named = new Set(entries.map(each => (each.startsWith('@') ? each : canonicalOf(each))))
  const domainOf = (address: string) => address.slice(address.lastIndexOf('@')).toLowerCase()
  return ({ recipient, content }) => {
    if (content.isProbe) return true
    const name = canonicalOf(recipient)
    return [name, domainOf(name), domainOf(recipient)].some(each => named.has(each))
  }
}

function canonicalOf(recipient: string): string {
  return recipient.includes('@')
    ? mailboxOf(recipient)
    : (parsePhoneNumberFromString(recipient)?.number ?? recipient)
}

/**
 * Makes the store's operations of a trial: what is for others is accepted as `held`, and what waits for them from before the trial ends so
 * when its turn comes.
 */
export function holdOthers(
  { accept, claim, settle }: Pick<Outbox, 'accept' | 'claim' | 'settle'>,
  isNamed: IsNamed,
  { now }: Clock,
  emit: Emit,
): Pick<Outbox, 'accept' | 'claim'> {
  /** Nobody is handed it, and no note is left that somebody was told. */
  const hold = ({ lease: _lease, memo: _memo, ...given }: Acceptance): Acceptance => ({
    ...given,
    held: true,
  })

  async function end({ id, channel, kind, lease, ambiguous }: ClaimedMessage) {
    const state: FinalState = ambiguous > 0 ? 'unknown' : 'held'
    const records = [storeRecord('held', now())]
    const settled = await settle(id, lease, { to: 'final', state, answer: null, records })
    return settled.state === 'lost' ? [] : [{ id, channel, kind, state: settled.state as FinalState }]
  }

  return {
    async accept(messages) {
      const accepted = await accept(messages.map(each => (isNamed(each.message) ? each : hold(each))))
      for (const [at, { message }] of messages.entries()) {
        const { id, channel, kind } = message
        if (accepted[at]?.is === 'held')
          emit({ type: 'final', id, channel, kind, state: 'held', answer: null })
      }
      return accepted
    },
    async claim(...asked) {
      const claimed = await claim(...asked)
      const others = claimed.messages.filter(each => !isNamed(each))
      if (others.length === 0) return claimed
      const ended = (await Promise.all(others.map(end))).flat()
      const messages = claimed.messages.filter(each => !others.includes(each))
      return { ...claimed, messages, settled: [...claimed.settled, ...ended] }
    },
  }
}
