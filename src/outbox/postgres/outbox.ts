import { type KeyObject, randomBytes } from 'node:crypto'
import type { Channel } from '../../messages/message.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { CallArguments, SettledByStore } from '../calls.ts'
import type { StoreKeys } from '../encryption.ts'
import { type Outbox, StoreUnavailable, StoreUnusable } from '../outbox.ts'
import { createAccept } from './accept.ts'
import { createOperatorActions, findMessage, listMessages, probeCommit, readSummary } from './admin.ts'
import { createClaim } from './claim.ts'
import { createClockWatch } from './clock-watch.ts'
import { type Client, type Connections, type ConnectOptions, createConnections } from './connect.ts'
import { adviseOperator } from './errors.ts'
import { asError, createGroupCommit } from './group-commit.ts'
import { HEARTBEAT_LIMITS, type HeartbeatLimits, startHeartbeats } from './heartbeats.ts'
import { prune } from './maintenance.ts'
import { readMemos, takeLeaderLease } from './memos.ts'
import { migrate } from './migrate.ts'
import { writeReceipts } from './receipts.ts'
import { requireOwnSessions } from './sessions.ts'
import { createSettle } from './settle.ts'
import { createUncertainCommits } from './uncertain-commits.ts'

export interface PostgresOutboxOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string
  readonly clock: Clock
  readonly storeKeys: Pick<StoreKeys, 'payloadKey'>
  /** Live messages of all replicas together, from which on no more are accepted. */
  readonly maxBacklog: number
  /** How long the facts of a final message stay. */
  readonly retentionDays: number
  /** Longest time that a statement may take, ms; well below the time within which a callback is answered. */
  readonly statementTimeoutMs?: number
  /** 0 ≤ x < 1: spreads out replicas' reconnecting, and their shards. */
  readonly random?: () => number
  /** Hears of faults that concern no call. Never a secret or a recipient. */
  readonly log?: (event: { readonly doing: string; readonly message: string }) => void
  /** Hears of every commit of accepting and settling: how long it took, ms, and how many calls shared it. */
  readonly committed?: (event: { readonly ms: number; readonly calls: number }) => void
  /** ms, from any origin, never set: by which processes notice that another one is gone. */
  readonly monotonic?: () => number
  readonly presence?: HeartbeatLimits
}

/** So often is pruned what is too old, ms by the clock. */
const PRUNE_EVERY_MS = 60_000
/** Messages in one transaction: each holds a lock in the server's table, which has room for some thousands. */
const MOST_TOGETHER = 128
/** How many processes can write without one waiting for another's counts. */
const LANES = 32
/** Lanes, desk and upkeep together need no more connections at a time; a process's reports have one of their own. */
const MOST_CONNECTIONS = 6
/** Making or changing tables, and waiting for another replica that does, may take its time; then and at no other time. */
const MIGRATION_MS = 60_000
const FIRST_CONNECT_MS = 5000
/** A report may take longer than a callback's commit, but there is time for several before it is too late. */
const REPORT_MS = 1000

/**
 * The shared outbox: any number of replicas on one Postgres.
 *
 * @throws StoreUnusable when the database cannot be reached or is not fit; its message says what to do.
 */
