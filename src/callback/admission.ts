/** A callback that was admitted. */
export interface AdmittedCallback {
  /** Notes that its body has come whole. @returns false: there is no memory for what it needs now, and it is refused after all. */
  noteBodyRead(): boolean
  /** Notes that it was stored, or will not be. @returns how long its answer may wait for a verdict then, ms. */
  noteStored(): number
  /** Notes that it was answered, or that its connection is gone. A second call does nothing. */
  end(): void
  /** Notes that it is no callback of the platform: it is refused, and does not count in the rate of stored callbacks. */
  withdraw(): void
}

export interface AdmissionOptions {
  /** ms, never set. */
  readonly monotonic: () => number
  /** Octets of a body whose length is not known beforehand. */
  readonly bodyLimit: number
}

/** The memory that all admitted callbacks may need together, octets: the image's 512 MB leave that much beside everything else. */
const MOST_MEMORY = 64 * 1024 * 1024
/** The memory that a callback needs beside its body, octets: for its request, its connection's buffers, its message and its row. */
const MEMORY_EACH = 16 * 1024
/** The memory that an octet of a body needs once it has come: as text, as an object, rendered for its recipients, and as a row. */
const MEMORY_PER_OCTET = 16
/** A body that has not come whole after so long is slow, ms. */
const SLOW_BODY_MS = 50
/** Callbacks that may come at once and not be stored yet. */
const BURST = 256
/** Callbacks that may be unstored in a standing queue. One commit can take as many, so fewer are no queue. */
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
/** The longest wait of a callback in a standing queue, ms: it has to be answered within a second. */
const MOST_WAIT_MS = 900
/** How long an answer may wait for its verdict while others are refused, ms. */
const HURRIED_MS = 100
/** The time that a call adds to its commit, ms: the rest is the disk's. */
const CALL_MS = 0.5
/** The rate is measured for so long at a time, ms, and for some commits. */
const WINDOW_MS = 100
/** The weight of the latest rate in the mean, and of a commit that takes longer than before. */
const LATEST = 0.3
const LONGER = 0.1

export type Admission = ReturnType<typeof createAdmission>

/**
 * Decides before a callback's body is read whether it can be stored and answered in time. If not, it is refused at once, which
 * costs next to nothing, so that those that were admitted are served; no callback waits to be admitted.
 *
 * Two things decide. *Memory*: how much all admitted callbacks may need. *Time*: how many of them are not stored yet; those whose
 * bodies are slow to come do not count, since no other waits behind them. A burst of many may come at once. When the queue is a
 * standing one (it stays long instead of draining), only as many are admitted as are stored in time at the measured rate: a queue
 * that drains is good, a standing one only adds to everybody's wait (Nichols and Jacobson, "Controlling Queue Delay", ACM Queue
 * 2012; for servers Maurer, "Fail at Scale", ACM Queue 2015).
 */
export function createAdmission({ monotonic, bodyLimit }: AdmissionOptions) {
  const commits = createCommitTime()
  const rate = createStoreRate(commits)
  const queue = createQueueWatch(commits)
  const bodies = createIncomingBodies()
  const load = { memory: 0, unstored: 0 }
  const parts = { load, rate, queue, bodies, monotonic }

  function mostUnstored(now: number): number {
    return Math.max(
      queue.isStanding(now) && rate.perMs() > 0 ? FEW : BURST,
      rate.perMs() * Math.min(WAIT_MS + commits.severalMs(), MOST_WAIT_MS),
    )
  }

  /** Notes that a callback comes. @returns whether it must be refused. */
  function mustRefuse(octets: number, now: number): boolean {
    bodies.setSlowAside(now)
    if (queue.noteArrival(now, load.unstored)) rate.restart(now)
    if (load.unstored < mostUnstored(now)) return load.memory + MEMORY_EACH + octets > MOST_MEMORY
    queue.noteFull(now)
    return true
  }

  return {
    /** @param octets of its body; undefined: not known. @returns null: it is refused. */
    admit(octets: number | undefined = bodyLimit): AdmittedCallback | null {
      const now = monotonic()
      return mustRefuse(octets, now) ? null : admitCallback(parts, octets, now)
    },
    /** A commit of the store took so long, ms, with so many calls in it. */
    recordCommit: commits.record,
  }
}

/** The parts of admission that an admitted callback changes. */
interface AdmissionParts {
  /** What all admitted callbacks need together: octets of memory, and how many of them are not stored yet. */
  readonly load: { memory: number; unstored: number }
  readonly rate: ReturnType<typeof createStoreRate>
  readonly queue: ReturnType<typeof createQueueWatch>
  readonly bodies: ReturnType<typeof createIncomingBodies>
  readonly monotonic: () => number
}

