import type { Clock } from '../../runtime/clock.ts'
import { pause, repeat } from '../../runtime/retry.ts'
import { createLeaseTokens } from '../lease-tokens.ts'
import { type SharedLeases, type StoreLog, StoreUnavailable } from '../outbox.ts'
import { awaitStatements, type Connections, runStatement, statement } from './connect.ts'

export interface DeadReplica {
  readonly name: string
  /** How many heartbeats it had sent. */
  readonly heartbeats: number
}

export interface HeartbeatLimits {
  /** How often a replica sends a heartbeat, ms. */
  readonly everyMs: number
  /** How long a heartbeat lets a replica begin attempts, ms. */
  readonly sureMs: number
  /** A replica without a heartbeat for so long is dead, ms; more than `sureMs` and a statement's time limit. */
  readonly goneMs: number
}

export const HEARTBEAT_LIMITS: HeartbeatLimits = { everyMs: 2000, sureMs: 8000, goneMs: 12_000 }

interface HeartbeatOptions {
  /** A connection of its own: a heartbeat must not wait behind the service's work. */
  readonly connections: Pick<Connections, 'use'>
  /** This replica's name, unlike any other ever. Without a dot. */
  readonly name: string
  readonly limits: HeartbeatLimits
  /** ms, from any origin, never set. */
  readonly monotonic: () => number
  /** Is told the database's time with each heartbeat, ms since the epoch, and how long it took to ask, ms. */
  readonly onDatabaseTime: (at: number, tookMs: number) => void
  readonly log: (event: { readonly doing: string; readonly message: string }) => void
}

export interface ReplicaHeartbeats extends SharedLeases {
  /** Sends a heartbeat at once when the last one is too old to claim anything. Rejects when that fails. */
  confirmAlive(): Promise<void>
  /** Replicas that are dead, each with the last heartbeat that was seen of it. */
  deadReplicas(): readonly DeadReplica[]
  /** Counts the heartbeats: dead replicas need not be searched for more often. */
  heartbeats(): number
  /** Ends the heartbeats. Claims that were not given back may be taken over at once. */
  leave(): Promise<void>
}

/**
 * Tells which replicas on the database are alive.
 *
 * A lease outlives the longest attempt, so that nobody takes over what is still being tried; what a dead replica has
 * claimed would wait as long. So each replica sends a heartbeat every few seconds, and the claims of one that has
 * stopped are taken over without waiting for its leases. Two rules make that safe, by monotonic clocks only:
 *
 * - a replica that could not send a heartbeat for `sureMs` begins no attempt any more under the claims that it made before
 * - a replica takes another one for dead when it sent its own heartbeats all the time and saw none of the other for `goneMs`,
 *   which is longer; so after an outage of the database itself, every replica has time to come back before it is taken for dead
 *
 * Sends a heartbeat, then goes on by itself. Rejects when the database cannot be reached.
 */
export async function startHeartbeats(options: HeartbeatOptions): Promise<ReplicaHeartbeats> {
  const { connections, name, limits, monotonic, log } = options
  /** When the last heartbeat was sent that was acknowledged. */
  let sentAt = Number.NEGATIVE_INFINITY
  let count = 0
  let lapses = 0
  const others = createReplicaSightings(options)

  const isSure = () => monotonic() - sentAt < limits.sureMs
  const owner = () => `${name}.${lapses.toString(36)}`
  const newLeaseToken = createLeaseTokens(owner)

  async function sendHeartbeat(): Promise<void> {
    const at = monotonic()
    const { rows } = await connections.use(client => runStatement(client, BEAT, name))
    options.onDatabaseTime(rows[0]?.['at'] as number, monotonic() - at)
    // The time counts from before the last heartbeat reached the database until after this one did.
    const away = monotonic() - sentAt
    if (away >= limits.sureMs && count > 0) {
      lapses += 1
      const message = `out of touch for ${Math.round(away / 1000)} s: what was claimed before and has not begun is given back`
      log({ doing: 'report that this process is alive', message })
    }
    // The other replicas may not have been able to send one either.
    if (away > 2 * limits.everyMs) others.forget()
    sentAt = at
    count += 1
    others.update(rows as unknown as readonly OtherReplica[], at)
  }

  let sending: Promise<void> | undefined
  /** There is one at a time, which all callers share. */
  const beat = () => (sending ??= sendHeartbeat().finally(() => (sending = undefined)))
  await beat()
  const leaving = new AbortController()
  const { everyMs } = limits
  const beatAgain = () =>
    beat().then(
      () => everyMs,
      () => everyMs / 4,
    )
  const beating = pause(everyMs, leaving.signal).then(() => repeat(beatAgain, leaving.signal))
  return {
    /** Names a claim, unique for every claim ever made: replica, how often it was out of touch before, a number. */
    newLeaseToken,
    /** Says whether a claim under this token, or one that begins with it, surely belongs to this replica still. */
    isHeld: ({ token }) => isSure() && token.startsWith(`${owner()}.`),
    async confirmAlive() {
      // It is tried twice: the first run may have begun long ago, before this process was stopped.
      for (let tries = 0; tries < 2 && !isSure(); tries += 1) await beat()
      if (!isSure()) throw new StoreUnavailable('the database answers too late')
    },
    deadReplicas: others.dead,
    heartbeats: () => count,
    async leave() {
      leaving.abort()
      await beating
      await sending?.catch(() => {})
      // Without the database, the others notice by themselves.
      await connections
        .use(client => awaitStatements(runStatement(client, LEAVE, name), runStatement(client, FORGET, name)))
        .catch(() => {})
    },
  }
}

