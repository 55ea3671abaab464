import { restAfter } from './backoff.ts'

/** Rests, ms, of which the jitter gives or takes a quarter: 10 s at most, and a minute where the operator has to mend something: repeated logins lock accounts. */
const FIRST_REST_MS = 2000
const MOST_REST_MS = { others: 8000, operator: 48_000 }

/**
 * How one thing does that can fail: a carrier or a part of it, a mailbox, a receiver of events, the robot of a group. What fails
 * rests, and is then tried by one message, or by a connection without any; each rest in a row is longer. Moments are ms since the epoch.
 */
export interface HealthRecord<Fault> {
  /** What it failed for, and since when; null: it is well. */
  fault: (Fault & { readonly since: number }) | null
  /** Nothing tries it before then. */
  until: number
  /** How often in a row it was left alone. */
  rests: number
}

interface RestOptions {
  /** From 0 to 1: what failed together does not come back together; absent where it has nobody beside it. */
  readonly random?: () => number
  /** The rest is that long at least: the other side named a limit. */
  readonly leastMs?: number | undefined
  /** The first rest, when it is not as usual. */
  readonly firstMs?: number | undefined
}

/** It has never failed. */
export function newHealthRecord<Fault>(): HealthRecord<Fault> {
  return { fault: null, until: Number.NEGATIVE_INFINITY, rests: 0 }
}

/** It failed, perhaps again, and rests. @param isForOperator somebody has to mend it @returns for how long, ms */
export function leaveAlone<Fault>(
  record: HealthRecord<Fault>,
  fault: Fault,
  isForOperator: boolean,
  now: number,
  { random, leastMs = 0, firstMs = FIRST_REST_MS }: RestOptions = {},
): number {
  const bounds = { first: firstMs, most: MOST_REST_MS[isForOperator ? 'operator' : 'others'] }
  record.rests += 1
  const ms = Math.max(restAfter(record.rests, bounds, random), leastMs)
  record.fault = { ...fault, since: record.fault?.since ?? now }
  record.until = now + ms
  return ms
}

/** It is well, or nobody knows any more how it is. */
export function recover(record: HealthRecord<unknown>): void {
  Object.assign(record, newHealthRecord())
}