/** Adds a callback to the load, and takes it out again as it is stored and answered. */
function admitCallback(
  { load, rate, queue, bodies, monotonic }: AdmissionParts,
  octets: number,
  now: number,
): AdmittedCallback {
  let heldMemory = 0
  let isUnstored = false
  let isInside = true
  let awaitsStore = true
  const holdMemory = (needs: number): void => {
    load.memory += needs - heldMemory
    heldMemory = needs
  }
  const countUnstored = (is: boolean): void => {
    if (isUnstored !== is) load.unstored += is ? 1 : -1
    isUnstored = is
  }
  holdMemory(MEMORY_EACH + octets)
  countUnstored(true)
  // A slow body does not count until it has come.
  const hasCome = bodies.add(now, () => countUnstored(false))
  const noteStored = () => {
    const at = monotonic()
    if (awaitsStore && isUnstored) {
      load.unstored -= 1
      rate.count(at)
    }
    awaitsStore = false
    return queue.isStanding(at) ? HURRIED_MS : Number.POSITIVE_INFINITY
  }
  const end = (): void => {
    if (!isInside) return
    isInside = false
    hasCome()
    holdMemory(0)
    noteStored()
  }
  return {
    noteBodyRead() {
      hasCome()
      const needs = MEMORY_EACH + octets * MEMORY_PER_OCTET
      if (load.memory - heldMemory + needs > MOST_MEMORY) return false
      holdMemory(needs)
      countUnstored(true)
      return true
    },
    noteStored,
    end,
    withdraw() {
      countUnstored(false)
      end()
    },
  }
}

/** Keeps how long a commit takes without what its calls add, near the quickest. */
function createCommitTime() {
  let commitMs: number | undefined
  return {
    record(ms: number, calls: number): void {
      const latest = Math.max(0, ms - calls * CALL_MS)
      commitMs =
        commitMs === undefined || latest < commitMs ? latest : commitMs + (latest - commitMs) * LONGER
    },
    /** @returns how long the commits take that a callback may have to wait for, ms. */
    severalMs: () => COMMITS * (commitMs ?? 0),
  }
}

type CommitTime = ReturnType<typeof createCommitTime>

/** Measures the rate at which callbacks are stored, from the moment on at which the queue became long. */
function createStoreRate(commits: CommitTime) {
  let mean = 0
  let window = { since: 0, stored: 0 }
  return {
    /** @returns callbacks in a ms; 0: not known yet. */
    perMs: () => mean,
    restart(now: number): void {
      mean = 0
      window = { since: now, stored: 0 }
    },
    count(now: number): void {
      window.stored += 1
      if (now - window.since < WINDOW_MS + commits.severalMs()) return
      const latest = window.stored / (now - window.since)
      mean = mean === 0 ? latest : mean + (latest - mean) * LATEST
      window = { since: now, stored: 0 }
    },
  }
}

/** Watches whether the queue of callbacks that are not stored yet drains, or is a standing one. */
function createQueueWatch(commits: CommitTime) {
  /** When a callback came last, since when the queue was short each time (if it was), and since when it has been long each time. */
  let lookedAt = Number.NEGATIVE_INFINITY
  let shortSince = Number.NEGATIVE_INFINITY
  let longSince = Number.NEGATIVE_INFINITY
  /** When a callback was last refused because the queue was full. */
  let fullAt = Number.NEGATIVE_INFINITY

  const isDrained = (now: number): boolean =>
    now - shortSince > DRAINED_AFTER_MS || now - lookedAt > FORGOTTEN_AFTER_MS

  return {
    isStanding: (now: number): boolean =>
      !isDrained(now) && (fullAt >= longSince || now - longSince >= STANDS_AFTER_MS + commits.severalMs()),
    noteFull(now: number): void {
      fullAt = now
    },
    /** Notes that a callback comes. @returns whether the queue is long now after it was drained. */
    noteArrival(now: number, unstored: number): boolean {
      const wasDrained = isDrained(now)
      lookedAt = now
      if (unstored < FEW) {
        shortSince = wasDrained ? Number.NEGATIVE_INFINITY : Math.min(shortSince, now)
        return false
      }
      shortSince = Number.POSITIVE_INFINITY
      if (wasDrained) longSince = now
      return wasDrained
    },
  }
}

/** Keeps the bodies that are still coming. */
function createIncomingBodies() {
  /** Oldest first. */
  const coming = new Set<{ readonly since: number; readonly setAside: () => void }>()
  return {
    /** @param setAside is called once if the body is slow. @returns the function to call when it has come, or never will. */
    add(since: number, setAside: () => void): () => void {
      const body = { since, setAside }
      coming.add(body)
      return () => void coming.delete(body)
    },
    setSlowAside(now: number): void {
      for (const body of coming) {
        if (now - body.since < SLOW_BODY_MS) return
        coming.delete(body)
        body.setAside()
      }
    },
  }
}
