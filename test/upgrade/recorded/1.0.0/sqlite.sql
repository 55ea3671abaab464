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
CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  message TEXT,
  data TEXT
) STRICT;
INSERT INTO meta ("key", "value") VALUES ('min-writer', 1.0);
INSERT INTO meta ("key", "value") VALUES ('progress', '{"commits":28,"stored":13,"at":1795337173363}');
INSERT INTO meta ("key", "value") VALUES ('schema', 2.0);
INSERT INTO meta ("key", "value") VALUES ('secret-check', X'01D920DFB5715E2DCF0BA47BE605435EE31D70F3E663DD255663CEA7308581EE56C65B8C5A3DE5EBCABB9A59EF81CA08AE44BFA63DE6183C6DCEB592D700');
INSERT INTO meta ("key", "value") VALUES ('store', 'd61c74b24cfa1fcf0fc11c26a6eb21b3');
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (1, '01a2026f38054e74aa1b601d3c5d5f52', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795337172997, 1795340772997, NULL, 1795337173059, NULL, NULL, 1, NULL, 'QZ0XhKsuY0xmGPFZKlLiJw', 'ntm-wmtNl2xGxVhTJ4TDtA', '0b_rjOYG0eXoVuQgIl-1Ew', 0, 'r***@example.com', NULL, 'R00001', NULL, NULL, '[{"at":1795337173042,"tookMs":16,"provider":"smtp","outcome":"sent","code":"","reply":"250 2.0.0 Ok: queued as …"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (2, '01a2026f38584fd19fa67df3d799259f', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795337173080, 1795340773080, NULL, 1795337173090, NULL, NULL, 1, NULL, 'WoO9DxZltwa_1KA80KpNPA', 'ntm-wmtNl2xGxVhTJ4TDtA', '0b_rjOYG0eXoVuQgIl-1Ew', 0, 'r***@example.com', NULL, 'R00002', NULL, NULL, '[{"at":1795337173086,"tookMs":3,"provider":"smtp","outcome":"sent","code":"","reply":"250 2.0.0 Ok: queued as …"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (3, '01a2026f386645c1a90fc024d60f4e4c', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795337173094, 1795340773094, NULL, 1795337173102, NULL, NULL, 1, NULL, 'dYWTZMMT1n_dpT-AEJJPjw', 'ntm-wmtNl2xGxVhTJ4TDtA', '0b_rjOYG0eXoVuQgIl-1Ew', 0, 'r***@example.com', NULL, 'R00003', NULL, NULL, '[{"at":1795337173099,"tookMs":2,"provider":"smtp","outcome":"sent","code":"","reply":"250 2.0.0 Ok: queued as …"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (4, '01a2026f3876498494f3d3f553af7ecc', 'email', 'registration-activation', 'link', 1, 'sent', NULL, 1, 0, 1795337173110, 1795340773110, NULL, 1795337173127, NULL, NULL, 1, NULL, '_nXS410_KM2639qYGy8Nhg', 'VrUkRkV-LZksWl5Q2qi5oA', NULL, 0, 'r***@example.com', NULL, 'R00004', NULL, NULL, '[{"at":1795337173123,"tookMs":3,"provider":"smtp","outcome":"sent","code":"","reply":"250 2.0.0 Ok: queued as …"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (5, '01a2026f388f47cbaceb73deb6222e85', 'email', 'member-alarm', 'alarm', 1, 'sent', NULL, 1, 0, 1795337173135, 1795340773135, NULL, 1795337173161, NULL, NULL, 1, NULL, 'wFU1vZBXqa_RRDj1pKnHGw', 'VrUkRkV-LZksWl5Q2qi5oA', NULL, 0, 'r***@example.com', NULL, 'R00005', NULL, NULL, '[{"at":1795337173155,"tookMs":6,"provider":"smtp","outcome":"sent","code":"","reply":"250 2.0.0 Ok: queued as …"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (6, '01a2026f38b349cea8e462da986d3f72', 'sms', 'registration-code', 'code', 0, 'sent', NULL, 1, 0, 1795337173171, 1795340773171, NULL, 1795337173247, NULL, NULL, 1, NULL, '_WlQ2hDQ9uviVORUG708OA', 'LTFzeG1Kl_yhTEPTOQUcNg', 'D_EbwjQNcsPh9kiSopEnNQ', 0, '+86*******0003', NULL, 'SMb156a797a561bbd168c94a2cb8247314', NULL, NULL, '[{"at":1795337173178,"tookMs":68,"provider":"twilio","outcome":"sent","code":"","reply":"accepted, queued"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (7, '01a2026f39024b66b6ac1dd06b968760', 'email', 'activation-code', 'code', 0, 'refused', NULL, 1, 0, 1795337173250, 1795340773250, NULL, 1795337173262, NULL, NULL, 1, NULL, 'dVpEsgYLESUZGAFfgIYxEA', 'evNo2PtLPdHu0lNWYntLxQ', 'FPLoygyuQyHppcRXo1Uv4w', 0, 'r***@example.com', 'recipient', NULL, NULL, NULL, '[{"at":1795337173260,"tookMs":2,"provider":"smtp","outcome":"rejected","code":"550 5.1.1","reply":"550 5.1.1 no such user"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (8, '01a2026f39124ec3b1bc54f54c22aec2', 'email', 'activation-code', 'code', 0, 'superseded', NULL, 1, 0, 1795337173266, 1795340773266, NULL, 1795337173305, NULL, NULL, 1, NULL, 'VxKwCzW6vyeZ-JCY1b5XBg', '0mNO8LRcFAg_Fwii9IbOWg', 'BIwr9i4XqjmY0I1YhmSr8g', 0, 'r***@example.com', NULL, NULL, NULL, NULL, '[{"at":1795337173268,"tookMs":1,"provider":"smtp","outcome":"retry","code":"450 4.2.0","reply":"450 4.2.0 greylisted"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (9, '01a2026f391e4204a162c7d6e4a6a354', 'sms', 'registration-code', 'code', 0, 'superseded', NULL, 1, 0, 1795337173278, 1795340773278, NULL, 1795337173328, NULL, NULL, 1, NULL, 'X5DLfW86_JtzkaQnZkqgIA', 'y6Hcfq21EPy2CXohVY3lng', 'oHJ2t3KWoq4mtZDjrTLpKw', 0, '+86*******0060', NULL, NULL, NULL, NULL, '[{"at":1795337173287,"tookMs":10,"provider":"twilio","outcome":"retry","code":"20503","reply":"Service unavailable"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (10, '01a2026f39394531a11d3f9a2bc99602', 'email', 'activation-code', 'code', 0, 'queued', 0, 1, 0, 1795337173305, 1795340773305, 1795337174091, NULL, NULL, NULL, 1, NULL, '13xJJTuyBLtg9kvuAEvyqQ', '0mNO8LRcFAg_Fwii9IbOWg', 'BIwr9i4XqjmY0I1YhmSr8g', 0, 'r***@example.com', NULL, NULL, NULL, '[["X9rYposElijsLl_gyflfXA recipient-day 86400000",1795305600000],["channel:email email-minute 60000",1795337160000]]', '[{"at":1795337173318,"tookMs":2,"provider":"smtp","outcome":"retry","code":"450 4.2.0","reply":"450 4.2.0 greylisted"}]', X'013604E68AC567B257394B924016423E0E28D334BB39A5D9DD757910F9E1F40B76433A218ACF25830BA6B0B0DA4C6EE6EFFFD87B484436EFBB58F195961DCC2A23B8E294AFE4912B4356C6E8C11C45A6F8D236C192646CA0A9DACD53D4DDDCD764CFE427448AF8C11BE4C302233321CEEA5E63B02D8BC8B97EA795868B3F372885D7A450017E090885ACEC');
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (11, '01a2026f394f44e1888a743389cab63b', 'sms', 'registration-code', 'code', 0, 'queued', 0, 1, 0, 1795337173327, 1795340773327, 1795337174305, NULL, NULL, NULL, 1, NULL, 'Cm5G_uLMtZhs1TUqK4XcUg', 'y6Hcfq21EPy2CXohVY3lng', 'oHJ2t3KWoq4mtZDjrTLpKw', 0, '+86*******0060', NULL, NULL, NULL, '[["jkhKuCuds4mB0Jn4TsxXZg recipient-day 86400000",1795305600000],["WZyQ_YBgU-tUmPnYPXSfwA sms-prefix-10m 600000",1795336800000],["channel:sms sms-minute 60000",1795337160000],["channel:sms sms-day 86400000",1795305600000]]', '[{"at":1795337173331,"tookMs":2,"provider":"twilio","outcome":"retry","code":"20503","reply":"Service unavailable"}]', X'01102B57EB65556F803B1D88F51EEDB5C19B6DD8FFD88B5A0FD86C5A952F5C91034EF7FE3F8C9B1A965EF2E8329A299C9E07A2A22E535C800342179F36F5BF178532D1BEA08B5890D3FE5D91749F9D4576215D49F41C0A3D7F3671DEF20A413AF83B5EA0267B7318B73783B06D48D9B77C5FD9619E2677');
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (12, '01a2026f395945709edcf0c33ca80447', 'email', 'registration-activation', 'link', 1, 'queued', 0, 1, 0, 1795337173337, 1795340773337, 1795337178054, NULL, NULL, NULL, 1, NULL, 'dVOMrM2T8M9CRTJDeur-NQ', 'vGAjKWjbp8oxp14MwoafZA', NULL, 0, 'r***@example.com', NULL, NULL, NULL, '[["OQxMIb9JGSOZ7rqhXe_6Vg recipient-day 86400000",1795305600000],["channel:email email-minute 60000",1795337160000]]', '[{"at":1795337173339,"tookMs":7,"provider":"smtp","outcome":"retry","code":"450 4.2.0","reply":"450 4.2.0 greylisted"}]', X'0193761CECC4BB17A142E6545137D049AE354002911D00D9305AC0E618D246DB7EB59CA5639EE4D0BCAFB1CBB46A30E218D407949E7DBBA4A62A2EE13567D10A7A02C66C7452A8F81F6BC30CA71820649C7F1325E579EA45DEBD591AE7D5AADF3CF0257B6ADECC164C5B73338B8A90192BB3D70B5B60F4B693AB2E0934908AE2B508996993044411B454EE1BD3BF232CB586F67B0B2A38622C352E2941A3192229F7A199CAA68978D21277F32E517BE199819748401919A3ED');
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (13, '01a2026f39664b5f8fd2f01b8d07cfef', 'email', 'member-alarm', 'alarm', 1, 'queued', 0, 1, 0, 1795337173350, 1795340773350, 1795337176832, NULL, NULL, NULL, 1, NULL, 'FQbxzozrIXBpC8hHIgnGJw', 'Sf3mspM7PX07_65sO9ASYg', NULL, 0, 'r***@example.com', NULL, NULL, NULL, '[["channel:email email-minute 60000",1795337160000]]', '[{"at":1795337173353,"tookMs":3,"provider":"smtp","outcome":"retry","code":"450 4.2.0","reply":"450 4.2.0 greylisted"}]', X'013F9A00F0929698C50D389FC138928D9C11C6D79B8730C9298A3CF820E1E9BF1CA1A247CD12AB72631BCA8C4E62994CFEEBAFA0267C3B35790268ABE5716B927D595C2D07C03BB2A32FCAD3B45F0058307E0C767BFA7096A85CF51FD5E8A5854C0DFAFA39FE2DFC5DC3B91340EE8EF16DA619E4B14E6044207086238A4A65C30735F0DB3382D081643A72F2B81CAA7F4AE3');
INSERT INTO quota_counters ("name", "window_start", "current", "previous", "expires_at") VALUES ('BQYoNbdTc6kPr8ZxV2JBTQ recipient-day 86400000', 1795305600000, 3, 0, 1795478400000);
INSERT INTO quota_counters ("name", "window_start", "current", "previous", "expires_at") VALUES ('CHWc-uiZ3eBwzHIxIz8zXg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO quota_counters ("name", "window_start", "current", "previous", "expires_at") VALUES ('OQxMIb9JGSOZ7rqhXe_6Vg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO quota_counters ("name", "window_start", "current", "previous", "expires_at") VALUES ('WZyQ_YBgU-tUmPnYPXSfwA sms-prefix-10m 600000', 1795336800000, 2, 0, 1795338000000);
INSERT INTO quota_counters ("name", "window_start", "current", "previous", "expires_at") VALUES ('X9rYposElijsLl_gyflfXA recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO quota_counters ("name", "window_start", "current", "previous", "expires_at") VALUES ('channel:email email-minute 60000', 1795337160000, 8, 0, 1795337280000);
INSERT INTO quota_counters ("name", "window_start", "current", "previous", "expires_at") VALUES ('channel:sms sms-day 86400000', 1795305600000, 2, 0, 1795478400000);
INSERT INTO quota_counters ("name", "window_start", "current", "previous", "expires_at") VALUES ('channel:sms sms-minute 60000', 1795337160000, 2, 0, 1795337280000);
INSERT INTO quota_counters ("name", "window_start", "current", "previous", "expires_at") VALUES ('jkhKuCuds4mB0Jn4TsxXZg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO quota_counters ("name", "window_start", "current", "previous", "expires_at") VALUES ('rMBX7s-_3PcoCSS1urxFRg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO quota_counters ("name", "window_start", "current", "previous", "expires_at") VALUES ('we_0ppbNAXkHhY9EKkwRdw recipient-day 86400000', 1795305600000, 0, 0, 1795478400000);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29922286, 'email', 'activation-code', 'queued', 1);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29922286, 'email', 'activation-code', 'refused', 1);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29922286, 'email', 'activation-code', 'sending', 0);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29922286, 'email', 'activation-code', 'sent', 3);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29922286, 'email', 'activation-code', 'superseded', 1);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29922286, 'email', 'member-alarm', 'queued', 1);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29922286, 'email', 'member-alarm', 'sending', 0);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29922286, 'email', 'member-alarm', 'sent', 1);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29922286, 'email', 'registration-activation', 'queued', 1);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29922286, 'email', 'registration-activation', 'sending', 0);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29922286, 'email', 'registration-activation', 'sent', 1);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29922286, 'sms', 'registration-code', 'queued', 1);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29922286, 'sms', 'registration-code', 'sending', 0);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29922286, 'sms', 'registration-code', 'sent', 1);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29922286, 'sms', 'registration-code', 'superseded', 1);
