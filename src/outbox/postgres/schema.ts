import type { Channel } from '../../messages/message.ts'
import { STATE } from '../message-row.ts'
import { KNOWN_MS } from '../quota.ts'
import type { Schema } from '../schema-version.ts'

/**
 * Says in which of its queues a live message waits: of its channel and rank, later (an even digit) or now; null: in none. One
 * expression, so that no index but the one by destination looks as if it could serve a condition on it.
 */
export const QUEUE = '(channel || (rank * 2 + ready)::text)'
export const nameQueue = (channel: Channel, rank: number, ready: 0 | 1) => `${channel}${rank * 2 + ready}`

/**
 * Makes the condition on what is due, to be ordered by channel and seq. The channel is one of a list: where it is equal to something
 * the order by it is left out, and any index by seq looks as if it could serve the rest.
 */
export const isDueOf = (channel: string, rank: string) =>
  `ready = 1 AND channel = ANY(ARRAY[${channel}]) AND rank = ${rank}`

/** Says in SQL how a message of which channel has ended. One expression, for the same reason. */
export const END = `((${STATE}) || channel)`

/** The columns of a message, which all of its tables have. */
export const COLUMNS = `seq, id, channel, kind, purpose, rank, state, ready, attempts, ambiguous, arrived_at, expires_at, due_at,
  final_at, lease_until, lease_token, dedupe_key, recipient_hash, group_key, begun, attempted_by, outdated, masked_recipient,
  answer, provider_id, receipt, charges, timeline, payload`

/** The same with what was reported since a message ended, of the table called `m`. */
export const WITH_REPORTS = COLUMNS.replace(
  'provider_id, receipt',
  `coalesce(provider_id, (SELECT r.provider_id FROM courier_reports r WHERE r.id = m.id AND r.final_at = m.final_at)) AS provider_id,
  coalesce((SELECT r.receipt FROM courier_reports r WHERE r.id = m.id AND r.final_at = m.final_at), receipt) AS receipt`,
)

/**
 * Makes the condition by which a day's index is asked for texts: the index holds 32 bits of each, so that it is short.
 * @param texts pairs of a column and what it is to be.
 */
export function isText(...texts: readonly (readonly [column: string, value: string])[]): string {
  return texts
    .map(([column, value]) => `hashtext(${column}) = hashtext(${value}) AND ${column} = ${value}`)
    .join(' AND ')
}

/** What a finished message keeps of its live row, called `m`, whatever its end is. */
export const KEPT_COLUMNS = `m.seq, m.id, m.channel, m.kind, m.purpose, m.rank, m.arrived_at, m.expires_at, m.dedupe_key,
  m.recipient_hash, m.masked_recipient, m.receipt, m.country`

/** Makes the SQL that writes finished messages into the partition of their day. @param source has them, with all these columns. */
export function finishFrom(source: string): string {
  const columns = `${KEPT_COLUMNS.replaceAll('m.', '')}, state, attempts, ambiguous, final_at, lease_token, begun, attempted_by,
      outdated, answer, provider_id, timeline`
  return `INSERT INTO courier_finished (${columns}) SELECT ${columns} FROM ${source}`
}

/**
 * The shared store's tables. The columns mean what they mean in the embedded store (sqlite/schema.ts), which also
 * says what `ready` is for; what differs is what several writers and many rows need:
 *
 * - `courier_live` has what waits or is being sent. It stays small, and so do its indexes. Its unique index of duplicates keeps
 *   two replicas from storing the same message.
 * - `courier_finished` has a partition for each day, by `final_at` (days.ts). A message is written there once, when it ends.
 * - `courier_reports` has what was reported on finished messages, in partitions of the same days.
 * - `courier_rows` reads the tables of messages as one, and `part` says which it is: asking for a part, or for a time, leaves out
 *   the tables that cannot have it. `courier_messages` has the latest reports as well.
 * - `courier_earlier` is empty. It is there because statements of 1.1.0 name it; a release after this one removes it.
 * - `courier_backlog` and `courier_counts` are in shards, so that replicas do not wait for each other's counts (backlog.ts says
 *   why a writer goes from row to row of the backlog).
 *
 * Statistics that were made while nothing waited tell the planner that no message is live, and then walking through all
 * of those that are looks as cheap as looking one up. So the statements name no order that another index could serve
 * (`-seq`), and look for one message after the other (`LATERAL … OFFSET 0`, which is not made a join).
 *
 * An index with random keys costs a page of WAL for each page of it that is touched after a checkpoint. So a day has two of them,
 * of 20 octets a message; ids begin with the time, and are appended.
 */
