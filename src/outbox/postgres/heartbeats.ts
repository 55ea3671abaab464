import { StoreUnavailable } from '../outbox.ts'
import { ask, type Client, type Connections, type Statement, together } from './connect.ts'

/**
 * Which processes on the database are alive.
 *
 * A lease outlives the longest attempt, so that nobody takes over what is still being tried; what a dead process has
 * claimed would wait as long. So each process reports every few seconds, and what one has claimed that reports no
 * more is taken over without waiting for its leases. Two rules make that safe, by monotonic clocks only:
 *
 * - a process that could not report for `sureMs` begins nothing any more under the claims that it made before
 * - another one is gone when, while this one reported all the time, nothing was heard of it for `goneMs`, which is
 *   longer; so after an outage of the database itself nobody is gone before everybody had the time to come back
 */
export interface ReplicaHeartbeats {
  /** Names a claim, unique for every claim ever made: process, how often it was out of touch before, a counter. */
  newLeaseToken(): string
  /** Whether what was claimed under this name, or a token that begins with it, surely belongs to us still. */
  isHeld(name: string): boolean
  /** Reports at once when the last report is too old to claim anything. Rejects when the database cannot be reached. */
  confirmAlive(): Promise<void>
  /** Processes that are gone, each with the last report that was seen of it. */
  deadReplicas(): readonly DeadReplica[]
  /** Counts the reports: what is gone need not be looked through more often. */
  reports(): number
  /** Ends the reporting. What this process has claimed and not given back may be taken over at once. */
  leave(): Promise<void>
}

export interface DeadReplica {
  readonly name: string
  /** How many reports it had made. */
  readonly reports: number
}

export interface HeartbeatLimits {
  /** How often a process reports, ms. */
  readonly everyMs: number
  /** How long a report lets a process begin attempts, ms. */
  readonly sureMs: number
  /** Without a report for so long, a process is gone, ms; more than `sureMs` and a statement's time limit. */
  readonly goneMs: number
}

export const HEARTBEAT_LIMITS: HeartbeatLimits = { everyMs: 2000, sureMs: 8000, goneMs: 12_000 }

export interface HeartbeatOptions {
  /** A connection of its own: a report must not wait behind the service's work. */
  readonly connections: Pick<Connections, 'use'>
  /** This process's name, unlike any other ever. Without a dot. */
  readonly name: string
  readonly limits: HeartbeatLimits
  /** ms, from any origin, never set. */
  readonly monotonic: () => number
  /** Hears the database's time with each report, ms since the epoch, and what it took to ask, ms. */
  readonly databaseTime: (at: number, tookMs: number) => void
  readonly log: (event: { readonly doing: string; readonly message: string }) => void
}

