import { createSecretCheck, matchesSecretCheck, type PayloadKeys } from '../encryption.ts'
import { StoreUnusable } from '../outbox.ts'
import type { Client } from './connect.ts'
import { MIGRATIONS } from './schema.ts'

/** Locked while tables are created or changed, so that replicas that start together do it one after the other. */
const MIGRATION_LOCK = 7_310_928_441

/**
 * Creates the tables or migrates them to this version, and checks the secret that the store is written with.
 *
 * @throws StoreUnusable when the database is not fit for it, belongs to a newer version, or holds messages that were
 *   encrypted with another secret.
 */
export async function migrate(client: Client, payloadKeys: PayloadKeys): Promise<void> {
  const server = await client.query<{ version: string; fsync: string }>(
    "SELECT current_setting('server_version_num') AS version, current_setting('fsync') AS fsync",
  )
  if (Number(server.rows[0]?.version) < 150_000)
    throw new StoreUnusable('the database is too old: Postgres 15 or later is needed')
  if (server.rows[0]?.fsync !== 'on') {
    throw new StoreUnusable(
      'the database runs with fsync off, so what it acknowledges may be lost: set fsync = on',
    )
  }
  await client.query('BEGIN')
  await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
  await client.query('CREATE TABLE IF NOT EXISTS courier_meta (key text PRIMARY KEY, value text NOT NULL)')
  const version = Number((await readMeta(client, 'schema')) ?? 0)
  if (version > MIGRATIONS.length) {
    throw new StoreUnusable(
      'the store was written by a newer version of this service: start that one, or restore the backup that was made before it',
    )
  }
  for (const sql of MIGRATIONS.slice(version)) await client.query(sql)
  if (version < MIGRATIONS.length) await writeMeta(client, 'schema', String(MIGRATIONS.length))
  await checkSecret(client, payloadKeys)
  await client.query('COMMIT')
}

/** Keeps a check of the secret that the store is written with, and refuses another one while messages wait. */
async function checkSecret(client: Client, payloadKeys: PayloadKeys): Promise<void> {
  const check = await readMeta(client, 'secret-check')
  if (check !== undefined) {
    const stored = Buffer.from(check, 'base64')
    if (matchesSecretCheck([payloadKeys[0]], stored)) return
    const { rows } = await client.query('SELECT 1 FROM courier_messages WHERE final_at IS NULL LIMIT 1')
    if (rows.length > 0 && !matchesSecretCheck(payloadKeys, stored)) {
      throw new StoreUnusable(
        'messages wait in the store that were stored with another secret: set STORE_SECRET to what it was, the same for every replica, or name that one in STORE_SECRET_PREVIOUS',
      )
    }
  }
  await writeMeta(client, 'secret-check', createSecretCheck(payloadKeys).toString('base64'))
}

async function readMeta(client: Client, key: string): Promise<string | undefined> {
  const { rows } = await client.query<{ value: string }>('SELECT value FROM courier_meta WHERE key = $1', [
    key,
  ])
  return rows[0]?.value
}

async function writeMeta(client: Client, key: string, value: string): Promise<void> {
  await client.query(
    'INSERT INTO courier_meta VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
    [key, value],
  )
}