export async function createPostgresOutbox(options: PostgresOutboxOptions): Promise<Outbox> {
  const {
    clock,
    storeKeys,
    maxBacklog,
    statementTimeoutMs = 800,
    random = Math.random,
    log = () => {},
    committed = () => {},
    monotonic = () => performance.now(),
  } = options
  const { payloadKey } = storeKeys
  const way = { url: options.url, statementTimeoutMs, random, log }
  await prepare({ ...way, statementTimeoutMs: MIGRATION_MS, connectTimeoutMs: FIRST_CONNECT_MS }, payloadKey)
  const connections = createConnections({ ...way, most: MOST_CONNECTIONS })
  const reporting = createConnections({ ...way, statementTimeoutMs: REPORT_MS, most: 1 })
  const presence = await startHeartbeats({
    connections: reporting,
    name: randomBytes(8).toString('hex'),
    limits: options.presence ?? HEARTBEAT_LIMITS,
    monotonic,
    databaseTime: createClockWatch(clock, log),
    log,
  }).catch((error: unknown) => unusable(error, connections, reporting))

  /** What accepting has ended in passing, until a claim reports it. */
  let inPassing: readonly SettledByStore[] = []
  // Three writers of this process, each with a shard of the counts that no other is likely to have.
  const shard = Math.floor(random() * LANES) * 3
  const ended = (messages: readonly SettledByStore[]) => {
    inPassing = [...inPassing, ...messages]
  }
  const takeEnded = (channel: Channel) => {
    const taken = inPassing.filter(each => each.channel === channel)
    inPassing = inPassing.filter(each => each.channel !== channel)
    return taken
  }
  const unheard = createUncertainCommits(monotonic)
  const accept = createAccept({ payloadKey, maxBacklog, shard, unheard, ended })
  const settle = createSettle(shard + 1)
  const claim = createClaim({
    payloadKey,
    shard: shard + 2,
    takeEnded,
    presence,
    unheard,
    tookOver: count =>
      log({ doing: 'take over', message: `${count} messages that a process was sending which is gone` }),
  })
  const hand = createOperatorActions(LANES * 3)

  const shared = { most: MOST_TOGETHER, againWithinMs: statementTimeoutMs }
  /** Runs calls in one transaction, and tells how long it took. */
  async function timed<T>(calls: readonly unknown[], work: (client: Client) => Promise<T>): Promise<T> {
    const began = monotonic()
    const value = await connections.use(work)
    committed({ ms: monotonic() - began, calls: calls.length })
    return value
  }
  const accepting = createGroupCommit({
    ...shared,
    run: (batch: readonly CallArguments<'accept'>[], again) =>
      timed(batch, client => accept(client, batch, again)),
    weight: call => call.messages.length,
  })
  const settling = createGroupCommit({
    ...shared,
    run: (batch: readonly CallArguments<'settle'>[], again) =>
      timed(batch, client => settle(client, batch, again)),
    weight: () => 1,
  })
  const noting = createGroupCommit({
    ...shared,
    run: (batch: readonly CallArguments<'receipt'>[]) =>
      connections.use(client => writeReceipts(client, batch)),
    weight: () => 1,
  })
  const claiming = createGroupCommit({
    ...shared,
    most: 1,
    run: async ([call]: readonly CallArguments<'claim'>[]) => {
      if (call === undefined) return []
      await presence.confirmAlive()
      return connections.use(async client => {
        const claimed = await claim(client, call)
        await tend(client, call.now)
        return [claimed]
      })
    },
    weight: () => 1,
  })

  let prunedAt = Number.NEGATIVE_INFINITY
  async function tend(client: Client, now: number): Promise<void> {
    if (Math.abs(now - prunedAt) < PRUNE_EVERY_MS) return
    prunedAt = now
    const more = await prune(client, now, options.retentionDays * 24 * 3600 * 1000)
    if (more) prunedAt = Number.NEGATIVE_INFINITY
  }

  /** For people: one connection, no shared commit. */
  async function direct<T>(work: (client: Client) => Promise<T>): Promise<T> {
    try {
      return await connections.use(work)
    } catch (error) {
      throw asError(error)
    }
  }

  return {
    accept: messages =>
      accepting.call({ now: clock.now(), messages }).catch((error: unknown) => {
        for (const { lease } of messages) if (lease !== undefined) unheard.giveUp(lease.token)
        throw error
      }),
    claim: (channel, limit, leaseMs) => claiming.call({ now: clock.now(), channel, limit, leaseMs }),
    settle: (id, { token }, settlement) => settling.call({ now: clock.now(), id, token, settlement }),
    writeReceipt: (channel, providerId, status, errorCode, at) =>
      noting.call({ channel, providerId, status, errorCode, at }),
    sharedLeases: {
      newLeaseToken: () => presence.newLeaseToken(),
      isHeld: ({ token }) => presence.isHeld(token),
    },
    memos: {
      readMemos: names => direct(client => readMemos(client, names)),
      takeLeaderLease: (name, owner, ttlMs) => direct(client => takeLeaderLease(client, name, owner, ttlMs)),
    },
    queries: {
      readSummary: (since, stepMs) => direct(client => readSummary(client, { since, stepMs })),
      listMessages: filter => direct(client => listMessages(client, { filter })),
      findMessage: id => direct(client => findMessage(client, { id })),
      retryMessage: id => direct(client => hand.retry(client, { now: clock.now(), id })),
      cancelMessage: id => direct(client => hand.cancel(client, { now: clock.now(), id })),
      probeCommit: () =>
        direct(client => probeCommit(client, { now: clock.now() })).catch((error: unknown) => {
          if (error instanceof StoreUnavailable) return false
          throw error
        }),
    },
    async close() {
      await Promise.all([accepting, settling, noting, claiming].map(lane => lane.idle()))
      await presence.leave()
      await Promise.all([connections.close(), reporting.close()])
    },
  }
}

/** Makes the tables, or brings them up to this version. */
async function prepare(way: Omit<ConnectOptions, 'most'>, payloadKey: KeyObject): Promise<void> {
  const connections = createConnections({ ...way, most: 2 })
  await requireOwnSessions(connections)
    .then(() => connections.use(client => migrate(client, payloadKey)))
    .catch((error: unknown) => unusable(error, connections))
  await connections.close()
}

async function unusable(reason: unknown, ...open: readonly Connections[]): Promise<never> {
  await Promise.all(open.map(each => each.close()))
  if (reason instanceof StoreUnusable) throw reason
  throw new StoreUnusable(adviseOperator(reason), { cause: reason })
}
