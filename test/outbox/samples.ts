import { createHash, randomBytes } from 'node:crypto'
import type { Channel, Purpose } from '../../src/messages/message.ts'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import type { Acceptance, AttemptRecord, Charge, Lease } from '../../src/outbox/outbox.ts'

/** A moment at the start of a minute, an hour and a day, so that windows and steps begin with a test. */
export const NOON = Date.UTC(2026, 10, 20)

export const SECRET = 'a secret of the tests, long enough'

/** What stores of tests have in common. */
export const STORE = {
  storeKeys: createStoreKeys(SECRET),
  maxBacklog: 1_000_000,
  retentionDays: 30,
  statementTimeoutMs: 10_000,
}

/** The states that nothing leaves, as docs/durability.md has them. */
export const FINAL_STATES = ['sent', 'refused', 'expired', 'superseded', 'unknown', 'held'] as const

/** A clock that stands still until it is set. */
export interface TestClock {
  now(): number
  set(at: number): void
  advance(ms: number): void
}

export function testClock(at = NOON): TestClock {
  let now = at
  return {
    now: () => now,
    set: to => {
      now = to
    },
    advance: ms => {
      now += ms
    },
  }
}

export interface Sample {
  readonly channel?: Channel
  readonly kind?: string
  readonly purpose?: Purpose
  readonly recipient?: string
  readonly code?: string
  readonly pluginId?: string
  readonly arrivedAt?: number
  readonly lifeMs?: number
  readonly charges?: readonly Charge[]
  readonly lease?: Lease
  readonly destination?: string
  readonly held?: true
  /** Overrides what is derived from the rest. */
  readonly dedupeKey?: string
}

const keyed = (...fields: readonly string[]) =>
  createHash('sha256').update(JSON.stringify(fields)).digest('base64url').slice(0, 22)

export const recipientHashOf = (channel: Channel, recipient: string) => keyed('recipient', channel, recipient)

/** Where it goes, by the domain or the first digits. */
export const destinationOf = (channel: Channel, recipient: string) =>
  keyed('destination', channel, /@.*$|^\+../.exec(recipient)?.[0] ?? '').slice(0, 11)

/** A code by e-mail, unless told otherwise; its dedupe key and group follow from what it says, as in the service. */
export function sample(clock: { now(): number }, given: Sample = {}): Acceptance {
  const { channel = 'email', purpose = 'code', code = '135790', pluginId = '' } = given
  const kind = given.kind ?? (purpose === 'code' ? 'activation-code' : 'member-alarm')
  const recipient = given.recipient ?? (channel === 'email' ? 'ann@example.com' : '+8613800138000')
  const arrivedAt = given.arrivedAt ?? clock.now()
  return {
    message: {
      id: randomBytes(16).toString('hex'),
      channel,
      kind,
      purpose,
      recipient,
      masked: channel === 'email' ? 'a***@example.com' : '+86*******8000',
      destination: given.destination ?? destinationOf(channel, recipient),
      content: {
        params: { code, url: `https://example.com/activate#!${code}` },
        words: 'ours',
        ...(pluginId === '' ? {} : { pluginId }),
      },
      arrivedAt,
      expiresAt: arrivedAt + (given.lifeMs ?? 600_000),
    },
    dedupeKey: given.dedupeKey ?? keyed('dedupe', channel, recipient, kind, code, pluginId),
    recipientHash: recipientHashOf(channel, recipient),
    charges: given.charges ?? [],
    ...(channel === 'sms' && { country: 'CN' }),
    ...(purpose === 'code' ? { groupKey: keyed('group', channel, recipient, kind, pluginId) } : {}),
    ...(given.lease === undefined ? {} : { lease: given.lease }),
    ...(given.held && { held: true }),
  }
}

let leases = 0

/** A lease as the delivery loop makes them, for a message that is handed over from memory. */
export function lease(clock: { now(): number }, ms = 60_000): Lease {
  leases += 1
  return { token: `${randomBytes(8).toString('hex')}.${leases}`, until: clock.now() + ms }
}

/** A line of a timeline. */
export function record(clock: { now(): number }, outcome: string, reply = '250 ok'): AttemptRecord {
  return { at: clock.now(), tookMs: 12, provider: 'smtp', outcome, code: '250', reply }
}

/** Postgres: makes statistics as of a service without a backlog: nothing is live, and all that ended looks the same. */
export const STATISTICS_WITHOUT_BACKLOG = `
  INSERT INTO courier_finished (seq, id, channel, kind, purpose, rank, state, attempts, ambiguous, arrived_at, expires_at,
    final_at, dedupe_key, recipient_hash, begun, outdated, masked_recipient)
  SELECT -n, 'f' || n, 'email', 'activation-code', 'code', 0, 'sent', 1, 0, ${NOON}, ${NOON}, ${NOON}, 'd', 'r', true, false, 'm'
  FROM generate_series(1, 5000) AS n;
  ANALYZE`

/** A claim of up to nine mails, as a call of a store. */
export function claimOf(now: number, passOver: readonly string[] = []) {
  return { now, channel: 'email', limit: 9, leaseMs: 60_000, passOver, codesOnly: false, only: [] } as const
}
