CREATE TABLE meta (key TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;
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
CREATE INDEX message_id ON messages (substr(id, 1, 16));
CREATE INDEX message_recipient ON messages (substr(recipient_hash, 1, 8), substr(dedupe_key, 1, 8));
CREATE INDEX message_group ON messages (substr(group_key, 1, 8)) WHERE group_key IS NOT NULL AND final_at IS NULL;
CREATE INDEX message_due ON messages (channel, rank, seq DESC) WHERE ready = 1;
CREATE INDEX message_waiting ON messages (channel, rank, due_at) WHERE ready = 0;
CREATE INDEX message_expiry ON messages (channel, expires_at) WHERE ready IS NOT NULL;
CREATE INDEX message_lease ON messages (channel, lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX message_state ON messages (state, channel, arrived_at, kind);
CREATE INDEX message_arrival ON messages (arrived_at, channel, kind);
CREATE INDEX message_provider ON messages (provider_id) WHERE provider_id IS NOT NULL;
CREATE INDEX message_final ON messages (final_at) WHERE final_at IS NOT NULL;
CREATE TABLE quota_counters (
  name TEXT PRIMARY KEY,
  window_start INTEGER NOT NULL,
  current INTEGER NOT NULL,
  previous INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE counts (
  minute INTEGER NOT NULL,
  channel TEXT NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (minute, channel, kind, state)
) STRICT, WITHOUT ROWID;
CREATE TABLE memos (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX memo_expiry ON memos (expires_at);
INSERT INTO meta (key, value) VALUES ('schema', 1.0);
INSERT INTO meta (key, value) VALUES ('secret-check', X'01DCA81DFEBEE9D69690D7AF5D0B6804FA4E8061EBAA2572B4EA9FFDF78BECAC5AB1B6625DB2ADA15691623BD7E8900E60594F9A564864773EA1D7A5ABBC');
INSERT INTO messages (seq, id, channel, kind, purpose, rank, state, ready, attempts, ambiguous, arrived_at, expires_at, due_at, final_at, lease_until, lease_token, begun, attempted_by, dedupe_key, recipient_hash, group_key, outdated, masked_recipient, answer, provider_id, receipt, charges, timeline, payload) VALUES (1, '01a201b04bf64f59ae70b2824f141deb', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795324660726, 1795328260726, NULL, 1795324660988, NULL, NULL, 1, NULL, 'QZ0XhKsuY0xmGPFZKlLiJw', 'ntm-wmtNl2xGxVhTJ4TDtA', '0b_rjOYG0eXoVuQgIl-1Ew', 0, 'r***@example.com', NULL, 'R00001', NULL, NULL, '[{"at":1795324660857,"tookMs":93,"provider":"smtp","outcome":"sent","code":"","reply":"250 2.0.0 Ok: queued as …"}]', NULL);
INSERT INTO messages (seq, id, channel, kind, purpose, rank, state, ready, attempts, ambiguous, arrived_at, expires_at, due_at, final_at, lease_until, lease_token, begun, attempted_by, dedupe_key, recipient_hash, group_key, outdated, masked_recipient, answer, provider_id, receipt, charges, timeline, payload) VALUES (2, '01a201b04d4f4fa185dadfabfd2b3f90', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795324661071, 1795328261071, NULL, 1795324661108, NULL, NULL, 1, NULL, 'WoO9DxZltwa_1KA80KpNPA', 'ntm-wmtNl2xGxVhTJ4TDtA', '0b_rjOYG0eXoVuQgIl-1Ew', 0, 'r***@example.com', NULL, 'R00002', NULL, NULL, '[{"at":1795324661089,"tookMs":19,"provider":"smtp","outcome":"sent","code":"","reply":"250 2.0.0 Ok: queued as …"}]', NULL);
INSERT INTO messages (seq, id, channel, kind, purpose, rank, state, ready, attempts, ambiguous, arrived_at, expires_at, due_at, final_at, lease_until, lease_token, begun, attempted_by, dedupe_key, recipient_hash, group_key, outdated, masked_recipient, answer, provider_id, receipt, charges, timeline, payload) VALUES (3, '01a201b04d7b4e129464bb13836ec1f6', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795324661115, 1795328261115, NULL, 1795324661136, NULL, NULL, 1, NULL, 'dYWTZMMT1n_dpT-AEJJPjw', 'ntm-wmtNl2xGxVhTJ4TDtA', '0b_rjOYG0eXoVuQgIl-1Ew', 0, 'r***@example.com', NULL, 'R00003', NULL, NULL, '[{"at":1795324661123,"tookMs":12,"provider":"smtp","outcome":"sent","code":"","reply":"250 2.0.0 Ok: queued as …"}]', NULL);
INSERT INTO messages (seq, id, channel, kind, purpose, rank, state, ready, attempts, ambiguous, arrived_at, expires_at, due_at, final_at, lease_until, lease_token, begun, attempted_by, dedupe_key, recipient_hash, group_key, outdated, masked_recipient, answer, provider_id, receipt, charges, timeline, payload) VALUES (4, '01a201b04d9c43e4a8b26a174b626664', 'email', 'registration-activation', 'link', 1, 'sent', NULL, 1, 0, 1795324661148, 1795328261148, NULL, 1795324661194, NULL, NULL, 1, NULL, '_nXS410_KM2639qYGy8Nhg', 'VrUkRkV-LZksWl5Q2qi5oA', NULL, 0, 'r***@example.com', NULL, 'R00004', NULL, NULL, '[{"at":1795324661177,"tookMs":17,"provider":"smtp","outcome":"sent","code":"","reply":"250 2.0.0 Ok: queued as …"}]', NULL);
INSERT INTO messages (seq, id, channel, kind, purpose, rank, state, ready, attempts, ambiguous, arrived_at, expires_at, due_at, final_at, lease_until, lease_token, begun, attempted_by, dedupe_key, recipient_hash, group_key, outdated, masked_recipient, answer, provider_id, receipt, charges, timeline, payload) VALUES (5, '01a201b04dd14cce8de1a85ba7f7c51c', 'email', 'member-alarm', 'alarm', 1, 'sent', NULL, 1, 0, 1795324661201, 1795328261201, NULL, 1795324661240, NULL, NULL, 1, NULL, 'wFU1vZBXqa_RRDj1pKnHGw', 'VrUkRkV-LZksWl5Q2qi5oA', NULL, 0, 'r***@example.com', NULL, 'R00005', NULL, NULL, '[{"at":1795324661229,"tookMs":11,"provider":"smtp","outcome":"sent","code":"","reply":"250 2.0.0 Ok: queued as …"}]', NULL);
INSERT INTO messages (seq, id, channel, kind, purpose, rank, state, ready, attempts, ambiguous, arrived_at, expires_at, due_at, final_at, lease_until, lease_token, begun, attempted_by, dedupe_key, recipient_hash, group_key, outdated, masked_recipient, answer, provider_id, receipt, charges, timeline, payload) VALUES (6, '01a201b04e02457eb1d93f22c0ed7947', 'sms', 'registration-code', 'code', 0, 'sent', NULL, 1, 0, 1795324661250, 1795328261250, NULL, 1795324661382, NULL, NULL, 1, NULL, '_WlQ2hDQ9uviVORUG708OA', 'LTFzeG1Kl_yhTEPTOQUcNg', 'D_EbwjQNcsPh9kiSopEnNQ', 0, '+86*******0003', NULL, 'SMc2a3814c51b8207d8c8755edb348ec10', NULL, NULL, '[{"at":1795324661278,"tookMs":104,"provider":"twilio","outcome":"sent","code":"","reply":"accepted, queued"}]', NULL);
INSERT INTO messages (seq, id, channel, kind, purpose, rank, state, ready, attempts, ambiguous, arrived_at, expires_at, due_at, final_at, lease_until, lease_token, begun, attempted_by, dedupe_key, recipient_hash, group_key, outdated, masked_recipient, answer, provider_id, receipt, charges, timeline, payload) VALUES (7, '01a201b04e924131a557b654b8ccf164', 'email', 'activation-code', 'code', 0, 'refused', NULL, 1, 0, 1795324661394, 1795328261394, NULL, 1795324661420, NULL, NULL, 1, NULL, 'dVpEsgYLESUZGAFfgIYxEA', 'evNo2PtLPdHu0lNWYntLxQ', 'FPLoygyuQyHppcRXo1Uv4w', 0, 'r***@example.com', 'recipient', NULL, NULL, NULL, '[{"at":1795324661411,"tookMs":8,"provider":"smtp","outcome":"rejected","code":"550 5.1.1","reply":"550 5.1.1 no such user"}]', NULL);
INSERT INTO messages (seq, id, channel, kind, purpose, rank, state, ready, attempts, ambiguous, arrived_at, expires_at, due_at, final_at, lease_until, lease_token, begun, attempted_by, dedupe_key, recipient_hash, group_key, outdated, masked_recipient, answer, provider_id, receipt, charges, timeline, payload) VALUES (8, '01a201b04eb241d58a06053797f30ea6', 'email', 'activation-code', 'code', 0, 'superseded', NULL, 1, 0, 1795324661426, 1795328261426, NULL, 1795324661518, NULL, NULL, 1, NULL, 'VxKwCzW6vyeZ-JCY1b5XBg', '0mNO8LRcFAg_Fwii9IbOWg', 'BIwr9i4XqjmY0I1YhmSr8g', 0, 'r***@example.com', NULL, NULL, NULL, NULL, '[{"at":1795324661450,"tookMs":10,"provider":"smtp","outcome":"retry","code":"450 4.2.0","reply":"450 4.2.0 greylisted"}]', NULL);
INSERT INTO messages (seq, id, channel, kind, purpose, rank, state, ready, attempts, ambiguous, arrived_at, expires_at, due_at, final_at, lease_until, lease_token, begun, attempted_by, dedupe_key, recipient_hash, group_key, outdated, masked_recipient, answer, provider_id, receipt, charges, timeline, payload) VALUES (9, '01a201b04ee244f9929b3f0d131fa1fd', 'sms', 'registration-code', 'code', 0, 'superseded', NULL, 1, 0, 1795324661474, 1795328261474, NULL, 1795324661540, NULL, NULL, 1, NULL, 'X5DLfW86_JtzkaQnZkqgIA', 'y6Hcfq21EPy2CXohVY3lng', 'oHJ2t3KWoq4mtZDjrTLpKw', 0, '+86*******0060', NULL, NULL, NULL, NULL, '[{"at":1795324661491,"tookMs":10,"provider":"twilio","outcome":"retry","code":"20503","reply":"Service unavailable"}]', NULL);
INSERT INTO messages (seq, id, channel, kind, purpose, rank, state, ready, attempts, ambiguous, arrived_at, expires_at, due_at, final_at, lease_until, lease_token, begun, attempted_by, dedupe_key, recipient_hash, group_key, outdated, masked_recipient, answer, provider_id, receipt, charges, timeline, payload) VALUES (10, '01a201b04f0b4835badabda767a332d6', 'email', 'activation-code', 'code', 0, 'queued', 0, 2, 0, 1795324661515, 1795328261515, 1795324662298, NULL, NULL, NULL, 1, NULL, '13xJJTuyBLtg9kvuAEvyqQ', '0mNO8LRcFAg_Fwii9IbOWg', 'BIwr9i4XqjmY0I1YhmSr8g', 0, 'r***@example.com', NULL, NULL, NULL, '[["X9rYposElijsLl_gyflfXA recipient-day 86400000",1795305600000],["channel:email email-minute 60000",1795324620000]]', '[{"at":1795324661522,"tookMs":6,"provider":"smtp","outcome":"retry","code":"450 4.2.0","reply":"450 4.2.0 greylisted"},{"at":1795324661668,"tookMs":11,"provider":"smtp","outcome":"retry","code":"450 4.2.0","reply":"450 4.2.0 greylisted"}]', X'01B4CD581F04513B1A35A3CF703BFB53B15C683C068E4873E6FFC5D043821A647446DF14B29B6DDBAEAA700420306CC4DFC9E36511B92C03A289E5CBD470BE4BF9759FC9512BFF5A71BA692DBF48DC379CBEAC35718368920A3BEE3565D8D83AFE9AF4273698F44116B87F3576169347F7F32E50D40FF22C1D9C355DEC2E4222A541D839D036E07F0725A0');
INSERT INTO messages (seq, id, channel, kind, purpose, rank, state, ready, attempts, ambiguous, arrived_at, expires_at, due_at, final_at, lease_until, lease_token, begun, attempted_by, dedupe_key, recipient_hash, group_key, outdated, masked_recipient, answer, provider_id, receipt, charges, timeline, payload) VALUES (11, '01a201b04f2046778020f381fbad2a9e', 'sms', 'registration-code', 'code', 0, 'queued', 0, 1, 0, 1795324661536, 1795328261536, 1795324662279, NULL, NULL, NULL, 1, NULL, 'Cm5G_uLMtZhs1TUqK4XcUg', 'y6Hcfq21EPy2CXohVY3lng', 'oHJ2t3KWoq4mtZDjrTLpKw', 0, '+86*******0060', NULL, NULL, NULL, '[["jkhKuCuds4mB0Jn4TsxXZg recipient-day 86400000",1795305600000],["WZyQ_YBgU-tUmPnYPXSfwA sms-prefix-10m 600000",1795324200000],["channel:sms sms-minute 60000",1795324620000],["channel:sms sms-day 86400000",1795305600000]]', '[{"at":1795324661568,"tookMs":15,"provider":"twilio","outcome":"retry","code":"20503","reply":"Service unavailable"}]', X'01AB475A8126944FB9A9C46CF6B05CC3407A1B8EB690FB21045186566BE530F45F19744A4C23250F7831A00EE42164C02C79AAC94EB1F98B328A84E1BB683663DAA3B8CD75503D238F6140C0618B06DD01BA4B589F4EE42D1E7EF1C090405D816EE4BAF669DF555711A88B2A20E21437EA5B0664C0FB72');
INSERT INTO messages (seq, id, channel, kind, purpose, rank, state, ready, attempts, ambiguous, arrived_at, expires_at, due_at, final_at, lease_until, lease_token, begun, attempted_by, dedupe_key, recipient_hash, group_key, outdated, masked_recipient, answer, provider_id, receipt, charges, timeline, payload) VALUES (12, '01a201b04f6a402085a2e27500581ae1', 'email', 'registration-activation', 'link', 1, 'queued', 0, 1, 0, 1795324661610, 1795328261610, 1795324662169, NULL, NULL, NULL, 1, NULL, 'dVOMrM2T8M9CRTJDeur-NQ', 'vGAjKWjbp8oxp14MwoafZA', NULL, 0, 'r***@example.com', NULL, NULL, NULL, '[["OQxMIb9JGSOZ7rqhXe_6Vg recipient-day 86400000",1795305600000],["channel:email email-minute 60000",1795324620000]]', '[{"at":1795324661631,"tookMs":8,"provider":"smtp","outcome":"retry","code":"450 4.2.0","reply":"450 4.2.0 greylisted"}]', X'0166910F3877BC7FBFF34AE2003004C25385B3AD28B7942A2E5D5C6B31BA0293154FB6D77549DF03055DD53F0C8C4EF2CE24896EE9980FFAA575A5A2891AF82BEA3100E143FD53505F54E33D7A72379464D77C62F14B8F4BF2560D8390429A42D1BA3D1BE3549F3FB4AB0018F27E76D881BF1187D0914949635B620457819697EE1C8E2F9A34A3E79240C8AF5773FAEF57810C4F75B7577295DB2DDFB7D88F62730446147057993AE2B6E16ADD99BC7ECDA295EE03A1651719');
INSERT INTO messages (seq, id, channel, kind, purpose, rank, state, ready, attempts, ambiguous, arrived_at, expires_at, due_at, final_at, lease_until, lease_token, begun, attempted_by, dedupe_key, recipient_hash, group_key, outdated, masked_recipient, answer, provider_id, receipt, charges, timeline, payload) VALUES (13, '01a201b04f974d12b9108a8edb3d1e44', 'email', 'member-alarm', 'alarm', 1, 'queued', 0, 1, 0, 1795324661655, 1795328261655, 1795324666086, NULL, NULL, NULL, 1, NULL, 'FQbxzozrIXBpC8hHIgnGJw', 'Sf3mspM7PX07_65sO9ASYg', NULL, 0, 'r***@example.com', NULL, NULL, NULL, '[["channel:email email-minute 60000",1795324620000]]', '[{"at":1795324661673,"tookMs":22,"provider":"smtp","outcome":"retry","code":"450 4.2.0","reply":"450 4.2.0 greylisted"}]', X'018B902920483EFC5701C711496DFDD1828AB9D7610A67353E9403C655CA8E92BE3926BC3F40645D99BAE3E8A3BE133F92C7B81807C007E5B66FABBAFC5144B8D3F9256B0D5353965DB40F11A7EFFD1D83F01AE4706D1EAC9456DD27A605CDC7B897E30CEB5EF7F74A4A008BE7B348DD92524D0E7CEA37FFCC2EE8875C45D7E5D79C7843B534B71FA433B05FE84EEFC4C402');
INSERT INTO quota_counters (name, window_start, current, previous, expires_at) VALUES ('BQYoNbdTc6kPr8ZxV2JBTQ recipient-day 86400000', 1795305600000, 3, 0, 1795478400000);
INSERT INTO quota_counters (name, window_start, current, previous, expires_at) VALUES ('CHWc-uiZ3eBwzHIxIz8zXg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO quota_counters (name, window_start, current, previous, expires_at) VALUES ('OQxMIb9JGSOZ7rqhXe_6Vg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO quota_counters (name, window_start, current, previous, expires_at) VALUES ('WZyQ_YBgU-tUmPnYPXSfwA sms-prefix-10m 600000', 1795324200000, 2, 0, 1795325400000);
INSERT INTO quota_counters (name, window_start, current, previous, expires_at) VALUES ('X9rYposElijsLl_gyflfXA recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO quota_counters (name, window_start, current, previous, expires_at) VALUES ('channel:email email-minute 60000', 1795324620000, 8, 0, 1795324740000);
INSERT INTO quota_counters (name, window_start, current, previous, expires_at) VALUES ('channel:sms sms-day 86400000', 1795305600000, 2, 0, 1795478400000);
INSERT INTO quota_counters (name, window_start, current, previous, expires_at) VALUES ('channel:sms sms-minute 60000', 1795324620000, 2, 0, 1795324740000);
INSERT INTO quota_counters (name, window_start, current, previous, expires_at) VALUES ('jkhKuCuds4mB0Jn4TsxXZg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO quota_counters (name, window_start, current, previous, expires_at) VALUES ('rMBX7s-_3PcoCSS1urxFRg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO quota_counters (name, window_start, current, previous, expires_at) VALUES ('we_0ppbNAXkHhY9EKkwRdw recipient-day 86400000', 1795305600000, 0, 0, 1795478400000);
INSERT INTO counts (minute, channel, kind, state, count) VALUES (29922077, 'email', 'activation-code', 'queued', 1);
INSERT INTO counts (minute, channel, kind, state, count) VALUES (29922077, 'email', 'activation-code', 'refused', 1);
INSERT INTO counts (minute, channel, kind, state, count) VALUES (29922077, 'email', 'activation-code', 'sending', 0);
INSERT INTO counts (minute, channel, kind, state, count) VALUES (29922077, 'email', 'activation-code', 'sent', 3);
INSERT INTO counts (minute, channel, kind, state, count) VALUES (29922077, 'email', 'activation-code', 'superseded', 1);
INSERT INTO counts (minute, channel, kind, state, count) VALUES (29922077, 'email', 'member-alarm', 'queued', 1);
INSERT INTO counts (minute, channel, kind, state, count) VALUES (29922077, 'email', 'member-alarm', 'sending', 0);
INSERT INTO counts (minute, channel, kind, state, count) VALUES (29922077, 'email', 'member-alarm', 'sent', 1);
INSERT INTO counts (minute, channel, kind, state, count) VALUES (29922077, 'email', 'registration-activation', 'queued', 1);
INSERT INTO counts (minute, channel, kind, state, count) VALUES (29922077, 'email', 'registration-activation', 'sending', 0);
INSERT INTO counts (minute, channel, kind, state, count) VALUES (29922077, 'email', 'registration-activation', 'sent', 1);
INSERT INTO counts (minute, channel, kind, state, count) VALUES (29922077, 'sms', 'registration-code', 'queued', 1);
INSERT INTO counts (minute, channel, kind, state, count) VALUES (29922077, 'sms', 'registration-code', 'sending', 0);
INSERT INTO counts (minute, channel, kind, state, count) VALUES (29922077, 'sms', 'registration-code', 'sent', 1);
INSERT INTO counts (minute, channel, kind, state, count) VALUES (29922077, 'sms', 'registration-code', 'superseded', 1);
