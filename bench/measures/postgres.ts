import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { connectTo, noPostgres, openPostgres, type PostgresRig } from '../../test/rigs/postgres.ts'
import { type CallbackLoad, openCallbackLoad } from '../callbacks.ts'
import { cpuMs, processTreeCpuMs } from '../child.ts'
import { atMost, type Figure, figure, formatTable, ratio } from '../figures.ts'
import { fillFinished } from '../finished.ts'
import { type LoopResult, median } from '../loop.ts'
import type { Service } from '../service.ts'
import type { Session } from '../session.ts'

/** Callbacks under way at full speed. */
const CONNECTIONS = 64
/** Of an enterprise that is busy all day. */
const PER_SECOND = 40
/** How far back the messages reach that the store is filled with, and how many of these days it keeps where it has to prune. */
const DAYS = 29.9
const KEPT_DAYS = 28
/** Backends say what they have changed after ten idle seconds at the latest. */
const STATISTICS_MS = 11_000

/** At ten million rows: times of what it is at none; and bytes of log a message. */
const MOST = { time: 1.1, wal: 1.3, bytes: 4000 }

/** The server has room, as in production, and no checkpoint but ours: each round begins with one. */
const SETTINGS = {
  shared_buffers: '1GB',
  max_wal_size: '8GB',
  checkpoint_timeout: '1h',
  shared_preload_libraries: 'pg_stat_statements',
}

/** What a round of some load has cost. */
interface Cost extends LoopResult {
  readonly serviceUs: number
  readonly databaseUs: number
  /** Of the write-ahead log, a message; and the part of it that are images of pages. */
  readonly wal: number
  readonly images: number
  /** Of a batch's look-up of duplicates. */
  readonly lookUpMs: number
}

interface Store {
  readonly rows: number
  readonly url: string
  readonly client: pg.Client
  service: Service
  platform: CallbackLoad
  readonly costs: Cost[]
}

/**
 * What a message costs the service and its database when so many have ended in the last 30 days: processor time, write-ahead log
 * from a checkpoint on, answer times; at full speed, and at a steady rate while old ones are pruned.
 */
export async function measurePostgres(
  session: Session,
  { rows }: { readonly rows: readonly number[] },
): Promise<Figure[]> {
  if (noPostgres !== false) {
    session.print(`postgres: not measured, ${noPostgres}`)
    return []
  }
  const postgres = await openPostgres({ durable: true, settings: SETTINGS })
  const stores: Store[] = []
  const lines: string[][] = []
  try {
    const database = await postgres.pid()
    for (const each of rows) stores.push(await openStore(session, postgres, each))
    for (const { platform } of stores) await platform.warmUp()
    const before = await readChanges(stores)
    for (let round = 1; round <= session.rounds; round++)
      for (const store of stores) {
        const cost = await measureLoad(store, database, () => store.platform.saturate(session.seconds))
        store.costs.push(cost)
        session.print(`postgres ${round}: ${lineOf(store.rows, 'full speed', cost).join('; ')}`)
      }
    const after = await readChanges(stores)
    for (const [i, { rows, costs }] of stores.entries())
      lines.push(lineOf(rows, 'full speed', medianOf(costs), before[i], after[i]))
    for (const store of stores) lines.push(await measurePruning(session, store, database))
    for (const store of stores) session.print(await measureVacuum(store))
  } finally {
    for (const { platform } of stores) platform.close()
    await session.stopServices()
    for (const { client } of stores) await client.end()
    await postgres.close()
  }
  const head = 'rows|load|rate|service + database|WAL (images)|p50, p99|look-up|updates (HOT)|removed'
  session.print(`\n${formatTable([head.split('|'), ...lines])}\n`)
  return figuresOf(stores)
}

