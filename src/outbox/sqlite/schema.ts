import { UNDELIVERED } from '../message-row.ts'
import { KNOWN_MS } from '../quota.ts'
import type { Schema } from '../schema-version.ts'

/**
 * The embedded store's tables. One row a message, about 1 KB; each index says which question it answers.
 *
 * `ready` is what keeps claiming quick with a million rows: 1 queued and due, 0 queued for later, NULL otherwise.
 * Due messages are read newest first from one index, and those that become due are moved there in bounded steps from
 * another, so that neither a long queue nor a long wait is ever walked through.
 *
 * An index whose keys are random costs a page of the WAL per row and commit, more than all the rest of the row. So
 * there are few, and short: duplicates are found through their recipient, live codes in an index of live codes only, and
 * of a hash or an id the first 48 or 64 bits are indexed, while the whole of it is compared.
 * One thread writes, so a duplicate that was not found is not there: the lookup and the insert share a transaction.
 */
const MIGRATIONS: readonly string[] = [
  `
CREATE TABLE messages (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  channel TEXT NOT NULL,
  kind TEXT NOT NULL,
  purpose TEXT NOT NULL,
  rank INTEGER NOT NULL,
  state TEXT NOT NULL,
  ready INTEGER,
  attempts INTEGER NOT NULL,
  ambiguous INTEGER NOT NULL,
  arrived_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  due_at INTEGER,
  final_at INTEGER,
  lease_until INTEGER,
  lease_token TEXT,
  begun INTEGER NOT NULL DEFAULT 1,
  attempted_by TEXT,
  dedupe_key TEXT NOT NULL,
  recipient_hash TEXT NOT NULL,
  group_key TEXT,
  outdated INTEGER NOT NULL DEFAULT 0,
  masked_recipient TEXT NOT NULL,
  answer TEXT,
  provider_id TEXT,
  receipt TEXT,
  charges TEXT,
  timeline TEXT,
  payload BLOB
) STRICT;

-- one message by its id
CREATE INDEX message_id ON messages (substr(id, 1, 16));
-- a recipient's messages, and among them the newest duplicate
CREATE INDEX message_recipient ON messages (substr(recipient_hash, 1, 8), substr(dedupe_key, 1, 8));
-- the live codes of a group
CREATE INDEX message_group ON messages (substr(group_key, 1, 8)) WHERE group_key IS NOT NULL AND final_at IS NULL;
-- what to send next: codes first, newest first
CREATE INDEX message_due ON messages (channel, rank, seq DESC) WHERE ready = 1;
-- what becomes due, and when
CREATE INDEX message_waiting ON messages (channel, rank, due_at) WHERE ready = 0;
-- whose life is over
CREATE INDEX message_expiry ON messages (channel, expires_at) WHERE ready IS NOT NULL;
-- whose lease ran out
CREATE INDEX message_lease ON messages (channel, lease_until) WHERE lease_until IS NOT NULL;
-- lists and the oldest of a state
CREATE INDEX message_state ON messages (state, channel, arrived_at, kind);
-- lists of everything
CREATE INDEX message_arrival ON messages (arrived_at, channel, kind);
-- receipts
CREATE INDEX message_provider ON messages (provider_id) WHERE provider_id IS NOT NULL;
-- what may be forgotten
CREATE INDEX message_final ON messages (final_at) WHERE final_at IS NOT NULL;

-- Counters of quotas: of the current window and of the one before it. The name begins with the bucket, so that all
-- counters of a recipient lie on one page.
CREATE TABLE quota_counters (
  name TEXT PRIMARY KEY,
  window_start INTEGER NOT NULL,
  current INTEGER NOT NULL,
  previous INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- How many messages of a minute are in which state: the console shows it without counting rows.
CREATE TABLE counts (
  minute INTEGER NOT NULL,
  channel TEXT NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (minute, channel, kind, state)
) STRICT, WITHOUT ROWID;

-- Values kept beside the messages; written rarely.
CREATE TABLE memos (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX memo_expiry ON memos (expires_at);

-- What other machines are to be told, until they are: the id of a message, or what there is to say beside it.
CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  message TEXT,
  data TEXT
) STRICT;
`,
  `
ALTER TABLE messages ADD COLUMN destination TEXT NOT NULL DEFAULT '';
-- what waits for a destination, now or later
CREATE INDEX message_destination ON messages (channel, rank, ready, destination, due_at) WHERE ready IS NOT NULL;
ALTER TABLE messages ADD COLUMN country TEXT;
-- lists of what did not arrive
CREATE INDEX message_undelivered ON messages (channel, arrived_at, kind) WHERE ${UNDELIVERED};
-- How many messages that arrived in a quarter of an hour ended how; the name is kind, carrier, country and outcome.
CREATE TABLE figures (quarter INTEGER, channel TEXT, name TEXT, count INTEGER NOT NULL, PRIMARY KEY (quarter, channel, name)) STRICT, WITHOUT ROWID;
-- Numbers to which something was delivered, first and until when that is known. From the start those to which something was sent.
CREATE TABLE known_numbers (
  recipient_hash TEXT PRIMARY KEY,
  since INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO known_numbers SELECT recipient_hash, min(final_at), max(final_at) + ${KNOWN_MS} FROM messages
  WHERE state = 'sent' AND channel = 'sms' GROUP BY recipient_hash;
CREATE INDEX known_number_expiry ON known_numbers (expires_at);
`,
]

export const SQLITE_SCHEMA: Schema = { migrations: MIGRATIONS, minWriter: 4 }
