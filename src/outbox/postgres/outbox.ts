import { randomBytes } from 'node:crypto'
import type { CallArguments, SettledByStore } from '../calls.ts'
import type { PayloadKeys } from '../encryption.ts'
import { type Outbox, type StoreOptions, StoreUnavailable, StoreUnusable } from '../outbox.ts'
import { acceptEach, settleWithoutRefused, writeReceiptIfTaken } from '../refused-values.ts'
import { createBacklogRow, WRITERS } from './backlog.ts'
import { createClaim } from './claim.ts'
import { createClockWatch } from './clock-watch.ts'
import { type Client, type Connections, createConnections, runTogether } from './connect.ts'
import { adviseOnFailure } from './errors.ts'
import { addEvents, dropEvents, readEvents, removeEvents } from './events.ts'
import { createGroupCommit, toError } from './group-commit.ts'
import {
  HEARTBEAT_LIMITS,
  type HeartbeatLimits,
  type ReplicaHeartbeats,
  startHeartbeats,
} from './heartbeats.ts'
import { type BegunAttempt, markBegun } from './leases.ts'
import { prune } from './maintenance.ts'
import { readMemos, takeLeaderLease } from './memos.ts'
import { createAccept, createOperatorActions, createSettle, createWriteReceipts } from './messages.ts'
import { migrate } from './migrate.ts'
import { findMessage, listMessages, probeCommit } from './queries.ts'
import { requireOwnSessions } from './sessions.ts'
import { readSummary } from './summary.ts'
import { createUncertainCommits, type UncertainCommits } from './uncertain-commits.ts'
import { createUncertainEnds } from './uncertain-ends.ts'

export interface PostgresOutboxOptions extends StoreOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string
  /** Longest time that a statement may take, ms; well below the time within which a callback is answered. */
  readonly statementTimeoutMs?: number
  /** 0 ≤ x < 1: spreads out replicas' reconnecting, and their shards. */
  readonly random?: () => number
  /** ms, from any origin, never set: by which replicas notice that another one is dead. */
  readonly monotonic?: () => number
  readonly heartbeats?: HeartbeatLimits
}

/** How often old rows are pruned, ms by the clock. */
const PRUNE_EVERY_MS = 60_000
/** Messages in one transaction: each holds a lock in the server's table, which has room for some thousands. */
const MAX_MESSAGES_PER_COMMIT = 128
/** How many processes can write without one waiting for another's counts. */
const SHARDS = 32
/** The connections of all calls together; a replica's heartbeats have one more of their own. */
const MAX_CONNECTIONS = 6
/** The time limit of a statement at the start, ms: creating or changing tables, and waiting for another replica that does, takes time. */
const MIGRATION_MS = 60_000
const FIRST_CONNECT_MS = 5000
/** The time limit of a heartbeat, ms: longer than a callback's commit may take, and short enough for several before it is too late. */
const HEARTBEAT_MS = 1000

type Settings = Required<Omit<PostgresOutboxOptions, 'storeKeys' | 'keepsEvents'>> & {
  readonly payloadKeys: PayloadKeys
  readonly keepsEvents: boolean
}

/**
 * The shared outbox: any number of replicas on one Postgres.
 *
 * @throws StoreUnusable when the database cannot be reached or is not fit; its message says what to do.
 */
export async function createPostgresOutbox(options: PostgresOutboxOptions): Promise<Outbox> {
  const settings: Settings = {
    ...options,
    payloadKeys: options.storeKeys.payloadKeys,
    statementTimeoutMs: options.statementTimeoutMs ?? 800,
    keepsEvents: options.keepsEvents ?? false,
    random: options.random ?? Math.random,
    log: options.log ?? (() => {}),
    onCommit: options.onCommit ?? (() => {}),
    monotonic: options.monotonic ?? (() => performance.now()),
    heartbeats: options.heartbeats ?? HEARTBEAT_LIMITS,
  }
  const { clock, log, monotonic } = settings
  await prepareDatabase(settings)
  const connections = createConnections({ ...settings, max: MAX_CONNECTIONS })
  const heartbeatConnection = createConnections({ ...settings, statementTimeoutMs: HEARTBEAT_MS, max: 1 })
  const heartbeats = await startHeartbeats({
    connections: heartbeatConnection,
    name: randomBytes(8).toString('hex'),
    limits: settings.heartbeats,
    monotonic,
    onDatabaseTime: createClockWatch(clock, log),
    log,
  }).catch((error: unknown) => failStart(error, connections, heartbeatConnection))
  const shard = Math.floor(settings.random() * SHARDS) * WRITERS
  const { idle, ...calls } = createCalls(settings, connections, heartbeats, shard)
  return {
    ...calls,
    ...createDirectCalls(settings, connections),
    sharedLeases: {
      newLeaseToken: heartbeats.newLeaseToken,
      isHeld: ({ token }) => heartbeats.isHeld(token),
    },
    async close() {
      await idle()
      await heartbeats.leave()
      await Promise.all([connections.close(), heartbeatConnection.close()])
    },
  }
}