async function openStore(session: Session, postgres: PostgresRig, rows: number): Promise<Store> {
  const url = await postgres.url()
  const client = await connectTo(url)
  await client.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements SCHEMA public')
  await client.query('CREATE EXTENSION IF NOT EXISTS pg_walinspect SCHEMA public')
  const env = { DATABASE_URL: url }
  if (rows > 0) {
    const first = await session.startService({ env })
    const platform = await openCallbackLoad(session, first, 'email', CONNECTIONS)
    await platform.saturate(1)
    platform.close()
    await first.stop()
    const began = performance.now()
    await fillFinished(client, rows, DAYS)
    const { rows: sizes } = await client.query<{ bytes: string }>(
      `SELECT sum(pg_total_relation_size(oid)) AS bytes FROM pg_class
       WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace`,
    )
    const seconds = Math.round((performance.now() - began) / 1000)
    session.print(
      `postgres: ${rows.toLocaleString('en')} rows in ${seconds} s, ${Math.round(Number(sizes[0]?.bytes) / rows)} bytes each with their indexes`,
    )
  }
  return { rows, url, client, ...(await openService(session, env)), costs: [] }
}

async function openService(
  session: Session,
  env: Readonly<Record<string, string>>,
): Promise<Pick<Store, 'service' | 'platform'>> {
  const service = await session.startService({ env })
  return { service, platform: await openCallbackLoad(session, service, 'email', CONNECTIONS) }
}

async function measureLoad(
  { client, service }: Store,
  database: number,
  load: () => Promise<LoopResult>,
): Promise<Cost> {
  await client.query('CHECKPOINT')
  await client.query('SELECT public.pg_stat_statements_reset()')
  const { rows: begin } = await client.query<{ at: string }>('SELECT pg_current_wal_insert_lsn() AS at')
  const before = [cpuMs(service.pid), processTreeCpuMs(database)] as const
  const loop = await load()
  const after = [cpuMs(service.pid), processTreeCpuMs(database)] as const
  const { rows: wal } = await client.query<{ bytes: number; images: number }>(
    `WITH until AS (SELECT pg_current_wal_flush_lsn() AS at)
     SELECT pg_wal_lsn_diff(until.at, $1)::float8 AS bytes,
       (SELECT sum(fpi_size)::float8 FROM public.pg_get_wal_stats($1, until.at)) AS images FROM until`,
    [begin[0]?.at],
  )
  // The look-up is known by what it asks for.
  const { rows: looked } = await client.query<{ ms: number }>(
    `SELECT (sum(total_exec_time) / sum(calls))::float8 AS ms FROM public.pg_stat_statements
     WHERE query LIKE '%asked(recipient_hash, dedupe_key)%'`,
  )
  return {
    ...loop,
    lookUpMs: looked[0]?.ms ?? Number.NaN,
    serviceUs: ((after[0] - before[0]) / loop.done) * 1000,
    databaseUs: ((after[1] - before[1]) / loop.done) * 1000,
    wal: (wal[0]?.bytes ?? 0) / loop.done,
    images: (wal[0]?.images ?? 0) / loop.done,
  }
}

/** What the tables of messages have counted so far. */
interface Changes {
  readonly updates: number
  readonly hot: number
  readonly removed: number
}

async function readChanges(stores: readonly Store[]): Promise<readonly Changes[]> {
  await pause(STATISTICS_MS)
  return Promise.all(
    stores.map(async ({ client }) => {
      const { rows } = await client.query<Changes>(
        `SELECT sum(n_tup_upd)::float8 AS updates, sum(n_tup_hot_upd)::float8 AS hot, sum(n_tup_del)::float8 AS removed
         FROM pg_stat_user_tables WHERE schemaname = current_schema()
           AND EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = relid AND attname = 'dedupe_key')`,
      )
      return rows[0] ?? { updates: 0, hot: 0, removed: 0 }
    }),
  )
}

