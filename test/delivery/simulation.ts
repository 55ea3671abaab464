import { createAdaptiveLifo, type QueueEntry } from '../../src/delivery/adaptive-lifo.ts'
import type { AttemptEnd, Limiter, Place } from '../../src/delivery/limiter.ts'

/** A discrete-event simulation of providers and of those who want something sent: minutes of load in milliseconds. */

/** Simulated time, ms. */
export interface Timeline {
  now(): number
  /** Has something happen after so many ms; of several at the same moment the one that was asked for first. */
  after(ms: number, happen: () => void): void
  /** When something happens next; never: Infinity. */
  next(): number
  /** Lets time pass until that moment, and everything happen that is due. */
  runUntil(moment: number): void
}

export function createTimeline(): Timeline {
  const heap: { readonly at: number; readonly order: number; readonly happen: () => void }[] = []
  let now = 0
  let order = 0

  const before = (a: number, b: number): boolean => {
    const [x, y] = [heap[a], heap[b]]
    return x !== undefined && y !== undefined && (x.at < y.at || (x.at === y.at && x.order < y.order))
  }
  const swap = (a: number, b: number): void => {
    const [x, y] = [heap[a], heap[b]]
    if (x === undefined || y === undefined) return
    heap[a] = y
    heap[b] = x
  }

  function pop(): void {
    swap(0, heap.length - 1)
    const event = heap.pop()
    for (let at = 0; ; ) {
      const left = at * 2 + 1
      const least = before(left + 1, left) ? left + 1 : left
      if (!before(least, at)) break
      swap(at, least)
      at = least
    }
    if (event === undefined) return
    now = event.at
    event.happen()
  }

  return {
    now: () => now,
    after(ms, happen) {
      heap.push({ at: now + Math.max(0, ms), order: (order += 1), happen })
      for (let at = heap.length - 1; at > 0 && before(at, (at - 1) >> 1); at = (at - 1) >> 1)
        swap(at, (at - 1) >> 1)
    },
    next: () => heap[0]?.at ?? Number.POSITIVE_INFINITY,
    runUntil(moment) {
      while ((heap[0]?.at ?? Number.POSITIVE_INFINITY) <= moment) pop()
      now = moment
    },
  }
}

/** Numbers below 1 that a seed determines (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A factor of mean 1 that is distributed log-normally with this coefficient of variation. */
export function jitter(random: () => number, variation: number): number {
  if (variation === 0) return 1
  const variance = Math.log(1 + variation * variation)
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  return Math.exp(Math.sqrt(variance) * normal - variance / 2)
}

/** Takes one message; calls back with its end. */
export type Server = (over: (end: AttemptEnd) => void) => void

const ANSWERED: AttemptEnd = { is: 'answered' }

/** A server whose time for a mail does not depend on how many come at once. @param ms asked for each mail. */
export function steadyServer(time: Timeline, ms: () => number): Server {
  return over => time.after(ms(), () => over(ANSWERED))
}

/** Refuses whoever comes while `most` are being served, after the time of a greeting. */
export function cappedServer(
  time: Timeline,
  inner: Server,
  most: () => number,
  refusal: (serving: number) => AttemptEnd,
  greetingMs = 1,
): Server {
  let serving = 0
  return over => {
    if (serving >= most()) {
      const end = refusal(serving)
      time.after(greetingMs, () => over(end))
      return
    }
    serving += 1
    inner(end => {
      serving -= 1
      over(end)
    })
  }
}

/** Allows so many a second, in a bucket of a tenth of a second's worth or one. */
export function ratedServer(time: Timeline, inner: Server, perSecond: number, retryAfterMs: number): Server {
  const size = Math.max(1, perSecond / 10)
  let tokens = size
  let since = 0
  return over => {
    tokens = Math.min(size, tokens + ((time.now() - since) * perSecond) / 1000)
    since = time.now()
    if (tokens >= 1) {
      tokens -= 1
      inner(over)
    } else time.after(1, () => over({ is: 'throttled', retryAfterMs }))
  }
}

interface Mail extends QueueEntry {
  readonly beganWaiting: number
  readonly answered: () => void
}

/** A scheduler in small: the queue, the limiter and a server. */
export interface Scheduler {
  /** @param answered called once the server has dealt with it. */
  send(purpose: 'code' | 'link', answered?: () => void): void
  /** How long each took from `send` to its answer, ms, in the order of the answers, by purpose. */
  readonly took: { readonly code: number[]; readonly link: number[] }
  /** When each was answered. */
  readonly answeredAt: number[]
  /** When attempts were refused or throttled. */
  readonly refusedAt: number[]
}

/** @throws when something waits although a place is free. */
export function createScheduler(time: Timeline, server: Server, limiter: Limiter): Scheduler {
  const queue = createAdaptiveLifo<Mail>()
  const took = { code: [] as number[], link: [] as number[] }
  const answeredAt: number[] = []
  const refusedAt: number[] = []

  function over(mail: Mail, place: Place, end: AttemptEnd): void {
    limiter.releasePlace(place, end, time.now())
    if (end.is === 'answered') {
      took[mail.message.purpose === 'code' ? 'code' : 'link'].push(time.now() - mail.beganWaiting)
      answeredAt.push(time.now())
      mail.answered()
    } else {
      if (end.is !== 'void') refusedAt.push(time.now())
      queue.add(mail, mail.beganWaiting)
    }
    run()
  }

  function run(): void {
    while (queue.length > 0 && limiter.inFlight < limiter.standing(time.now()).limit) {
      const mail = queue.takeNext(time.now(), false, () => 0)
      if (mail === undefined) throw new Error('the queue is not empty and gives nothing')
      const place = limiter.takePlace(time.now())
      server(end => over(mail, place, end))
    }
    const { pausedUntil } = limiter.standing(time.now())
    if (pausedUntil > time.now()) time.after(pausedUntil - time.now(), run)
    else if (queue.length > 0 && limiter.inFlight === 0)
      throw new Error('nothing is under way, and mail waits')
  }

  return {
    send(purpose, answered = () => {}) {
      const now = time.now()
      queue.add({ message: { purpose, arrivedAt: now, destination: '' }, beganWaiting: now, answered }, now)
      run()
    },
    took,
    answeredAt,
    refusedAt,
  }
}

/** Callers who each send one mail after the other, as soon as the one before was answered. */
export function keepSending(scheduler: Scheduler, callers: number): void {
  const send = (): void => scheduler.send('link', send)
  for (let n = 0; n < callers; n += 1) send()
}

/** @param share such as 0.99. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
