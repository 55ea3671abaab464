import { randomBytes } from 'node:crypto'
import { createGroupCommit, type GroupCommit } from '../group-commit.ts'
import type { Gives, OperationName, OwnName, SharedName, Takes } from '../operations.ts'
import { type Outbox, type StoreOptions, StoreUnusable } from '../outbox.ts'
import { createPort } from '../port.ts'
import { createClaim } from './claim.ts'
import type { Client, Connections } from './connect.ts'
import { adviseOnFailure, classifyPostgresError, createConnections, toError } from './connect.ts'
import { makeDays, missingDay, moveEarlier } from './days.ts'
import { createClockWatch, HEARTBEAT_LIMITS, type HeartbeatLimits, startHeartbeats } from './heartbeats.ts'
import { createPruning } from './maintenance.ts'
import {
  beginAttempts,
  createAccept,
  createOperatorActions,
  createSettle,
  createWriteReceipts,
} from './messages.ts'
import { migrateTables, requireOwnSessions } from './migrate.ts'
import { findMessage, listMessages, probeCommit, readEnded, readSummary, readWaiting } from './queries.ts'
import {
  addEvents,
  allowAgain,
  dropEvents,
  forgetRecipient,
  readEvents,
  readMemos,
  removeEvents,
  takeLeaderLease,
  writeMemos,
} from './side-tables.ts'
import type { WriterOptions } from './transaction.ts'
import { createUncertainCommits } from './uncertain.ts'

export interface PostgresOutboxOptions extends StoreOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string
  /** Longest time that a statement may take, ms; well below the time within which a callback is answered. */
  readonly statementTimeoutMs: number
  /** ms, from any origin, never set: by which replicas notice that another one is dead. */
  readonly monotonic?: () => number
  readonly heartbeats?: HeartbeatLimits
}

/** Messages in one transaction: each holds a lock in the server's table, which has room for some thousands. */
const MAX_MESSAGES_PER_COMMIT = 128
/** The connections of all calls together; a replica's heartbeats have one more of their own. */
const MAX_CONNECTIONS = 6
/** The time limit of a statement at the start, ms: creating or changing tables, and waiting for another replica that does, takes time. */
const MIGRATION_MS = 300_000
const FIRST_CONNECT_MS = 5000
/** The time limit of a heartbeat, ms: longer than a callback's commit may take, and short enough for several before it is too late. */
const HEARTBEAT_MS = 1000

/**
 * The shared outbox: any number of replicas on one Postgres.
 *
 * @throws StoreUnusable when the database cannot be reached or is not fit; its message says what to do.
 */