/** Remembers since when each other replica has sent no further heartbeat. */
function createReplicaSightings({ name: own, limits, monotonic }: HeartbeatOptions) {
  const seen = new Map<string, { heartbeats: number; since: number; hasLeft: boolean }>()
  let dead: readonly DeadReplica[] = []
  return {
    dead: () => dead,
    forget: () => seen.clear(),
    /** @param askedAt a moment before the heartbeats were read, so that no replica seems silent for longer than it was. */
    update(replicas: readonly OtherReplica[], askedAt: number): void {
      const now = monotonic()
      const names = new Set(replicas.map(each => each.name))
      for (const name of seen.keys()) if (!names.has(name)) seen.delete(name)
      for (const { name, heartbeats, hasLeft } of replicas) {
        if (name !== own && seen.get(name)?.heartbeats !== heartbeats)
          seen.set(name, { heartbeats, since: now, hasLeft })
      }
      dead = [...seen]
        .filter(([, { hasLeft, since }]) => hasLeft || askedAt - since >= limits.goneMs)
        .map(([name, { heartbeats }]) => ({ name, heartbeats }))
    },
  }
}

interface OtherReplica extends DeadReplica {
  readonly hasLeft: boolean
}

/**
 * Selects the names of replicas without a heartbeat since they were seen; these are `$2` of the statement around it. Locked, they
 * cannot come back while their claims are taken over: a heartbeat waits for this transaction.
 */
export const STILL_DEAD = `SELECT r.name FROM courier_replicas r
  JOIN json_to_recordset($2::json) AS seen(name text, heartbeats bigint)
    ON seen.name = r.name AND seen.heartbeats = r.heartbeats
  ORDER BY r.name FOR SHARE OF r`
/** Removes replicas an hour after their last heartbeat, long after the last of their leases has run out. */
export const OLD_REPLICAS = statement`DELETE FROM courier_replicas WHERE seen_at < clock_timestamp() - interval '1 hour'`

/** Writes that this replica is alive, and reads who else has been. The other replicas are read as they were before. The row of a replica is there with its first heartbeat. */
const BEAT = statement`WITH sent AS (INSERT INTO courier_replicas AS r (name, heartbeats, seen_at) VALUES ($1, 1, clock_timestamp())
    ON CONFLICT (name) DO UPDATE SET heartbeats = r.heartbeats + 1, seen_at = excluded.seen_at
    RETURNING r.name, (extract(epoch from seen_at) * 1000)::bigint AS at)
  SELECT sent.at, coalesce(o.name, sent.name) AS name, coalesce(o.heartbeats, 0) AS heartbeats,
    coalesce(o.has_left, false) AS "hasLeft"
  FROM sent LEFT JOIN courier_replicas o ON o.name <> sent.name`
const LEAVE = statement`UPDATE courier_replicas SET has_left = true, heartbeats = heartbeats + 1 WHERE name = $1`
const FORGET = statement`DELETE FROM courier_replicas r WHERE r.name = $1 AND NOT EXISTS
    (SELECT FROM courier_live m WHERE m.lease_until IS NOT NULL AND split_part(m.lease_token, '.', 1) = r.name)`

/** Clocks that are further apart than this make leases and lives of different replicas disagree, ms. */
const SKEW_MS = 2000

/**
 * Compares this process's clock with the database's, and says so when they part and when they agree again.
 * @returns takes the database's time, ms since the epoch, and how long it took to ask for it, ms.
 */
export function createClockWatch(clock: Clock, log: StoreLog): (at: number, tookMs: number) => void {
  let apart = false
  return (at, tookMs) => {
    const skew = Math.abs(at - (clock.now() - tookMs / 2))
    if (skew > SKEW_MS + tookMs / 2 === apart) return
    apart = !apart
    const message = apart
      ? `our clock and the database's are ${Math.round(skew / 1000)} s apart: set both by NTP`
      : "our clock and the database's agree again"
    log({ doing: 'compare clocks', message })
  }
}
