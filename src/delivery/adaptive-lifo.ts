import type { Purpose } from '../messages/message.ts'
import { createStringMap } from '../runtime/collections.ts'

/** The parts of an entry that the order depends on. */
export interface QueueEntry {
  readonly message: { readonly purpose: Purpose; readonly arrivedAt: number; readonly destination: string }
  /** Codes of one group: the newest is the only one that is sent. */
  readonly groupKey?: string
}

/** Which of the two classes goes first. */
export type TakeOrder = 'codes-first' | 'codes-last' | 'codes-alone'

/** There is a backlog once the oldest has waited so long, ms. */
const BACKLOG_MS = 1000
/** In a backlog every so many places go to the oldest. */
const OLDEST_EVERY = 8

/**
 * The queue in memory for one channel's provider: codes before everything else, and within each of the two classes
 * adaptive LIFO (Maurer, "Fail at Scale", ACM Queue 2015). While the oldest has waited less than a second, the order is
 * first come, first served: newest first would let some wait very long. A longer wait is a backlog, and there the newest goes
 * first: the person who asked last is the likeliest to be still in front of the screen. In a backlog every eighth place goes
 * to the oldest. Without that, and with as many new messages as the provider takes, the messages of one hiccup would wait for
 * ever, and the order would stay newest first.
 *
 * Of each class the destinations take turns: who takes the next says how soon each is served, and the order above decides among
 * equals. Each class is an array in the order of arrival. Neither Map nor Set holds an entry, see runtime/collections.ts. The delivery
 * decides how many may wait: some hundred.
 */
export function createAdaptiveLifo<E extends QueueEntry>() {
  const codes = createPriorityClass<E>()
  const others = createPriorityClass<E>()
  const groups = createStringMap<E>()
  /** How many wait for each destination. */
  const waiting = new Map<string, { all: number; codes: number }>()

  function count({ message: { destination, purpose } }: E, more: 1 | -1): void {
    const counted = waiting.get(destination) ?? { all: 0, codes: 0 }
    counted.all += more
    if (purpose === 'code') counted.codes += more
    if (counted.all > 0) waiting.set(destination, counted)
    else waiting.delete(destination)
  }

  function forget<F extends E | undefined>(entry: F): F {
    if (entry === undefined) return entry
    count(entry, -1)
    if (entry.groupKey !== undefined && groups.get(entry.groupKey) === entry) groups.delete(entry.groupKey)
    return entry
  }

  /** Takes out the code of this group, if it arrived before that moment, ms since the epoch; any unless given. */
  function removeByGroup(groupKey: string, before = Infinity): E | undefined {
    const entry = groups.get(groupKey)
    if (entry === undefined || entry.message.arrivedAt >= before) return undefined
    codes.removeWhere(each => each === entry)
    return forget(entry)
  }

  return {
    get length(): number {
      return codes.slots.length + others.slots.length
    },
    /** How many wait, and how many of them are codes, by destination. */
    waiting: waiting as ReadonlyMap<string, { readonly all: number; readonly codes: number }>,
    /**
     * Takes one in.
     * @param waitingSince since when it could have been sent, ms: its arrival, or for a retry the moment that it was due.
     * @returns the older code of its group, taken out; the given one itself when a newer one of its group waits.
     */
    add(entry: E, waitingSince: number): E | undefined {
      const { groupKey, message } = entry
      let older: E | undefined
      if (groupKey !== undefined) {
        const waits = groups.get(groupKey)
        if (waits !== undefined && waits.message.arrivedAt > message.arrivedAt) return entry
        older = removeByGroup(groupKey)
        groups.set(groupKey, entry)
      }
      const ofItsKind = message.purpose === 'code' ? codes : others
      ofItsKind.add(entry, waitingSince)
      count(entry, 1)
      return older
    },
    /**
     * Takes out the next to be sent.
     * @param order whether codes go before all else, behind it, or nothing but a code may be sent.
     * @param rankOf of each class an entry with the lowest is taken; Infinity: it is passed over, and stays where it is.
     */
    takeNext(now: number, order: TakeOrder, rankOf: (entry: E) => number): E | undefined {
      const classes = order === 'codes-last' ? [others, codes] : [codes, others]
      if (order === 'codes-alone') classes.pop()
      for (const each of classes) {
        const taken = each.takeNext(now, rankOf)
        if (taken !== undefined) return forget(taken)
      }
      return undefined
    },
    removeByGroup,
    /** Takes out all entries for which `when` is true. */
    removeWhere(when: (entry: E) => boolean): readonly E[] {
      const removed = [...codes.removeWhere(when), ...others.removeWhere(when)]
      for (const entry of removed) forget(entry)
      return removed
    },
  }
}

interface Slot<E> {
  readonly entry: E
  readonly waitingSince: number
}

/** Codes, or everything else. */
function createPriorityClass<E extends QueueEntry>() {
  /** Oldest first; of those that arrived in the same millisecond the one that was added first. */
  const slots: Slot<E>[] = []
  /** How many have been taken in the present backlog. */
  let taken = 0

  function isBacklog(now: number): boolean {
    const oldest = slots[0]
    return oldest !== undefined && now - oldest.waitingSince >= BACKLOG_MS
  }

  return {
    slots,
    add(entry: E, waitingSince: number): void {
      const { arrivedAt } = entry.message
      const before = slots.findLastIndex(each => each.entry.message.arrivedAt <= arrivedAt)
      slots.splice(before + 1, 0, { entry, waitingSince })
    },
    takeNext(now: number, rankOf: (entry: E) => number): E | undefined {
      const turn = isBacklog(now) ? taken + 1 : 0
      const isOldestFirst = turn % OLDEST_EVERY === 0
      let best = -1
      let lowest = Infinity
      for (let n = 0; n < slots.length && lowest > 0; n += 1) {
        const at = isOldestFirst ? n : slots.length - 1 - n
        const rank = rankOf((slots[at] as Slot<E>).entry)
        if (rank >= lowest) continue
        lowest = rank
        best = at
      }
      if (best < 0) return undefined
      taken = turn
      return slots.splice(best, 1)[0]?.entry
    },
    removeWhere(when: (entry: E) => boolean): readonly E[] {
      const removed = slots.map(({ entry }) => entry).filter(when)
      slots.splice(0, slots.length, ...slots.filter(({ entry }) => !removed.includes(entry)))
      return removed
    },
  }
}