export async function createPostgresOutbox(options: PostgresOutboxOptions): Promise<Outbox> {
  const { url, clock, maxBacklog, onCommit, retentionDays, log = () => {} } = options
  const { statementTimeoutMs, monotonic = () => performance.now() } = options
  const open = (max: number, timeoutMs: number, connectTimeoutMs = timeoutMs) =>
    createConnections({
      url,
      random: Math.random,
      monotonic,
      log,
      max,
      statementTimeoutMs: timeoutMs,
      connectTimeoutMs,
    })
  await prepareDatabase(options, open(2, MIGRATION_MS, FIRST_CONNECT_MS))
  const connections = open(MAX_CONNECTIONS, statementTimeoutMs)
  const heartbeatConnection = open(1, HEARTBEAT_MS)
  const heartbeats = await startHeartbeats({
    connections: heartbeatConnection,
    name: randomBytes(8).toString('hex'),
    limits: options.heartbeats ?? HEARTBEAT_LIMITS,
    monotonic,
    onDatabaseTime: createClockWatch(clock, log),
    log,
  }).catch((error: unknown) => failStart(error, connections, heartbeatConnection))
  const uncertain = createUncertainCommits(monotonic)
  const pruneNow = createPruning({ retentionDays, clock, log }, connections)
  const { payloadKeys } = options.storeKeys
  const writer: WriterOptions = { payloadKeys, keepsEvents: options.keepsEvents === true, ended: [] }
  const claim = createClaim(writer, heartbeats, uncertain, count =>
    log({ doing: 'take over', message: `${count} messages that a process was sending which is gone` }),
  )
  const own: OwnOperations = {
    ...createOperatorActions(writer),
    addEvent: async (client, event) => void (await Promise.all(addEvents(client, [event]))),
    readEvents,
    removeEvents,
    dropEvents,
    allowAgain,
    forgetRecipient,
    writeMemo: async (client, memo) => void (await Promise.all(writeMemos(client, [memo]))),
    readMemos: (client, { names }) => readMemos(client, names),
    readSummary,
    readWaiting,
    listMessages,
    readEnded,
    findMessage,
    probeCommit,
  }

  /**
   * Lends a connection to some work, and once more when a message ended on a day that has no partition yet: the clock was set, or
   * the process slept.
   */
  async function lend<T>(work: (client: Client) => Promise<T>): Promise<T> {
    try {
      return await connections.use(work)
    } catch (error) {
      const day = missingDay(error)
      if (day === null) throw error
      await connections.use(client => makeDays(client, retentionDays, [day]))
      return connections.use(work)
    }
  }

  /** Says a failure in the words of the port. */
  const fail = (error: unknown): never => {
    throw toError(error)
  }

  /** Tries work a second time, when it failed soon and for what may be over already. */
  function tryTwice<T>(work: (again: boolean) => Promise<T>): Promise<T> {
    const began = performance.now()
    return work(false)
      .catch((error: unknown) => {
        if (classifyPostgresError(error) !== 'again' || performance.now() - began > statementTimeoutMs)
          throw error
        return work(true)
      })
      .catch(fail)
  }

  /** Gathers calls of one kind while a transaction of that kind runs. */
  function gather<Call, Value>(
    operation: (
      client: Client,
      calls: readonly Call[],
      again: boolean,
    ) => Promise<readonly (Value | Error)[]>,
    weight?: (call: Call) => number,
    onEnd?: StoreOptions['onCommit'],
  ): GroupCommit<Call, Value> {
    return createGroupCommit<Call, Value>({
      max: MAX_MESSAGES_PER_COMMIT,
      weight,
      async run(calls) {
        const began = monotonic()
        const values = await tryTwice(again => lend(client => operation(client, calls, again)))
        onEnd?.({ ms: monotonic() - began, calls: calls.length })
        return values
      },
    })
  }

  const commits: { readonly [N in SharedName]: GroupCommit<Takes<N>, Gives<N>> } = {
    accept: gather<Takes<'accept'>, Gives<'accept'>>(
      createAccept(writer, maxBacklog, uncertain),
      ({ messages }) => messages.length,
      onCommit,
    ),
    beginAttempt: gather<Takes<'beginAttempt'>, Gives<'beginAttempt'>>(beginAttempts),
    settle: gather(createSettle(writer), undefined, onCommit),
    writeReceipt: gather(createWriteReceipts(writer)),
    claim: createGroupCommit({
      max: 1,
      async run(calls) {
        const claimed = await tryTwice(async () => {
          await heartbeats.confirmAlive()
          return lend(client => Promise.all(calls.map(each => claim(client, each))))
        })
        await pruneNow()
        return claimed
      },
    }),
  }

  async function call<N extends OperationName>(name: N, takes: Takes<N>): Promise<Gives<N>> {
    if (name in own)
      return lend(client => own[name as OwnName](client, takes as never) as Promise<Gives<N>>).catch(fail)
    try {
      return await commits[name as SharedName].call(takes as never)
    } catch (error) {
      if (name === 'accept')
        for (const { lease } of (takes as Takes<'accept'>).messages)
          if (lease !== undefined) uncertain.giveUp(lease.token)
      throw error
    }
  }

  const port = createPort(call, options)
  return {
    ...port,
    memos: {
      ...port.memos,
      takeLeaderLease: (name, owner, ttlMs) =>
        lend(client => takeLeaderLease(client, name, owner, ttlMs)).catch(fail),
    },
    sharedLeases: heartbeats,
    async close() {
      await Promise.all(Object.values(commits).map(each => each.idle()))
      await heartbeats.leave()
      await Promise.all([connections.close(), heartbeatConnection.close()])
    },
  }
}

/** The operations of which each call has a connection for itself. */
type OwnOperations = { readonly [N in OwnName]: (client: Client, call: Takes<N>) => Promise<Gives<N>> }

/** Creates the tables, or migrates them to this version, and closes the connections, two at least. */
async function prepareDatabase(
  { storeKeys, enterprise, retentionDays, clock }: PostgresOutboxOptions,
  connections: Connections,
): Promise<void> {
  try {
    await requireOwnSessions(connections)
    await connections.use(async client => {
      await migrateTables(client, storeKeys.payloadKeys, undefined, enterprise)
      await makeDays(client, retentionDays, [clock.now()])
      await moveEarlier(client, retentionDays)
    })
  } catch (error) {
    await failStart(error, connections)
  }
  await connections.close()
}

async function failStart(reason: unknown, ...open: readonly Connections[]): Promise<never> {
  await Promise.all(open.map(each => each.close()))
  if (reason instanceof StoreUnusable) throw reason
  throw adviseOnFailure(reason)
}
