/**
 * Collections for objects that come and go with every message.
 *
 * Map and Set do not suit that. V8 keeps their entries in a hash table that is used up after some additions and removals
 * and then replaced, and the table that was replaced points at its successor. Once one of the tables is in the old
 * generation (where every full collection puts the current one), it keeps all later tables alive, with the entries that
 * each had when it was replaced, until the next full collection. Nine in ten messages, with their whole request, were
 * found to survive that way: a collection of the young generation took 10 ms instead of one.
 */

/** A set of objects, in no order. */
export function createObjectSet<T>() {
  const slots: { readonly item: T; at: number }[] = []
  return {
    /** @returns a function that takes the item out again. */
    add(item: T): () => void {
      const slot = { item, at: slots.length }
      slots.push(slot)
      return () => {
        if (slot.at < 0) return
        const last = slots.pop()
        if (last !== undefined && last !== slot) {
          slots[slot.at] = last
          last.at = slot.at
        }
        slot.at = -1
      }
    },
    // Iterates over a copy: an item that is taken out meanwhile must not make another be skipped.
    [Symbol.iterator]: () => slots.map(({ item }) => item)[Symbol.iterator](),
  }
}

export function createStringMap<T>() {
  // Without a prototype no name means anything else.
  const things: Record<string, T> = Object.create(null) as Record<string, T>
  let size = 0
  return {
    get: (name: string): T | undefined => things[name],
    set(name: string, thing: T): void {
      if (!(name in things)) size += 1
      things[name] = thing
    },
    delete(name: string): void {
      if (!(name in things)) return
      size -= 1
      delete things[name]
    },
    names: () => Object.keys(things),
    get size() {
      return size
    },
  }
}
