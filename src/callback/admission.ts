import { type Readable, Transform } from 'node:stream'
import { BODY_LIMIT } from './body.ts'

/** The memory that all requests with bodies may need together, octets: the image's 512 MB leave that much beside everything else. */
const MOST_MEMORY = 64 * 1024 * 1024
/** The memory that a request needs beside its body, octets: for its connection's buffers, its message and its row. */
export const MEMORY_EACH = 16 * 1024
/** The memory that an octet of a callback needs once it has come: as text, as an object, rendered for its recipients, and as a row. */
const MEMORY_PER_OCTET = 16
/** A body that has not come whole after so long is slow, ms. */
const SLOW_BODY_MS = 50
/** Callbacks that may come at once and not be stored yet; and to a process that has just started, which knows nothing of its rate. */
const BURST = 256
const FIRST_BURST = 512
/** Callbacks that may be unstored in a standing queue, unless they take too long. One commit can take as many, so fewer are no queue. */
const FEW = 64
/** A queue is standing when each callback in so long, ms, found it long, or when it was full; and no more once it was short for a while. */
const STANDS_AFTER_MS = 1000
const DRAINED_AFTER_MS = 100
/** When no callback came for so long, ms, the queue counts as drained. A turn of a busy event loop may take a third of that. */
const FORGOTTEN_AFTER_MS = 500
/** How long a callback may wait in a standing queue until it is stored, beside the commits, ms. */
const WAIT_MS = 200
/** Commits that a callback may wait for: the one that runs when it comes, and its own; twice that is allowed, since slow commits pay only with many calls in them. */
const COMMITS = 4
/**
 * The longest wait of a callback in a standing queue, ms: it has to be answered within a second. Where three commits take longer (the one
 * that runs, one that is full already, and its own), it waits for them, and for no more than so long.
 */
const MOST_WAIT_MS = 900
const MOST_DISK_WAIT_MS = 2000
/** How long an answer may wait for its verdict while others are refused, ms. */
const HURRIED_MS = 100
/** The time that a call adds to its commit, ms: the rest is the disk's. */
const CALL_MS = 0.5
/** How long each takes is measured for so long at a time, ms, for some commits, and over so many callbacks at least. */
const WINDOW_MS = 100
const FEWEST = 16
/** The weight of the latest rate in the mean, and of a commit that takes longer than before. */
const LATEST = 0.3
const LONGER = 0.1

/** Opens the account of a request, which says whether it may hold so many octets instead of those it held; with 0 it is closed. */
export type RequestMemory = (most?: number) => (octets: number) => boolean

/** Counts the memory that requests hold together: those of all routes that take bodies. Up to `most` an account may fill it. */
export function createRequestMemory(): RequestMemory {
  let used = 0
  return (most = MOST_MEMORY) => {
    let held = 0
    let isOpen = true
    return octets => {
      if (!isOpen || (octets > held && used - held + octets > most)) return false
      isOpen = octets > 0
      used += octets - held
      held = octets
      return true
    }
  }
}

/** What the parser of a body gets when there is no room for it. */
export const NO_ROOM = Object.assign(new Error('too many octets at once'), { statusCode: 503 })

/** Counts the octets of a body as they come, unless its head stated how many there are; where they find no room, it ends in NO_ROOM. */
export function countOctets(stated: number, body: Readable, hasRoom = (_octets: number) => false): Readable {
  if (stated !== Number.POSITIVE_INFINITY) return body
  let octets = 0
  const count = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      octets += chunk.length
      next(hasRoom(octets) ? null : NO_ROOM, chunk)
    },
  })
  // Its parser may have given up before; the rest of a body that is answered already is thrown away.
  return body.pipe(count.on('error', () => body.resume()))
}

export interface Admission {
  /** Says whether callbacks wait: what nobody waits for comes after them. */
  hasUnstored(): boolean
  /** @param given octets of its body; Infinity: not known, and counted as they come. @returns null: it is refused. */
  admit(given: number): AdmittedCallback | null
  /** A commit of the store took so long, ms, with so many calls in it. */
  recordCommit(commit: { readonly ms: number; readonly calls: number }): void
}

/** A callback that was admitted. */
export interface AdmittedCallback {
  /** Notes how many octets of its body have come. @returns false: there is no memory for as many. */
  noteOctets(come: number): boolean
  /** Notes that its body has come whole. @returns false: there is no memory for what it needs now, and it is refused after all. */
  noteBodyRead(): boolean
  /** Notes that it was stored, or will not be. @returns how long its answer may wait for a verdict then, ms. */
  noteStored(): number
  /** Notes that it was answered, or that its connection is gone. A second call does nothing. */
  end(): void
}

/**
 * Decides before a callback's body is read whether it can be stored and answered in time. If not, it is refused at once, which
 * costs next to nothing, so that those that were admitted are served; no callback waits to be admitted.
 *
 * Two things decide. *Memory*: how much all admitted callbacks may need. *Time*: how many of them are not stored yet; those whose
 * bodies are slow to come do not count, since no other waits behind them. A burst of many may come at once. When the queue is a
 * standing one (it stays long instead of draining), only as many are admitted as are stored in time: a queue
 * that drains is good, a standing one only adds to everybody's wait (Nichols and Jacobson, "Controlling Queue Delay", ACM Queue
 * 2012; for servers Maurer, "Fail at Scale", ACM Queue 2015).
 *
 * @param monotonic ms, never set.
 */
