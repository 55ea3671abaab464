/**
 * The embedded store's tables. One row a message, about 1 KB; each index says which question it answers.
 *
 * `ready` is what keeps claiming quick with a million rows: 1 queued and due, 0 queued for later, NULL otherwise.
 * What is due is read newest first from one index, and what becomes due is moved there in bounded steps from
 * another, so that neither a long queue nor a long wait is ever walked through.
 */
export const MIGRATIONS: readonly string[] = [
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
  twin TEXT NOT NULL,
  recipient TEXT NOT NULL,
  code_group TEXT,
  masked TEXT NOT NULL,
  answer TEXT,
  provider_id TEXT,
  receipt TEXT,
  charges TEXT,
  timeline TEXT,
  sealed BLOB
) STRICT;

-- one message by its id
CREATE UNIQUE INDEX message_id ON messages (id);
-- the newest twin
CREATE INDEX message_twin ON messages (twin);
-- never two live twins, whatever the code does
CREATE UNIQUE INDEX message_live_twin ON messages (twin) WHERE state IN ('queued', 'sending');
-- a recipient's messages; the newest code of a group
CREATE INDEX message_recipient ON messages (recipient, code_group);
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

-- Counters of quotas, one a fixed window; needed until the window after it is over.
CREATE TABLE buckets (
  gone_at INTEGER NOT NULL,
  name TEXT NOT NULL,
  used INTEGER NOT NULL,
  PRIMARY KEY (gone_at, name)
) STRICT, WITHOUT ROWID;

-- How many messages of a minute are in which state: what the console shows, without counting rows.
CREATE TABLE tallies (
  minute INTEGER NOT NULL,
  channel TEXT NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (minute, channel, kind, state)
) STRICT, WITHOUT ROWID;
`,
]