const MIGRATIONS: readonly string[] = [
  `
CREATE SEQUENCE courier_messages_seq_seq;
CREATE TABLE courier_live (
  seq bigint PRIMARY KEY DEFAULT nextval('courier_messages_seq_seq'),
  id text NOT NULL,
  channel text NOT NULL,
  kind text NOT NULL,
  purpose text NOT NULL,
  rank smallint NOT NULL,
  state text NOT NULL,
  ready smallint,
  attempts integer NOT NULL,
  ambiguous integer NOT NULL,
  arrived_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  due_at bigint,
  final_at bigint,
  lease_until bigint,
  lease_token text,
  dedupe_key text NOT NULL,
  recipient_hash text NOT NULL,
  group_key text,
  begun boolean NOT NULL,
  attempted_by text,
  outdated boolean NOT NULL DEFAULT false,
  masked_recipient text NOT NULL,
  answer text,
  provider_id text,
  receipt jsonb,
  charges jsonb,
  timeline jsonb,
  payload bytea
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_threshold = -1, autovacuum_vacuum_cost_delay = 0);
CREATE UNIQUE INDEX courier_live_id ON courier_live (id);
CREATE UNIQUE INDEX courier_live_duplicate ON courier_live (recipient_hash, dedupe_key);
CREATE INDEX courier_live_group ON courier_live (group_key) WHERE group_key IS NOT NULL;
CREATE INDEX courier_live_due ON courier_live (channel, rank, seq DESC) WHERE ready = 1;
CREATE INDEX courier_live_waiting ON courier_live (channel, rank, due_at) WHERE ready = 0;
CREATE INDEX courier_live_expiry ON courier_live (channel, expires_at) WHERE ready IS NOT NULL;
CREATE INDEX courier_live_lease ON courier_live (channel, lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX courier_live_oldest ON courier_live (channel, arrived_at);
CREATE INDEX courier_live_arrival ON courier_live (arrived_at);
CREATE INDEX courier_live_provider ON courier_live (provider_id) WHERE provider_id IS NOT NULL;

CREATE TABLE courier_finished (LIKE courier_live) PARTITION BY RANGE (final_at);
CREATE INDEX courier_finished_id ON courier_finished (id);
CREATE INDEX courier_finished_recipient ON courier_finished (hashtext(recipient_hash), hashtext(dedupe_key));
CREATE INDEX courier_finished_provider ON courier_finished (hashtext(provider_id)) WHERE provider_id IS NOT NULL;
CREATE INDEX courier_finished_arrival ON courier_finished (arrived_at, channel, kind, state);

CREATE TABLE courier_reports (
  final_at bigint NOT NULL,
  id text NOT NULL,
  channel text NOT NULL,
  provider_id text,
  receipt jsonb NOT NULL,
  PRIMARY KEY (id, final_at)
) PARTITION BY RANGE (final_at);
CREATE INDEX courier_report_provider ON courier_reports (hashtext(provider_id)) WHERE provider_id IS NOT NULL;

CREATE TABLE courier_earlier (LIKE courier_live);
CREATE VIEW courier_rows AS
  SELECT 'live' AS part, ${COLUMNS} FROM courier_live
  UNION ALL SELECT 'finished', ${COLUMNS} FROM courier_finished
  UNION ALL SELECT 'earlier', ${COLUMNS} FROM courier_earlier;
CREATE VIEW courier_messages AS SELECT ${WITH_REPORTS} FROM courier_rows m;

CREATE TABLE courier_quota_counters (
  name text PRIMARY KEY,
  window_start bigint NOT NULL,
  current integer NOT NULL,
  previous integer NOT NULL,
  expires_at bigint NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX courier_quota_counter_expiry ON courier_quota_counters (expires_at);

CREATE TABLE courier_backlog (
  shard smallint PRIMARY KEY,
  email bigint NOT NULL,
  sms bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE courier_counts (
  minute bigint NOT NULL,
  channel text NOT NULL,
  kind text NOT NULL,
  state text NOT NULL,
  shard smallint NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (minute, channel, kind, state, shard)
) WITH (fillfactor = 70);

CREATE TABLE courier_memos (
  name text PRIMARY KEY,
  value text NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX courier_memo_expiry ON courier_memos (expires_at);

-- Which replica does the work that only one may do, until when by the database's clock.
CREATE TABLE courier_leader_leases (
  name text PRIMARY KEY,
  owner text NOT NULL,
  until timestamptz NOT NULL
);

-- Processes that claim: how many heartbeats each has sent, and when the last one, by the database's clock.
CREATE TABLE courier_replicas (
  name text PRIMARY KEY,
  heartbeats bigint NOT NULL,
  seen_at timestamptz NOT NULL,
  has_left boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);

CREATE TABLE courier_events (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at bigint NOT NULL,
  type text NOT NULL,
  message text,
  data jsonb
);
`,
  `
ALTER TABLE courier_live ADD COLUMN destination text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX courier_live_destination ON courier_live (${QUEUE}, destination, due_at) WHERE ${QUEUE} IS NOT NULL;
ALTER TABLE courier_live ADD COLUMN country text;
ALTER TABLE courier_finished ADD COLUMN country text;
ALTER TABLE courier_earlier ADD COLUMN country text;
CREATE OR REPLACE VIEW courier_rows AS
  SELECT 'live' AS part, ${COLUMNS}, country FROM courier_live
  UNION ALL SELECT 'finished', ${COLUMNS}, country FROM courier_finished
  UNION ALL SELECT 'earlier', ${COLUMNS}, country FROM courier_earlier;
CREATE TABLE courier_figures (quarter bigint, channel text, name text, shard smallint, count bigint NOT NULL,
  PRIMARY KEY (quarter, channel, name, shard)) WITH (fillfactor = 70);
CREATE TABLE courier_undelivered (arrived_at bigint, id text, channel text NOT NULL, kind text NOT NULL, PRIMARY KEY (arrived_at, id));
CREATE TABLE courier_known_numbers (
  recipient_hash text PRIMARY KEY,
  since bigint NOT NULL,
  expires_at bigint NOT NULL
);
INSERT INTO courier_known_numbers SELECT recipient_hash, min(final_at), max(final_at) + ${KNOWN_MS} FROM courier_finished
  WHERE state = 'sent' AND channel = 'sms' GROUP BY recipient_hash;
CREATE INDEX courier_known_number_expiry ON courier_known_numbers (expires_at);
CREATE INDEX courier_finished_end ON courier_finished (${END}, arrived_at, kind);
CREATE OR REPLACE VIEW courier_messages AS SELECT ${WITH_REPORTS}, country, part FROM courier_rows m;
`,
]

export const POSTGRES_SCHEMA: Schema = { migrations: MIGRATIONS, minWriter: 4 }