export function createAdmission(
  monotonic: () => number,
  memory: RequestMemory = createRequestMemory(),
): Admission {
  /** The admitted callbacks that are not stored yet, the oldest first. */
  const unstored = new Set<{ readonly since: number }>()
  /** The time of a commit without what its calls add, near the quickest, ms; 0: not known yet. */
  let commitMs = 0
  /** The time that each callback takes beside the commits, which take all that wait, ms; measured since the queue became long. */
  let eachMs: number | undefined
  let window: { since: number | null; stored: number; commits: number } = { since: 0, stored: 0, commits: 0 }
  /** Callbacks that were stored at all, and how many may come at once. */
  let stored = 0
  let storedAt = 0
  let burst = FIRST_BURST
  /** When a callback came last, since when the queue was short each time (if it was), and since when it has been long each time. */
  let cameAt = Number.NEGATIVE_INFINITY
  let shortSince = Number.NEGATIVE_INFINITY
  let longSince = Number.NEGATIVE_INFINITY
  /** When a callback was last refused because the queue was full. */
  let fullAt = Number.NEGATIVE_INFINITY
  /** The callbacks whose bodies are still coming, the oldest first. */
  const incoming = new Set<{ readonly since: number }>()

  const isDrained = (now: number): boolean =>
    now - shortSince > DRAINED_AFTER_MS || now - cameAt > FORGOTTEN_AFTER_MS
  const isStanding = (now: number): boolean =>
    !isDrained(now) && (fullAt >= longSince || now - longSince >= STANDS_AFTER_MS + COMMITS * commitMs)

  /**
   * Says whether a callback that comes must be refused, and notes since when the queue is short or long. When it gets long, the rate is
   * measured anew.
   */
  function mustRefuse(now: number): boolean {
    measure()
    for (const body of incoming) {
      if (now - body.since < SLOW_BODY_MS) break
      incoming.delete(body)
      unstored.delete(body)
    }
    const mostMs = Math.min(Math.max(MOST_WAIT_MS, 3 * commitMs), MOST_DISK_WAIT_MS)
    const inTimeMs = Math.min(WAIT_MS + COMMITS * commitMs, mostMs)
    // So many are no queue; as soon as it is known how long each takes, no more than are stored in time.
    const few = eachMs === undefined ? FEW : Math.min(FEW, MOST_WAIT_MS / eachMs)
    const [oldest] = unstored
    const wasDrained = isDrained(now)
    cameAt = now
    // Where little CPU is left, few that have waited for long are a queue, too.
    if (unstored.size < few && (oldest === undefined || now - oldest.since < inTimeMs))
      shortSince = wasDrained ? Number.NEGATIVE_INFINITY : Math.min(shortSince, now)
    else {
      shortSince = Number.POSITIVE_INFINITY
      if (wasDrained) {
        longSince = now
        burst = stored < FEW ? FIRST_BURST : BURST
        eachMs = undefined
        window = { since: null, stored: 0, commits: 0 }
      }
    }
    const stands = eachMs !== undefined && isStanding(now)
    const most = Math.max(stands ? few : burst, eachMs === undefined ? 0 : (inTimeMs - 2 * commitMs) / eachMs)
    if (unstored.size < most) return false
    fullAt = now
    return true
  }

  /** Takes the measure of a window that is over. It begins and ends behind a commit, when all that the commit took are counted. */
  function measure(): void {
    const { since, stored, commits } = window
    const lastedMs = storedAt - (since ?? longSince)
    if (since === null ? lastedMs < 0 : lastedMs < WINDOW_MS + COMMITS * commitMs || stored < FEWEST) return
    window = { since: storedAt, stored: 0, commits: 0 }
    if (since === null) return
    const latest = Math.max((lastedMs - commits * commitMs) / stored, CALL_MS)
    eachMs = eachMs === undefined ? latest : eachMs + (latest - eachMs) * LATEST
  }

  return {
    hasUnstored: () => unstored.size > 0,
    admit(given) {
      let octets = given === Number.POSITIVE_INFINITY ? 0 : Math.min(given, BODY_LIMIT)
      const now = monotonic()
      const hold = memory()
      if (mustRefuse(now) || !hold(MEMORY_EACH + octets)) return null
      let isInside = true
      // A slow body does not count until it has come.
      const body = { since: now }
      unstored.add(body)
      incoming.add(body)
      const noteStored = () => {
        const at = monotonic()
        if (unstored.delete(body)) {
          storedAt = at
          stored += 1
          window.stored += 1
        }
        return isStanding(at) ? HURRIED_MS : Number.POSITIVE_INFINITY
      }
      const end = () => {
        if (!isInside) return
        isInside = false
        incoming.delete(body)
        hold(0)
        noteStored()
      }
      return {
        noteOctets(come) {
          octets = come
          return hold(MEMORY_EACH + octets)
        },
        noteBodyRead() {
          incoming.delete(body)
          if (!hold(MEMORY_EACH + octets * MEMORY_PER_OCTET)) return false
          if (!unstored.has(body)) {
            body.since = monotonic()
            unstored.add(body)
          }
          return true
        },
        noteStored,
        end,
      }
    },
    recordCommit({ ms, calls }) {
      window.commits += 1
      const latest = Math.max(0, ms - calls * CALL_MS)
      if (commitMs === 0 || latest < commitMs) commitMs = latest
      else commitMs += (latest - commitMs) * LONGER
    },
  }
}
