import { quote } from '../../src/language/sentence.ts'
import { type EventQueue, type QueuedEvent, StoreUnavailable } from '../../src/outbox/outbox.ts'

/** A queue in memory, as both stores keep one. @param dropsAtOnce the most events that one call drops. */
export function createQueue(rows: readonly QueuedEvent[] = [], dropsAtOnce = Number.POSITIVE_INFINITY) {
  let next = rows.length
  const state = { fails: false, rows }
  const drops: (readonly [most: number, before: number])[] = []
  /** How many events were asked for at most. */
  const reads: number[] = []
  const queue: EventQueue = {
    async addEvent(event) {
      if (state.fails) throw new StoreUnavailable(quote('no room'))
      const added = { ...event, seq: (next += 1), message: null, data: event.data ?? null }
      state.rows = [...state.rows, added]
    },
    async readEvents(limit) {
      if (state.fails) throw new StoreUnavailable(quote('no room'))
      reads.push(limit)
      return { events: state.rows.slice(0, limit), waiting: state.rows.length }
    },
    async removeEvents(seqs) {
      state.rows = state.rows.filter(({ seq }) => !seqs.includes(seq))
    },
    async dropEvents(most, before) {
      drops.push([most, before])
      const kept = state.rows.slice(-most).filter(({ at }) => at >= before)
      const dropped = state.rows.filter(row => !kept.includes(row)).slice(0, dropsAtOnce)
      state.rows = state.rows.filter(row => !dropped.includes(row))
      return dropped.length
    },
  }
  const fill = (count: number) =>
    Promise.all(
      Array.from({ length: count }, () => queue.addEvent({ type: 'provider.up', at: Date.now(), data: {} })),
    )
  return { queue, state, drops, reads, fill, rows: () => state.rows }
}