/** The calls of the service's work: those of one kind that come together share a commit. */
function createCalls(
  settings: Settings,
  connections: Connections,
  heartbeats: ReplicaHeartbeats,
  shard: number,
) {
  const { clock, log } = settings
  const uncertain = createUncertainCommits(settings.monotonic)
  const transactions = createTransactions(settings, heartbeats, shard, uncertain)
  const commits = createGroupCommits(settings, connections, heartbeats, transactions)
  return {
    accept: given =>
      acceptEach(
        given,
        messages =>
          commits.accept.call({ now: clock.now(), messages }).catch((error: unknown) => {
            for (const { lease } of messages) if (lease !== undefined) uncertain.giveUp(lease.token)
            throw error
          }),
        log,
      ),
    claim: (channel, limit, leaseMs) => commits.claim.call({ now: clock.now(), channel, limit, leaseMs }),
    // A message whose attempt began when it was accepted has its mark already.
    beginAttempt: (id, { token, begins }, provider) =>
      begins === true && provider === undefined ? undefined : commits.begin.call({ id, token, provider }),
    settle: (id, { token }, given) =>
      settleWithoutRefused(
        id,
        given,
        settlement => commits.settle.call({ now: clock.now(), id, token, settlement }),
        log,
      ),
    writeReceipt: report => writeReceiptIfTaken(() => commits.writeReceipt.call(report), log),
    /** Resolves when nothing is under way. */
    async idle() {
      await Promise.all(Object.values(commits).map(each => each.idle()))
    },
  } satisfies Pick<Outbox, 'accept' | 'claim' | 'beginAttempt' | 'settle' | 'writeReceipt'> & {
    idle(): Promise<void>
  }
}

type Transactions = ReturnType<typeof createTransactions>

/** The work of the calls, within a transaction of its own. */
function createTransactions(
  { payloadKeys, maxBacklog, keepsEvents, monotonic, log }: Settings,
  heartbeats: ReplicaHeartbeats,
  shard: number,
  uncertain: UncertainCommits,
) {
  const unreported: SettledByStore[] = []
  // Three writers of this process, each with a shard of the counts that no other is likely to have.
  const writerOptions = (n: number) => ({
    shard: shard + n,
    backlogRow: createBacklogRow(shard + n),
    payloadKeys,
    keepsEvents,
  })
  const claimOne = createClaim({
    writerOptions: writerOptions(2),
    unreported,
    uncertainEnds: createUncertainEnds(monotonic),
    heartbeats,
    uncertain,
    onTakeOver: count =>
      log({ doing: 'take over', message: `${count} messages that a process was sending which is gone` }),
  })
  return {
    accept: createAccept({ maxBacklog, writerOptions: writerOptions(0), uncertain, unreported }),
    settle: createSettle(writerOptions(1)),
    writeReceipts: createWriteReceipts(writerOptions(1), unreported),
    async claim(client: Client, calls: readonly CallArguments<'claim'>[]) {
      const claimed = []
      for (const call of calls) claimed.push(await claimOne(client, call))
      return claimed
    },
  }
}

/** Gathers calls of one kind while a transaction of that kind runs. */
function createGroupCommits(
  settings: Settings,
  connections: Connections,
  heartbeats: Pick<ReplicaHeartbeats, 'confirmAlive'>,
  { accept, settle, writeReceipts, claim }: Transactions,
) {
  const { statementTimeoutMs, monotonic, onCommit } = settings
  const pruneNow = createPruning(settings, connections)
  const shared = { max: MAX_MESSAGES_PER_COMMIT, againWithinMs: statementTimeoutMs, weight: () => 1 }
  /** Runs calls in one transaction, and tells how long it took. */
  async function timed<T>(calls: readonly unknown[], work: (client: Client) => Promise<T>): Promise<T> {
    const began = monotonic()
    const value = await connections.use(work)
    onCommit({ ms: monotonic() - began, calls: calls.length })
    return value
  }
  return {
    accept: createGroupCommit({
      ...shared,
      run: (batch: readonly CallArguments<'accept'>[], again) =>
        timed(batch, client => accept(client, batch, again)),
      weight: call => call.messages.length,
    }),
    begin: createGroupCommit({
      ...shared,
      run: (batch: readonly BegunAttempt[]) => connections.use(client => markBegun(client, batch)),
    }),
    settle: createGroupCommit({
      ...shared,
      run: (batch: readonly CallArguments<'settle'>[], again) =>
        timed(batch, client => settle(client, batch, again)),
    }),
    writeReceipt: createGroupCommit({
      ...shared,
      run: (batch: readonly CallArguments<'writeReceipt'>[]) =>
        connections.use(client => writeReceipts(client, batch)),
    }),
    claim: createGroupCommit({
      ...shared,
      max: 1,
      run: async (batch: readonly CallArguments<'claim'>[]) => {
        await heartbeats.confirmAlive()
        const claimed = await connections.use(client => claim(client, batch))
        await pruneNow()
        return claimed
      },
    }),
  }
}