/** Sends at a steady rate while there are days to be removed, as after a shorter RETENTION_DAYS. @returns a line of the table */
async function measurePruning(session: Session, store: Store, database: number): Promise<string[]> {
  store.platform.close()
  await store.service.stop()
  // It begins to remove as soon as it has started.
  const [before] = await readChanges([store])
  const env = { DATABASE_URL: store.url, RETENTION_DAYS: String(KEPT_DAYS) }
  Object.assign(store, await openService(session, env))
  const cost = await measureLoad(store, database, () =>
    store.platform.sendAtRate(PER_SECOND, session.seconds * 3),
  )
  const [after] = await readChanges([store])
  return lineOf(store.rows, `${PER_SECOND}/s, pruning`, cost, before, after)
}

/** Vacuums what the run has left behind. @returns a line of what it took */
async function measureVacuum({ rows, client }: Store): Promise<string> {
  const at = async () =>
    Number(
      (await client.query("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS at")).rows[0]?.at,
    )
  await client.query('CHECKPOINT')
  const began = performance.now()
  const before = await at()
  const { rows: tables } = await client.query<{ name: string }>(
    "SELECT relname AS name FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = current_schema()::regnamespace",
  )
  for (const { name } of tables) await client.query(`VACUUM ${name}`)
  const megabytes = ((await at()) - before) / 1e6
  return `postgres, ${rows.toLocaleString('en')} rows: a vacuum took ${Math.round(performance.now() - began)} ms and ${Math.round(megabytes)} MB of log`
}

function lineOf(rows: number, load: string, cost: Cost, before?: Changes, after?: Changes): string[] {
  const each = (what: keyof Changes) => ((after?.[what] ?? 0) - (before?.[what] ?? 0)) / cost.done
  return [
    rows.toLocaleString('en'),
    load,
    `${Math.round(cost.perSecond)}/s`,
    `${Math.round(cost.serviceUs)} + ${Math.round(cost.databaseUs)} µs`,
    `${(cost.wal / 1000).toFixed(1)} KB (${(cost.images / 1000).toFixed(1)})`,
    `${cost.p50Ms.toFixed(1)}, ${cost.p99Ms.toFixed(1)} ms`,
    `${cost.lookUpMs.toFixed(2)} ms`,
    ...(before === undefined
      ? []
      : [`${each('updates').toFixed(2)} (${each('hot').toFixed(2)})`, each('removed').toFixed(1)]),
  ]
}

function medianOf(costs: readonly Cost[]): Cost {
  const of = (what: keyof Cost) => median(costs.map(cost => cost[what]))
  return {
    done: costs.reduce((sum, { done }) => sum + done, 0),
    perSecond: of('perSecond'),
    p50Ms: of('p50Ms'),
    p99Ms: of('p99Ms'),
    serviceUs: of('serviceUs'),
    databaseUs: of('databaseUs'),
    wal: of('wal'),
    images: of('images'),
    lookUpMs: of('lookUpMs'),
  }
}

/** Each size beside the smallest one, round by round. */
function figuresOf(stores: readonly Store[]): Figure[] {
  const [none, ...others] = stores
  if (none === undefined) return []
  const all = (store: Store, of: (cost: Cost) => number) => store.costs.map(of)
  const together = ({ serviceUs, databaseUs }: Cost) => serviceUs + databaseUs
  const wal = (cost: Cost) => cost.wal
  const p99 = (cost: Cost) => cost.p99Ms
  return others.flatMap(store => {
    const rows = `${store.rows.toLocaleString('en')} rows to ${none.rows.toLocaleString('en')}`
    return [
      atMost(MOST.time, ratio(`processor time, ${rows}`, all(store, together), all(none, together))),
      atMost(MOST.wal, ratio(`write-ahead log, ${rows}`, all(store, wal), all(none, wal))),
      ratio(`p99, ${rows}`, all(store, p99), all(none, p99)),
      atMost(
        MOST.bytes,
        figure(
          `write-ahead log a message, ${store.rows.toLocaleString('en')} rows`,
          'bytes',
          all(store, wal),
        ),
      ),
    ]
  })
}
