import { NUMBER_LIMIT } from '../numbered-callbacks.ts'

/** The messages that a sink got. */
export interface Received {
  readonly messages: number
  /** Numbers that came more than once. */
  readonly doubled: number
  /** Messages without the code of their recipient, or to nobody that the bench knows. */
  readonly wrong: number
  /** Of the numbers asked about, those that never came. */
  readonly missing: number
}

/** Counts messages by their number. */
export interface Tally {
  count(number: number, right: boolean): void
  received(asked: readonly (readonly [from: number, to: number])[]): Received
}

export function createTally(): Tally {
  let counts = new Uint8Array(1 << 20)
  let messages = 0
  let doubled = 0
  let wrong = 0
  return {
    count(number, right) {
      messages += 1
      if (!right || !(number > 0 && number < NUMBER_LIMIT)) {
        wrong += 1
        return
      }
      if (number >= counts.length) {
        const more = new Uint8Array(2 ** Math.ceil(Math.log2(number + 1)))
        more.set(counts)
        counts = more
      }
      counts[number] = Math.min(255, (counts[number] ?? 0) + 1)
      if (counts[number] === 2) doubled += 1
    },
    received(asked) {
      let missing = 0
      for (const [from, to] of asked)
        for (let number = from; number <= to; number++) if (!counts[number]) missing += 1
      return { messages, doubled, wrong, missing }
    },
  }
}
