import type { Charge, ChargedWindows } from '../outbox.ts'
import {
  chargeQuotas,
  counterName,
  describeUse,
  type QuotaCounter,
  readUse as readUseOf,
  refundCounter,
  rotateCounter,
} from '../quota.ts'
import {
  awaitStatements,
  type Client,
  commitTransaction,
  type QueryResult,
  runStatement,
  type Statement,
} from './connect.ts'

/** The quotas' counters of one transaction: locked, counted in memory, written back. */
export interface Quotas {
  /** Reads and locks the counters of charges, and those that refunds would touch. */
  lock(charges: readonly Charge[], refunds: readonly ChargedWindows[]): Promise<void>
  /** Counts one message in every counter, or in none when one is full. */
  charge(charges: readonly Charge[]): ReturnType<typeof chargeQuotas>
  /** Takes a message that was not sent out of the windows that it was counted in. */
  refund(windows: ChargedWindows): void
  write(): Promise<QueryResult>[]
}

export function createQuotas(client: Client, now: number): Quotas {
  const locked = new Map<string, QuotaCounter>()
  const changed = new Set<string>()

  function change(name: string, counter: QuotaCounter): void {
    locked.set(name, counter)
    changed.add(name)
  }

  return {
    async lock(charges, refunds) {
      const charged = new Map(
        charges.map(charge => [counterName(charge), rotateCounter(undefined, charge.windowMs, now)]),
      )
      const names = new Set([...charged.keys(), ...refunds.flat().map(([name]) => name)])
      if (names.size === 0) return
      const [, read] = await awaitStatements(
        runStatement(client, CREATE, jsonOf(charged)),
        runStatement(client, LOCK, [...names]),
      )
      for (const row of read.rows) locked.set(row['name'] as string, counterOf(row))
    },
    charge(charges) {
      const charged = chargeQuotas(charges, name => locked.get(name), now)
      if (charged.is === 'charged') for (const [name, counter] of charged.counters) change(name, counter)
      return charged
    },
    refund(windows) {
      for (const [name, windowStart, amount] of windows) {
        const counter = locked.get(name)
        if (counter !== undefined) change(name, refundCounter(counter, windowStart, amount))
      }
    },
    write() {
      if (changed.size === 0) return []
      return [runStatement(client, WRITE, jsonOf(new Map([...locked].filter(([name]) => changed.has(name)))))]
    },
  }
}

/** Counts one use beside any message, in a transaction of its own. @param now ms since the epoch. */
export async function chargeUse(client: Client, charges: readonly Charge[], now: number) {
  const quotas = createQuotas(client, now)
  await client.query('BEGIN')
  await quotas.lock(charges, [])
  const charged = quotas.charge(charges)
  await commitTransaction(client, ...quotas.write())
  return describeUse(charged, charges, now)
}

/** Takes such a use back. @param now ms since the epoch. */
export async function refundUse(client: Client, windows: ChargedWindows, now: number): Promise<void> {
  const quotas = createQuotas(client, now)
  await client.query('BEGIN')
  await quotas.lock([], [windows])
  quotas.refund(windows)
  await commitTransaction(client, ...quotas.write())
}

/** Reads how much of each quota is used. @param now ms since the epoch. */
export async function readUse(
  client: Client,
  charges: readonly Charge[],
  now: number,
): Promise<readonly number[]> {
  const { rows } = await runStatement(client, READ, charges.map(counterName))
  const counters = new Map(rows.map(row => [row['name'] as string, counterOf(row)]))
  return readUseOf(charges, name => counters.get(name), now)
}

function counterOf(row: Readonly<Record<string, unknown>>): QuotaCounter {
  return {
    windowStart: row['window_start'] as number,
    current: row['current'] as number,
    previous: row['previous'] as number,
    expiresAt: row['expires_at'] as number,
  }
}

function jsonOf(counters: ReadonlyMap<string, QuotaCounter>): string {
  return JSON.stringify([...counters].map(([name, counter]) => ({ name, ...counter })))
}

const COLUMNS = '(name, window_start, current, previous, expires_at)'
const RECORDS = `SELECT name, "windowStart", current, previous, "expiresAt"
  FROM json_to_recordset($1::json)
    AS r(name text, "windowStart" bigint, current integer, previous integer, "expiresAt" bigint)
  ORDER BY name`

const CREATE: Statement = {
  name: 'create-quota-counters',
  text: `INSERT INTO courier_quota_counters ${COLUMNS} ${RECORDS} ON CONFLICT DO NOTHING`,
}
const LOCK: Statement = {
  name: 'lock-quota-counters',
  text: 'SELECT * FROM courier_quota_counters WHERE name = ANY($1::text[]) ORDER BY name FOR UPDATE',
}
const READ: Statement = {
  name: 'read-quota-counters',
  text: 'SELECT * FROM courier_quota_counters WHERE name = ANY($1::text[])',
}
const WRITE: Statement = {
  name: 'write-quota-counters',
  // An insert for the one that was pruned between creating and locking it.
  text: `INSERT INTO courier_quota_counters ${COLUMNS} ${RECORDS}
    ON CONFLICT (name) DO UPDATE SET window_start = excluded.window_start, current = excluded.current,
      previous = excluded.previous, expires_at = excluded.expires_at`,
}
