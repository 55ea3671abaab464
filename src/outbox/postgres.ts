import { randomBytes } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Channel } from '../messages/message.ts'
import type { Ended, Gives, Takes } from './calls.ts'
import { type Outbox, StoreUnavailable, StoreUnusable } from './outbox.ts'
import { createAccept } from './postgres/accept.ts'
import { createClaim } from './postgres/claim.ts'
import { type Client, type Connections, createConnections } from './postgres/connect.ts'
import { createHand, find, list, probe, summary } from './postgres/desk.ts'
import { whatToDo } from './postgres/faults.ts'
import { asError, createLane } from './postgres/lane.ts'
import { migrate } from './postgres/migrate.ts'
import { readNotes, takeLead } from './postgres/notes.ts'
import { createSettle, receipt } from './postgres/settle.ts'
import { prune } from './postgres/upkeep.ts'
import type { Sealer } from './seal.ts'

export interface PostgresOutboxOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string
  readonly clock: Clock
  readonly sealer: Pick<Sealer, 'letterKey'>
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
}

/** So often is pruned what is too old, ms by the clock. */
const PRUNE_EVERY_MS = 60_000
/** Messages in one transaction: each holds a lock in the server's table, which has room for some thousands. */
const MOST_TOGETHER = 128
/** How many processes can write without one waiting for another's counts. */
const LANES = 32
/** Clocks that are further apart than this make leases and lives of different replicas disagree. */
const CLOCK_SKEW_MS = 2000

/**
 * The shared outbox: any number of replicas on one Postgres.
 *
 * @throws StoreUnusable when the database cannot be reached or is not fit; its message says what to do.
 */
export async function createPostgresOutbox(options: PostgresOutboxOptions): Promise<Outbox> {
  const {
    clock,
    sealer,
    maxBacklog,
    statementTimeoutMs = 800,
    random = Math.random,
    log = () => {},
  } = options
  const { letterKey } = sealer
  const connections = createConnections({ url: options.url, statementTimeoutMs, random, log })
  await open(connections, options)

  /** What accepting has ended in passing, until a claim reports it. */
  let inPassing: readonly Ended[] = []
  // Three writers of this process, each with a shard of the counts that no other is likely to have.
  const shard = Math.floor(random() * LANES) * 3
  const runName = randomBytes(8).toString('hex')
  let calls = 0
  const callName = () => {
    calls += 1
    return `${runName}.${calls.toString(36)}`
  }
  const ended = (messages: readonly Ended[]) => {
    inPassing = [...inPassing, ...messages]
  }
  const takeEnded = (channel: Channel) => {
    const taken = inPassing.filter(each => each.channel === channel)
    inPassing = inPassing.filter(each => each.channel !== channel)
    return taken
  }
  const accept = createAccept({ letterKey, maxBacklog, shard, ended })
  const settle = createSettle(shard + 1)
  const claim = createClaim({ letterKey, shard: shard + 2, takeEnded, callName })
  const hand = createHand(LANES * 3)

  const shared = { most: MOST_TOGETHER, againWithinMs: statementTimeoutMs }
  const accepting = createLane({
    ...shared,
    run: (batch: readonly Takes<'accept'>[], again) =>
      connections.use(client => accept(client, batch, again)),
    weight: call => call.messages.length,
  })
  const settling = createLane({
    ...shared,
    run: (batch: readonly Takes<'settle'>[], again) =>
      connections.use(client => settle(client, batch, again)),
    weight: () => 1,
  })
  const claiming = createLane({
    ...shared,
    most: 1,
    run: ([call]: readonly Takes<'claim'>[]) =>
      connections.use(async client => {
        if (call === undefined) return []
        const claimed = await claim(client, call)
        await tend(client, call.now)
        return [claimed]
      }),
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
    accept: messages => accepting.call({ now: clock.now(), messages }),
    claim: (channel, limit, leaseMs) => claiming.call({ now: clock.now(), channel, limit, leaseMs }),
    settle: (id, { token }, settlement) => settling.call({ now: clock.now(), id, token, settlement }),
    receipt: (channel, providerId, status, errorCode, at) =>
      direct<Gives<'receipt'>>(client => receipt(client, { channel, providerId, status, errorCode, at })),
    notebook: {
      read: names => direct(client => readNotes(client, names)),
      lead: (name, owner, ttlMs) => direct(client => takeLead(client, name, owner, ttlMs)),
    },
    desk: {
      summary: (since, stepMs) => direct(client => summary(client, { since, stepMs })),
      list: filter => direct(client => list(client, { filter })),
      find: id => direct(client => find(client, { id })),
      retry: id => direct(client => hand.retry(client, { now: clock.now(), id })),
      cancel: id => direct(client => hand.cancel(client, { now: clock.now(), id })),
      probe: () =>
        direct(client => probe(client, { now: clock.now() })).catch((error: unknown) => {
          if (error instanceof StoreUnavailable) return false
          throw error
        }),
    },
    async close() {
      await Promise.all([accepting.idle(), settling.idle(), claiming.idle()])
      await connections.close()
    },
  }
}

async function open(connections: Connections, { sealer, clock, log }: PostgresOutboxOptions): Promise<void> {
  try {
    await connections.use(async client => {
      await migrate(client, sealer.letterKey)
      const { rows } = await client.query<{ now: number }>(
        'SELECT (extract(epoch from clock_timestamp()) * 1000)::bigint AS now',
      )
      const skew = Math.abs((rows[0]?.now ?? 0) - clock.now())
      if (skew > CLOCK_SKEW_MS) {
        const message = `our clock and the database's are ${Math.round(skew / 1000)} s apart: set both by NTP`
        log?.({ doing: 'compare clocks', message })
      }
    })
  } catch (error) {
    await connections.close()
    if (error instanceof StoreUnusable) throw error
    throw new StoreUnusable(whatToDo(error), { cause: error })
  }
}
