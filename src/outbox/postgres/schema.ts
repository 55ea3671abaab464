import type { Schema } from '../schema-version.ts'

/** The group of a live code; null for every other message. Written the same where it is looked up. */
export const LIVE_GROUP = 'CASE WHEN final_at IS NULL THEN group_key END'

/** Two transactions that both write a counter for the first time make one of them fail by its key; connect.ts knows it by this name. */
export const QUOTA_COUNTERS = 'courier_quota_counters'

/**
 * The shared store's tables. The columns mean what they mean in the embedded store (sqlite/schema.ts), which also
 * says what `ready` is for; what differs is what several writers need:
 *
 * - a unique index of the live duplicates, so that no two replicas store the same message
 * - `courier_backlog` and `courier_counts` in shards, so that replicas do not wait for each other's counts (backlog.ts says
 *   why a writer goes from row to row of the backlog)
 *
 * Statistics that were made while nothing waited tell the planner that no message is live, and then walking through all
 * of those that are looks as cheap as looking one up. So what is looked up at every callback has an index that answers
 * nothing else (`LIVE_GROUP`, `-seq`), and its statements name no condition that another index could serve.
 *
 * Every change of a row writes a new version of it, with an entry in every index that is not partial: so there are
 * few of those.
 */
const MIGRATIONS: readonly string[] = [
  `
CREATE TABLE courier_messages (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
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
) WITH (fillfactor = 70);

CREATE UNIQUE INDEX courier_message_id ON courier_messages (id);
CREATE UNIQUE INDEX courier_message_live_duplicate ON courier_messages (dedupe_key, recipient_hash) WHERE final_at IS NULL;
CREATE INDEX courier_message_recipient ON courier_messages (recipient_hash, dedupe_key, (-seq));
CREATE INDEX courier_message_group ON courier_messages ((${LIVE_GROUP})) WHERE (${LIVE_GROUP}) IS NOT NULL;
CREATE INDEX courier_message_due ON courier_messages (channel, rank, seq DESC) WHERE ready = 1;
CREATE INDEX courier_message_waiting ON courier_messages (channel, rank, due_at) WHERE ready = 0;
CREATE INDEX courier_message_expiry ON courier_messages (channel, expires_at) WHERE ready IS NOT NULL;
CREATE INDEX courier_message_lease ON courier_messages (channel, lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX courier_message_oldest ON courier_messages (channel, arrived_at) WHERE final_at IS NULL;
CREATE INDEX courier_message_arrival ON courier_messages (arrived_at, channel, kind, state);
CREATE INDEX courier_message_provider ON courier_messages (provider_id) WHERE provider_id IS NOT NULL;
CREATE INDEX courier_message_final ON courier_messages (final_at) WHERE final_at IS NOT NULL;

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
`,
  `
CREATE TABLE courier_events (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at bigint NOT NULL,
  type text NOT NULL,
  message text,
  data jsonb
);
`,
  // Six of ten messages are marked while a page is still full of new rows (leases.ts): the copies find room on it, and then no index
  // has a new entry for them.
  'ALTER TABLE courier_messages SET (fillfactor = 60)',
]

export const POSTGRES_SCHEMA: Schema = { migrations: MIGRATIONS, minWriter: 1 }