/**
 * Prunes a step at most every minute, or at every call while there is more. A step that fails is logged: it must not take along
 * what was claimed before it, since that would wait for the end of its lease.
 */
function createPruning(
  { retentionDays, clock, log }: Settings,
  connections: Pick<Connections, 'use'>,
): () => Promise<void> {
  let prunedAt = Number.NEGATIVE_INFINITY
  return async () => {
    const now = clock.now()
    if (Math.abs(now - prunedAt) < PRUNE_EVERY_MS) return
    prunedAt = now
    try {
      const more = await connections.use(client => prune(client, now, retentionDays * 24 * 3600 * 1000))
      if (more) prunedAt = Number.NEGATIVE_INFINITY
    } catch (error) {
      log({ doing: 'prune', message: toError(error).message })
    }
  }
}

/** The calls that are rare: each has a connection for itself and shares no commit. */
function createDirectCalls(
  { clock, payloadKeys, keepsEvents }: Pick<Settings, 'clock' | 'payloadKeys' | 'keepsEvents'>,
  connections: Connections,
): Pick<Outbox, 'memos' | 'events' | 'queries' | 'actions'> {
  async function direct<T>(work: (client: Client) => Promise<T>): Promise<T> {
    try {
      return await connections.use(work)
    } catch (error) {
      throw toError(error)
    }
  }
  // A shard that the writers of no process have.
  const actions = createOperatorActions({
    shard: SHARDS * WRITERS,
    backlogRow: createBacklogRow(SHARDS * WRITERS),
    payloadKeys,
    keepsEvents,
  })
  return {
    memos: {
      readMemos: names => direct(client => readMemos(client, names)),
      takeLeaderLease: (name, owner, ttlMs) => direct(client => takeLeaderLease(client, name, owner, ttlMs)),
    },
    ...(keepsEvents && {
      events: {
        addEvent: event =>
          direct(async client => void (await Promise.all(runTogether(client, addEvents([event]))))),
        readEvents: limit => direct(client => readEvents(client, { limit })),
        removeEvents: seqs => direct(client => removeEvents(client, { seqs })),
        dropEvents: (most, before) => direct(client => dropEvents(client, { most, before })),
      },
    }),
    queries: {
      readSummary: (since, stepMs) => direct(client => readSummary(client, { since, stepMs })),
      listMessages: filter => direct(client => listMessages(client, { filter })),
      findMessage: id => direct(client => findMessage(client, { id })),
      probeCommit: () =>
        direct(probeCommit).catch((error: unknown) => {
          if (error instanceof StoreUnavailable) return false
          throw error
        }),
    },
    actions: {
      retryMessage: id => direct(client => actions.retryMessage(client, { now: clock.now(), id })),
      cancelMessage: id => direct(client => actions.cancelMessage(client, { now: clock.now(), id })),
    },
  }
}

/** Creates the tables, or migrates them to this version. */
async function prepareDatabase(settings: Settings): Promise<void> {
  const limits = { statementTimeoutMs: MIGRATION_MS, connectTimeoutMs: FIRST_CONNECT_MS, max: 2 }
  const connections = createConnections({ ...settings, ...limits })
  await requireOwnSessions(connections)
    .then(() => connections.use(client => migrate(client, settings.payloadKeys)))
    .catch((error: unknown) => failStart(error, connections))
  await connections.close()
}

async function failStart(reason: unknown, ...open: readonly Connections[]): Promise<never> {
  await Promise.all(open.map(each => each.close()))
  if (reason instanceof StoreUnusable) throw reason
  throw new StoreUnusable(adviseOnFailure(reason), { cause: reason })
}
