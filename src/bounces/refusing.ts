import type { NewMessage } from '../messages/message.ts'
import type { Acceptance, Accepted, Outbox, Summary } from '../outbox/outbox.ts'
import { bounceNote } from '../outbox/rules.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** While more than this share of the mails of an hour come back, of this many at least, the fault is ours, and nothing is refused. */
const OUR_FAULT = { share: 0.2, fewest: 20 }

/**
 * Makes the acceptance of messages that leaves out mails to addresses from which mail came back lately: registration links, alarms
 * and files. Codes and links of people who have an account are never refused: whoever cannot be reached for a while must not be locked
 * out for it.
 */
export function refuseBounced(outbox: Outbox, now: () => number): Outbox['accept'] {
  async function findRefused(messages: readonly Acceptance[]): Promise<ReadonlySet<Acceptance>> {
    const refusable = messages.filter(each => !each.held && lifeOfRefusal(each.message) !== null)
    if (refusable.length === 0) return new Set()
    const names = [...new Set(refusable.map(({ recipientHash }) => bounceNote(recipientHash)))]
    const notes = await outbox.memos.readMemos(names)
    const refused = refusable.filter(({ message, recipientHash }) => {
      const times = JSON.parse(notes.get(bounceNote(recipientHash)) ?? '[]') as readonly number[]
      return isRefused(message, times, now())
    })
    if (refused.length === 0) return new Set()
    return new Set(isOurFault(await outbox.queries.readSummary(now() - HOUR_MS)) ? [] : refused)
  }

  return async messages => {
    const refused = await findRefused(messages)
    if (refused.size === 0) return outbox.accept(messages)
    const accepted = [...(await outbox.accept(messages.filter(each => !refused.has(each))))]
    return messages.map((each): Accepted => {
      if (refused.has(each)) return { is: 'bounced' }
      const next = accepted.shift()
      if (next === undefined) throw new Error('the outbox answered fewer messages than it was given')
      return next
    })
  }
}

/** Counts the addresses that some mails are left out to now. @param lastHour what the store holds of it. */
export function countLeftOut(lastHour: Summary): number {
  return isOurFault(lastHour) ? 0 : lastHour.leftOut
}

function isOurFault({ counts, bounced }: Summary): boolean {
  const sent = counts.reduce(
    (sum, { channel, state, count }) => (channel === 'email' && state === 'sent' ? sum + count : sum),
    0,
  )
  return sent >= OUR_FAULT.fewest && bounced > sent * OUR_FAULT.share
}

/** How long a mail that came back makes us refuse a message, ms; null: it is never refused. */
function lifeOfRefusal({ channel, kind, purpose }: NewMessage): number | null {
  if (channel !== 'email') return null
  if (purpose === 'alarm' || purpose === 'file') return DAY_MS
  return kind === 'registration-activation' ? 15 * MINUTE_MS : null
}

/** @param times of the first and the latest two mails that came back, ms since the epoch. */
export function isRefused(message: NewMessage, times: readonly number[], now: number): boolean {
  const life = lifeOfRefusal(message)
  const last = times.at(-1)
  if (life === null || last === undefined) return false
  // One report may be forged: it silences no alarm.
  if (life === DAY_MS && last - (times[0] ?? 0) < HOUR_MS) return false
  const isTwice = times.length > 1 && last - (times.at(-2) ?? 0) <= DAY_MS
  return now - last < (isTwice ? DAY_MS : life)
}
