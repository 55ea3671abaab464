import { say, type Words } from '../../language/sentence.ts'
import {
  isSecretMissing,
  isSecretNew,
  type PayloadKeys,
  renewSecretChecks,
  splitSecretChecks,
  tryDecrypt,
} from '../encryption.ts'
import { type Enterprise, StoreUnusable } from '../outbox.ts'
import {
  ENTERPRISE,
  findEnterpriseNote,
  findPendingMigrations,
  requireOwnColumns,
  type Schema,
  versionOf,
} from '../schema-version.ts'
import { type Client, type Connections, MAY_NOT_CREATE } from './connect.ts'
import { HEARTBEAT_LIMITS } from './heartbeats.ts'
import { POSTGRES_SCHEMA } from './schema.ts'

/** Locked while tables are created or changed, so that replicas that start together do it one after the other. */
const MIGRATION_LOCK = 7_310_928_441

/**
 * Creates the tables or migrates them to this version, and checks the secret that the store is written with.
 *
 * @throws StoreUnusable when the database is not fit for it, belongs to a newer version, is in use by replicas that could
 *   not write it any more or could not read what this one would write, or holds messages that were encrypted with another
 *   secret.
 */
export async function migrateTables(
  client: Client,
  payloadKeys: PayloadKeys,
  schema = POSTGRES_SCHEMA,
  enterprise?: Enterprise,
): Promise<void> {
  await requireServer(client)
  await client.query('BEGIN')
  await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
  await client.query('CREATE TABLE IF NOT EXISTS courier_meta (key text PRIMARY KEY, value text NOT NULL)')
  await noteEnterprise(client, enterprise)
  await bringUpToDate(client, schema)
  await keepSecretChecks(client, payloadKeys)
  await client.query('COMMIT')
}

/** How often each of two connections is asked, each time the other one first: a pooler that goes round its servers comes to another one then. */
const ASKED = 4

/**
 * Makes sure at the start that connections of ours are sessions of their own, each with a server process of its own. Behind a pooler that
 * lends sessions for a transaction at a time, our time limits and our prepared statements would be somebody else's, and theirs ours.
 *
 * @param connections two at least.
 * @throws StoreUnusable
 */
export async function requireOwnSessions(connections: Pick<Connections, 'use'>): Promise<void> {
  const areOwn = await connections.use(one =>
    connections.use(async other => {
      const [mine, theirs] = [new Set<string>(), new Set<string>()]
      const both = [[one, mine] as const, [other, theirs] as const]
      for (let times = 0; times < ASKED; times += 1)
        for (const [client, found] of times % 2 === 0 ? both : both.toReversed())
          found.add(await askProcess(client))
      return mine.size === 1 && theirs.size === 1 && mine.isDisjointFrom(theirs)
    }),
  )
  if (!areOwn)
    throw new StoreUnusable(
      'a pooler in front of the database lends sessions by the transaction: set its pool_mode to session, or name the database itself in DATABASE_URL',
    )
}

async function askProcess(client: Client): Promise<string> {
  return String((await client.query('SELECT pg_backend_pid() AS id')).rows[0]?.id)
}

/** Looks at what a 0 and the tables rest on: a server that is managed, or only speaks like Postgres, may have it otherwise. */
async function requireServer(client: Client): Promise<void> {
  const { rows } = await client.query<Record<string, unknown>>(
    `SELECT current_setting('server_version_num')::int AS version, current_setting('fsync') AS fsync,
      current_setting('synchronous_commit') AS commits, current_setting('server_encoding') AS encoding,
      has_schema_privilege(current_schema(), 'CREATE') AS creates,
      (SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('courier_finished')) AS owns,
      ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = to_regclass('courier_messages') AND attnum > 0) AS columns`,
  )
  const { version, fsync, commits, encoding, creates, owns, columns = [] } = rows[0] ?? {}
  const faults: readonly (readonly [isThere: boolean, words: Words])[] = [
    [Number(version) < 150_000, 'the database is too old: Postgres 15 or later is needed'],
    [fsync !== 'on', 'the database runs with fsync off, so what it acknowledges may be lost: set fsync = on'],
    [
      commits !== 'on',
      say(
        'the database commits without waiting for its disk (synchronous_commit stays {commits}): name one that lets a session set it to on',
        { commits: String(commits) },
      ),
    ],
    [
      encoding !== 'UTF8' && encoding !== 'SQL_ASCII',
      say("the database cannot hold every name (its encoding is {encoding}): make one with ENCODING 'UTF8'", {
        encoding: String(encoding),
      }),
    ],
    // A partition is made for each day.
    [creates !== true, MAY_NOT_CREATE],
    // Only the owner of a table makes its partitions: another user could write no end from the second day on.
    [
      owns === false,
      'the user of DATABASE_URL does not own the tables of the store: name their owner, or make it a member of that role',
    ],
  ]
  const fault = faults.find(([isThere]) => isThere)
  if (fault !== undefined) throw new StoreUnusable(fault[1])
  requireOwnColumns(columns as readonly string[], 'the store')
}

