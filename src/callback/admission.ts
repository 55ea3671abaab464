/**
 * Decides before a callback's body is read whether it can be stored and answered in time. A callback that cannot is refused at
 * once, which costs next to nothing, so that those that were let in are served; none waits to be let in.
 *
 * Two things decide. *Memory*: what all callbacks that were let in may need. *Time*: how many of them are not stored yet;
 * those whose bodies are slow to come do not count, since no other waits behind them. A burst of many may come at once; when the
 * queue stands, only as many are let in as are stored in time at the measured rate. (A queue that drains is good, one that
 * stands only adds to everybody's wait: Nichols and Jacobson, "Controlling Queue Delay", ACM Queue 2012, and for servers
 * Maurer, "Fail at Scale", ACM Queue 2015.)
 */
export interface Admission {
  /** @param octets of its body; undefined: not known. @returns null: it is refused. */
  admit(octets: number | undefined): Admitted | null
  /** A commit of the store took so long, ms, with so many calls in it. */
  recordCommit(ms: number, calls: number): void
}

/** A callback that was let in. */
export interface Admitted {
  /** Notes that its body has come whole. @returns false: there is no memory for what it needs now, and it is refused after all. */
  read(): boolean
  /** Notes that it was stored, or will not be. @returns how long its answer may wait for a verdict then, ms. */
  stored(): number
  /** Notes that it was answered, or that its connection is gone. A second call does nothing. */
  end(): void
  /** Notes that it is no callback of the platform: it is refused, and says nothing of how fast callbacks are stored. */
  withdraw(): void
}

export interface AdmissionOptions {
  /** ms, never set. */
  readonly monotonic: () => number
  /** Octets of a body whose length is not known beforehand. */
  readonly bodyLimit: number
}

/** Memory that all callbacks inside may need together: what the image's 512 MB leave beside everything else, octets. */
const MOST_MEMORY = 64 * 1024 * 1024
/** What a callback needs beside its body: its request, its connection's buffers, its message and its row, octets. */
const MEMORY_EACH = 16 * 1024
/** What an octet of a body needs once it has come: as text, as an object, rendered for its recipients, and as a row. */
const MEMORY_PER_OCTET = 16
/** A body that has not come whole after so long is slow, ms. */
const SLOW_BODY_MS = 50
/** Callbacks that may come at once and not be stored yet. */
const BURST = 256
/** Callbacks that may be unstored when the queue stands. One commit can take as many, so their time says nothing of a queue. */
const FEW = 64
/** A queue stands when it was found long again and again for so long, ms, or was full; it stands no more when it was short for a while. */
const STANDS_AFTER_MS = 1000
const DRAINED_AFTER_MS = 100
/** When no callback came for so long, ms, nothing is known of the queue any more. A turn of a busy event loop may take a third of that. */
const FORGOTTEN_AFTER_MS = 500
/** How long a callback may wait until it is stored when the queue stands, beside the commits, ms. */
const WAIT_MS = 200
/** A callback waits for the commit that runs when it comes, and for its own; twice that is allowed, since slow commits pay only with many calls in them. */
const COMMITS = 4
/** The longest wait of a callback in a queue that stands, ms: it has to be answered within a second. */
const MOST_WAIT_MS = 900
/** How long an answer may wait for its verdict while others are refused, ms. */
const HURRIED_MS = 100
/** What a call adds to its commit, ms: the rest is the disk's. */
const CALL_MS = 0.5
/** The rate is measured for so long at a time, ms, and for some commits. */
const WINDOW_MS = 100
/** The weight of the latest rate in the mean, and of a commit that takes longer than before. */
const LATEST = 0.3
const LONGER = 0.1

export function createAdmission({ monotonic, bodyLimit }: AdmissionOptions): Admission {
  let memory = 0
  let unstored = 0
  const commits = createCommitTime()
  const rate = createStoreRate(commits)
  const queue = createQueueWatch(commits)
  const bodies = createComingBodies()

  function mostUnstored(now: number): number {
    return Math.max(
      queue.stands(now) && rate.perMs() > 0 ? FEW : BURST,
      rate.perMs() * Math.min(WAIT_MS + commits.severalMs(), MOST_WAIT_MS),
    )
  }

  function isFull(octets: number, now: number): boolean {
    bodies.setSlowAside(now)
    if (queue.look(now, unstored)) rate.restart(now)
    if (unstored < mostUnstored(now)) return memory + MEMORY_EACH + octets > MOST_MEMORY
    queue.noteFull(now)
    return true
  }

  function enter(octets: number, now: number): Admitted {
    let held = 0
    let counted = false
    let inside = true
    let waits = true
    const hold = (needs: number): void => {
      memory += needs - held
      held = needs
    }
    const count = (is: boolean): void => {
      if (counted !== is) unstored += is ? 1 : -1
      counted = is
    }
    hold(MEMORY_EACH + octets)
    count(true)
    const hasCome = bodies.add(now, () => count(false))
    const stored = () => {
      const at = monotonic()
      if (waits && counted) {
        unstored -= 1
        rate.count(at)
      }
      waits = false
      return queue.stands(at) ? HURRIED_MS : Number.POSITIVE_INFINITY
    }
    const end = (): void => {
      if (!inside) return
      inside = false
      hasCome()
      hold(0)
      stored()
    }
    return {
      read() {
        hasCome()
        const needs = MEMORY_EACH + octets * MEMORY_PER_OCTET
        if (memory - held + needs > MOST_MEMORY) return false
        hold(needs)
        count(true)
        return true
      },
      stored,
      end,
      withdraw() {
        count(false)
        end()
      },
    }
  }

  return {
    admit(octets = bodyLimit) {
      const now = monotonic()
      return isFull(octets, now) ? null : enter(octets, now)
    },
    recordCommit: commits.record,
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

/** Measures the rate at which callbacks are stored since the queue is long. */
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

/** Watches whether the queue of those that are not stored yet drains or stands. */
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
    stands: (now: number): boolean =>
      !isDrained(now) && (fullAt >= longSince || now - longSince >= STANDS_AFTER_MS + commits.severalMs()),
    noteFull(now: number): void {
      fullAt = now
    },
    /** Notes that a callback comes. @returns whether the queue is long now after it was drained. */
    look(now: number, unstored: number): boolean {
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
function createComingBodies() {
  /** Oldest first. */
  const coming = new Set<{ readonly since: number; readonly setAside: () => void }>()
  return {
    /** @param setAside is called once when it is slow. @returns what says that it has come, or never will. */
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
