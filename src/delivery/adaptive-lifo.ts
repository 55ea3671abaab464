import type { Purpose } from '../messages/message.ts'
import { createStringMap } from '../runtime/collections.ts'

/** The parts of an entry that the order depends on. */
export interface QueueEntry {
  readonly message: { readonly purpose: Purpose; readonly arrivedAt: number }
  /** Codes of one group: the newest is the only one that is sent. */
  readonly groupKey?: string
}

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
 * Each class is an array in the order of arrival. Entries are nearly always added and taken at its ends; any other is found by
 * bisection. Neither Map nor Set holds an entry, see runtime/collections.ts. The delivery decides how many may wait.
 */
export function createAdaptiveLifo<E extends QueueEntry>() {
  const codes = createPriorityClass<E>()
  const others = createPriorityClass<E>()
  const groups = createStringMap<E>()

  function forgetGroup(entry: E | undefined): E | undefined {
    if (entry?.groupKey !== undefined && groups.get(entry.groupKey) === entry) groups.delete(entry.groupKey)
    return entry
  }

  /** Takes out the code of this group, if it arrived before that moment, ms since the epoch; any unless given. */
  function removeByGroup(groupKey: string, before = Infinity): E | undefined {
    const entry = groups.get(groupKey)
    if (entry === undefined || entry.message.arrivedAt >= before) return undefined
    codes.remove(entry)
    return forgetGroup(entry)
  }

  return {
    get length(): number {
      return codes.slots.length + others.slots.length
    },
    /** How many of them are codes. */
    get codes(): number {
      return codes.slots.length
    },
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
      return older
    },
    /**
     * Takes out the next to be sent.
     * @param codesOnly nothing but a code may be.
     * @param mayBegin an entry for which it is false is passed over, and stays where it is.
     */
    takeNext: (now: number, codesOnly = false, mayBegin?: (entry: E) => boolean): E | undefined =>
      forgetGroup(codes.takeNext(now, mayBegin) ?? (codesOnly ? undefined : others.takeNext(now, mayBegin))),
    removeByGroup,
    /** Takes out all entries for which `when` is true. */
    removeWhere(when: (entry: E) => boolean): readonly E[] {
      const removed = [...codes.removeWhere(when), ...others.removeWhere(when)]
      for (const entry of removed) forgetGroup(entry)
      return removed
    },
    /** Takes out so many of those that would be sent last. */
    removeLast(count: number, now: number): readonly E[] {
      const removed = others.removeLast(count, now)
      removed.push(...codes.removeLast(count - removed.length, now))
      for (const entry of removed) forgetGroup(entry)
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
      slots.splice(
        countBefore(slots, at => at <= arrivedAt),
        0,
        { entry, waitingSince },
      )
    },
    takeNext(now: number, mayBegin?: (entry: E) => boolean): E | undefined {
      taken = isBacklog(now) ? taken + 1 : 0
      const isOldest = taken % OLDEST_EVERY === 0
      if (mayBegin === undefined) return (isOldest ? slots.shift() : slots.pop())?.entry
      const isNext = ({ entry }: Slot<E>): boolean => mayBegin(entry)
      const at = isOldest ? slots.findIndex(isNext) : slots.findLastIndex(isNext)
      return at < 0 ? undefined : slots.splice(at, 1)[0]?.entry
    },
    remove(entry: E): void {
      const { arrivedAt } = entry.message
      let at = countBefore(slots, each => each < arrivedAt)
      while (at < slots.length && slots[at]?.entry !== entry) at += 1
      slots.splice(at, 1)
    },
    removeWhere(when: (entry: E) => boolean): E[] {
      const all = slots.splice(0)
      const removed: E[] = []
      for (const slot of all)
        if (when(slot.entry)) removed.push(slot.entry)
        else slots.push(slot)
      return removed
    },
    removeLast(count: number, now: number): E[] {
      const many = Math.max(0, Math.min(count, slots.length))
      const removed = isBacklog(now) ? slots.splice(0, many) : slots.splice(slots.length - many, many)
      return removed.map(({ entry }) => entry)
    },
  }
}

/** Counts by bisection how many come first. @param isBefore true for those at the beginning, in the order of arrival. */
function countBefore(slots: readonly Slot<QueueEntry>[], isBefore: (arrivedAt: number) => boolean): number {
  let low = 0
  let high = slots.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (isBefore(slots[middle]?.entry.message.arrivedAt ?? 0)) low = middle + 1
    else high = middle
  }
  return low
}