async function noteEnterprise(client: Client, enterprise: Enterprise | undefined): Promise<void> {
  const noted = await readMeta(client, ENTERPRISE)
  const note = enterprise && findEnterpriseNote(noted, enterprise, 'the store')
  if (note && noted !== undefined)
    await requireNoReplicas(client, count =>
      say('{count} replicas of {noted} are running: end all of them first, and repeat the command then', {
        count,
        noted,
      }),
    )
  if (note) await writeMeta(client, ENTERPRISE, note)
}

/** Runs the migrations that the tables lack, and writes into the store which versions may write them from then on. */
async function bringUpToDate(client: Client, schema: Schema): Promise<void> {
  const version = Number((await readMeta(client, 'schema')) ?? 0)
  const minWriter = await readMeta(client, 'min-writer')
  const stored = { version, minWriter: minWriter === undefined ? null : Number(minWriter) }
  const pending = findPendingMigrations(schema, stored, 'the store')
  if (version > 0 && version < schema.minWriter)
    await requireNoReplicas(client, count =>
      say(
        '{count} replicas of an older version are running, which could not write the tables of this one: end all of them, and start this one then (docs/upgrading.md)',
        { count },
      ),
    )
  for (const sql of pending) await client.query(sql)
  // Tables of a newer version that this program may write keep their version.
  if (version > versionOf(schema)) return
  await writeMeta(client, 'schema', String(versionOf(schema)))
  await writeMeta(client, 'min-writer', String(schema.minWriter))
}

/**
 * Refuses a start beside running replicas: they looked at their own start only at what they may write and can read.
 * @param why says of so many replicas why they must end first.
 */
async function requireNoReplicas(client: Client, why: (count: number) => Words): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT name FROM courier_replicas WHERE NOT has_left AND seen_at > clock_timestamp() - $1 * interval '1 ms'`,
    [HEARTBEAT_LIMITS.goneMs],
  )
  if (rows.length > 0) throw new StoreUnusable(why(rows.length))
}

/** The store tries to read so many of the oldest messages that wait: messages under a replaced secret are older than the others. */
const TRIED_MESSAGES = 10_000

/** Keeps checks of the secrets that the store is written with, and refuses a start that could not read what waits. */
async function keepSecretChecks(client: Client, payloadKeys: PayloadKeys): Promise<void> {
  const kept = [await readMeta(client, 'secret-check'), await readMeta(client, 'secrets-replaced')]
  const [current, replaced] = kept.map(each => (each === undefined ? undefined : Buffer.from(each, 'base64')))
  const stored = splitSecretChecks(current, replaced)
  if (isSecretMissing(payloadKeys, stored) && (await hasUnreadable(client, payloadKeys)))
    throw new StoreUnusable(
      'messages wait in the store that were stored with another secret: set STORE_SECRET to what it was, the same for every replica, or name that one in STORE_SECRET_PREVIOUS',
    )
  // Running replicas without the secret would end, unsent, what they claim of the messages that this one stores.
  if (isSecretNew(payloadKeys, stored))
    await requireNoReplicas(client, count =>
      say(
        '{count} replicas are running that could not read what this one would store: set STORE_SECRET_PREVIOUS to the new secret on each of them first, or end all of them (docs/operations.md)',
        { count },
      ),
    )
  const [first = new Uint8Array(), ...others] = renewSecretChecks(payloadKeys, stored)
  await writeMeta(client, 'secret-check', Buffer.from(first).toString('base64'))
  await writeMeta(client, 'secrets-replaced', Buffer.concat(others).toString('base64'))
}

async function hasUnreadable(client: Client, payloadKeys: PayloadKeys): Promise<boolean> {
  const { rows } = await client.query<{ id: string; payload: Buffer }>(
    'SELECT id, payload FROM courier_live ORDER BY arrived_at LIMIT $1',
    [TRIED_MESSAGES],
  )
  return rows.some(({ id, payload }) => tryDecrypt(payloadKeys, id, payload) === null)
}

async function readMeta(client: Client, key: string): Promise<string | undefined> {
  const { rows } = await client.query<{ value: string }>('SELECT value FROM courier_meta WHERE key = $1', [
    key,
  ])
  return rows[0]?.value
}

async function writeMeta(client: Client, key: string, value: string): Promise<void> {
  await client.query(
    'INSERT INTO courier_meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
    [key, value],
  )
}