/** Reports once, then goes on by itself. Rejects when the database cannot be reached. */
export async function startHeartbeats(options: HeartbeatOptions): Promise<ReplicaHeartbeats> {
  const { connections, name, limits, monotonic, log } = options
  /** When the last report was sent that was acknowledged. */
  let reportedAt = Number.NEGATIVE_INFINITY
  let reports = 0
  let lapses = 0
  let claims = 0
  const sightings = new Map<string, { reports: number; since: number; left: boolean }>()
  let gone: readonly DeadReplica[] = []
  let reporting: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let ended = false

  const sure = () => monotonic() - reportedAt < limits.sureMs
  const prefix = () => `${name}.${lapses.toString(36)}.`

  async function report(): Promise<void> {
    const sentAt = monotonic()
    const others = await connections.use(client => exchange(client, options))
    // From before the last report reached the database until after this one did.
    const away = monotonic() - reportedAt
    if (away >= limits.sureMs && reports > 0) {
      lapses += 1
      const message = `out of touch for ${Math.round(away / 1000)} s: what was claimed before and has not begun is given back`
      log({ doing: 'report that this process is alive', message })
    }
    // Nobody else may have been able to report either.
    if (away > 2 * limits.everyMs) sightings.clear()
    reportedAt = sentAt
    reports += 1
    gone = look(others, sentAt)
  }

  /** @param sentAt before the others' reports were read, so nothing is thought unchanged for longer than it was. */
  function look(others: readonly Other[], sentAt: number): readonly DeadReplica[] {
    const now = monotonic()
    const names = new Set(others.map(each => each.name))
    for (const known of sightings.keys()) if (!names.has(known)) sightings.delete(known)
    for (const { name: other, reports: count, left } of others) {
      if (other !== name && sightings.get(other)?.reports !== count) {
        sightings.set(other, { reports: count, since: now, left })
      }
    }
    return [...sightings]
      .filter(([, seen]) => seen.left || sentAt - seen.since >= limits.goneMs)
      .map(([other, seen]) => ({ name: other, reports: seen.reports }))
  }

  /** One report at a time; who asks meanwhile waits for the same one. */
  function reportNow(): Promise<void> {
    clearTimeout(timer)
    reporting ??= reportAndGoOn()
    return reporting
  }

  async function reportAndGoOn(): Promise<void> {
    let wait = limits.everyMs / 4
    try {
      await report()
      wait = limits.everyMs
    } finally {
      reporting = undefined
      if (!ended) timer = setTimeout(() => void reportNow().catch(() => {}), wait).unref()
    }
  }

  await reportNow()
  return {
    newLeaseToken: () => `${prefix()}${((claims += 1)).toString(36)}`,
    isHeld: claim => sure() && claim.startsWith(prefix()),
    async confirmAlive() {
      // Twice: the first report may have been sent long ago, before this process was stopped.
      for (let tries = 0; tries < 2 && !sure(); tries += 1) await reportNow()
      if (!sure()) throw new StoreUnavailable('the database answers too late')
    },
    deadReplicas: () => gone,
    reports: () => reports,
    async leave() {
      ended = true
      clearTimeout(timer)
      await reporting?.catch(() => {})
      // Without the database, the others notice by themselves.
      await connections.use(client => leave(client, name)).catch(() => {})
    },
  }
}

interface Other extends DeadReplica {
  readonly left: boolean
}

/** Writes that this process is alive, and reads who else has been. */
async function exchange(
  client: Client,
  { name, monotonic, databaseTime }: HeartbeatOptions,
): Promise<readonly Other[]> {
  const began = monotonic()
  // Each commits by itself, so that a process that is stopped here holds no lock.
  const [reported, read] = await together(ask(client, REPORT, name), ask(client, EVERYBODY))
  databaseTime(reported.rows[0]?.['at'] as number, monotonic() - began)
  return read.rows.map(row => ({
    name: row['name'] as string,
    reports: row['reports'] as number,
    left: row['has_left'] as boolean,
  }))
}

async function leave(client: Client, name: string): Promise<void> {
  await together(ask(client, LEAVE, name), ask(client, FORGET, name))
}

/** Keeps the gone from coming back while what they had claimed is taken over: a report waits for this transaction. */
export const LOCK_DEAD_REPLICAS: Statement = {
  name: 'hold-gone',
  text: 'SELECT name FROM courier_owners WHERE name = ANY($1::text[]) ORDER BY name FOR SHARE',
}
/** The names of those that have not reported since they were seen; `$2` and `$3` in whoever uses it. */
export const STILL_DEAD = `SELECT o.name FROM courier_owners o
  JOIN unnest($2::text[], $3::bigint[]) AS seen(name, reports) ON seen.name = o.name AND seen.reports = o.reports`
/** Long after the last of its leases has run out. */
export const OLD_REPLICAS: Statement = {
  name: 'old-owners',
  text: "DELETE FROM courier_owners WHERE seen_at < clock_timestamp() - interval '1 hour'",
}

const REPORT: Statement = {
  name: 'report',
  text: `INSERT INTO courier_owners AS o (name, reports, seen_at) VALUES ($1, 1, clock_timestamp())
    ON CONFLICT (name) DO UPDATE SET reports = o.reports + 1, seen_at = excluded.seen_at
    RETURNING (extract(epoch from seen_at) * 1000)::bigint AS at`,
}
const EVERYBODY: Statement = {
  name: 'everybody',
  text: 'SELECT name, reports, has_left FROM courier_owners',
}
const LEAVE: Statement = {
  name: 'leave',
  text: 'UPDATE courier_owners SET has_left = true, reports = reports + 1 WHERE name = $1',
}
const FORGET: Statement = {
  name: 'forget',
  text: `DELETE FROM courier_owners o WHERE o.name = $1 AND NOT EXISTS
    (SELECT FROM courier_messages m WHERE m.lease_until IS NOT NULL AND split_part(m.lease_token, '.', 1) = o.name)`,
}
