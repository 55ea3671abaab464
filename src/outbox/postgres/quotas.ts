import type { Charge, ChargedWindows } from '../outbox.ts'
import {
  chargeQuotas,
  counterName,
  type QuotaCounter,
  refundCounter,
  rotateCounter,
  toCounter,
} from '../quota.ts'
import {
  awaitStatements,
  type Client,
  runStatement,
  type Statement,
  statement,
  type Write,
} from './connect.ts'
import { QUOTA_COUNTERS } from './schema.ts'

export type Quotas = ReturnType<typeof createQuotas>

/** The quotas' counters of one transaction: locked, counted in memory, written back. */
export function createQuotas(client: Client, now: number) {
  /** As they are stored. */
  const locked = new Map<string, QuotaCounter>()
  const changed = new Map<string, QuotaCounter>()
  const readCounter = (name: string) => changed.get(name) ?? locked.get(name)

  return {
    /**
     * Reads and locks the counters of charges, and those that refunds would touch. One that is not there is written as it
     * is after its charges; if another transaction is the first to write it, this one fails, and is worth another try.
     * @param create writes those that are not there at once, empty: then no other transaction can be the first.
     */
    async lock(
      charges: readonly Charge[],
      refunds: readonly ChargedWindows[],
      create = false,
    ): Promise<void> {
      const charged = new Map(
        charges.map(charge => [counterName(charge), rotateCounter(undefined, charge.windowMs, now)]),
      )
      const names = new Set([...charged.keys(), ...refunds.flat().map(([name]) => name)])
      if (names.size === 0) return
      const results = await awaitStatements(
        ...(create ? [runStatement(client, CREATE, countersAsJson(charged))] : []),
        runStatement(client, LOCK, [...names]),
      )
      for (const row of results.at(-1)?.rows ?? []) locked.set(row['name'] as string, toCounter(row))
    },
    /** Counts one message in every counter, or in none when one is full. */
    charge(charges: readonly Charge[]) {
      const charged = chargeQuotas(charges, readCounter, now)
      if (charged.is === 'charged') for (const [name, counter] of charged.counters) changed.set(name, counter)
      return charged
    },
    /** Takes a message that was not sent out of the windows that it was counted in. */
    refund(windows: ChargedWindows): void {
      for (const [name, windowStart] of windows) {
        const counter = readCounter(name)
        if (counter !== undefined) changed.set(name, refundCounter(counter, windowStart))
      }
    },
    /** The writes of what has changed. The first one may wait for another transaction that writes the same new counter. */
    write(): readonly Write[] {
      const write = (into: Statement, isStored: boolean) => {
        const counters = [...changed].filter(([name]) => locked.has(name) === isStored)
        return counters.length === 0 ? [] : [{ ...into, values: [countersAsJson(counters)] }]
      }
      return [...write(INSERT, false), ...write(UPDATE, true)]
    },
  }
}

function countersAsJson(counters: Iterable<readonly [string, QuotaCounter]>): string {
  return JSON.stringify([...counters].map(([name, counter]) => ({ name, ...counter })))
}

const COLUMNS = '(name, window_start, current, previous, expires_at)'
const RECORDS = `SELECT name, "windowStart", current, previous, "expiresAt"
  FROM json_to_recordset($1::json)
    AS r(name text, "windowStart" bigint, current integer, previous integer, "expiresAt" bigint)
  ORDER BY name`

const CREATE = statement(
  'create-quota-counters',
)`INSERT INTO ${QUOTA_COUNTERS} ${COLUMNS} ${RECORDS} ON CONFLICT DO NOTHING`
const LOCK = statement(
  'lock-quota-counters',
)`SELECT * FROM ${QUOTA_COUNTERS} WHERE name = ANY($1::text[]) ORDER BY name FOR UPDATE`
const INSERT = statement('insert-quota-counters')`INSERT INTO ${QUOTA_COUNTERS} ${COLUMNS} ${RECORDS}`
const UPDATE = statement(
  'update-quota-counters',
)`UPDATE ${QUOTA_COUNTERS} c SET window_start = r."windowStart", current = r.current, previous = r.previous,
      expires_at = r."expiresAt"
    FROM (${RECORDS}) AS r WHERE c.name = r.name`
