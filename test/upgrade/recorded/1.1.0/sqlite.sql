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
INSERT INTO meta ("key", "value") VALUES ('corp-id', 'corp-100fa4b2');
INSERT INTO meta ("key", "value") VALUES ('made-from', '1.1');
INSERT INTO meta ("key", "value") VALUES ('min-writer', 1.0);
INSERT INTO meta ("key", "value") VALUES ('progress', '{"commits":28,"stored":13,"at":1795464414435}');
INSERT INTO meta ("key", "value") VALUES ('schema', 4.0);
INSERT INTO meta ("key", "value") VALUES ('secret-check', X'01085589CD7789E0A4A4EC2D8C3AF9462FA7BEE2FC503CFC6E21A0BE8E696364899975BEAA2A6186B4384D67EAD7EAFBF636F07089051505F820F86E75E1');
INSERT INTO meta ("key", "value") VALUES ('secrets-replaced', X'');
INSERT INTO meta ("key", "value") VALUES ('store', '70231560043ad3fc1ea4bacdf6c0a1c4');
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (1, '01a20a04c3cd456d8ea07360529ad69a', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795464414157, 1795468014157, NULL, 1795464414220, NULL, NULL, 1, NULL, 'QZ0XhKsuY0xmGPFZKlLiJw', 'ntm-wmtNl2xGxVhTJ4TDtA', '0b_rjOYG0eXoVuQgIl-1Ew', 0, 'r***@example.com', NULL, 'R00001', NULL, NULL, '[{"at":1795464414202,"tookMs":15,"provider":"smtp","outcome":"sent","code":"","reply":"250 2.0.0 Ok: queued as …"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (2, '01a20a04c42245afbb878bc1c0103cb3', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795464414242, 1795468014242, NULL, 1795464414251, NULL, NULL, 1, NULL, 'WoO9DxZltwa_1KA80KpNPA', 'ntm-wmtNl2xGxVhTJ4TDtA', '0b_rjOYG0eXoVuQgIl-1Ew', 0, 'r***@example.com', NULL, 'R00002', NULL, NULL, '[{"at":1795464414247,"tookMs":3,"provider":"smtp","outcome":"sent","code":"","reply":"250 2.0.0 Ok: queued as …"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (3, '01a20a04c430470694212e4233444bb8', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795464414256, 1795468014256, NULL, 1795464414261, NULL, NULL, 1, NULL, 'dYWTZMMT1n_dpT-AEJJPjw', 'ntm-wmtNl2xGxVhTJ4TDtA', '0b_rjOYG0eXoVuQgIl-1Ew', 0, 'r***@example.com', NULL, 'R00003', NULL, NULL, '[{"at":1795464414259,"tookMs":2,"provider":"smtp","outcome":"sent","code":"","reply":"250 2.0.0 Ok: queued as …"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (4, '01a20a04c43a4324bed8a98d1c3644c2', 'email', 'registration-activation', 'link', 1, 'sent', NULL, 1, 0, 1795464414266, 1795468014266, NULL, 1795464414286, NULL, NULL, 1, NULL, '_nXS410_KM2639qYGy8Nhg', 'VrUkRkV-LZksWl5Q2qi5oA', NULL, 0, 'r***@example.com', NULL, 'R00004', NULL, NULL, '[{"at":1795464414283,"tookMs":3,"provider":"smtp","outcome":"sent","code":"","reply":"250 2.0.0 Ok: queued as …"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (5, '01a20a04c45344b08aa24378173a01ca', 'email', 'member-alarm', 'alarm', 1, 'sent', NULL, 1, 0, 1795464414291, 1795468014291, NULL, 1795464414304, NULL, NULL, 1, NULL, 'wFU1vZBXqa_RRDj1pKnHGw', 'VrUkRkV-LZksWl5Q2qi5oA', NULL, 0, 'r***@example.com', NULL, 'R00005', NULL, NULL, '[{"at":1795464414299,"tookMs":5,"provider":"smtp","outcome":"sent","code":"","reply":"250 2.0.0 Ok: queued as …"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (6, '01a20a04c4664772aad0d8ec15af5f79', 'sms', 'registration-code', 'code', 0, 'sent', NULL, 1, 0, 1795464414310, 1795468014310, NULL, 1795464414364, NULL, NULL, 1, NULL, '_WlQ2hDQ9uviVORUG708OA', 'LTFzeG1Kl_yhTEPTOQUcNg', 'D_EbwjQNcsPh9kiSopEnNQ', 0, '+86*******0003', NULL, 'SMd59b7037c2f69587e6d3e26d6ed94b34', NULL, NULL, '[{"at":1795464414320,"tookMs":44,"provider":"twilio","outcome":"sent","code":"","reply":"accepted, queued"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (7, '01a20a04c4a04dd3b6b95d589fc05e37', 'email', 'activation-code', 'code', 0, 'refused', NULL, 1, 0, 1795464414368, 1795468014368, NULL, 1795464414374, NULL, NULL, 1, NULL, 'dVpEsgYLESUZGAFfgIYxEA', 'evNo2PtLPdHu0lNWYntLxQ', 'FPLoygyuQyHppcRXo1Uv4w', 0, 'r***@example.com', 'recipient', NULL, NULL, NULL, '[{"at":1795464414370,"tookMs":3,"provider":"smtp","outcome":"rejected","code":"550 5.1.1","reply":"550 5.1.1 no such user"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (8, '01a20a04c4a94b739b19cc662aed95d7', 'email', 'activation-code', 'code', 0, 'superseded', NULL, 1, 0, 1795464414377, 1795468014377, NULL, 1795464414399, NULL, NULL, 1, NULL, 'VxKwCzW6vyeZ-JCY1b5XBg', '0mNO8LRcFAg_Fwii9IbOWg', 'BIwr9i4XqjmY0I1YhmSr8g', 0, 'r***@example.com', NULL, NULL, NULL, NULL, '[{"at":1795464414380,"tookMs":2,"provider":"smtp","outcome":"retry","code":"450 4.2.0","reply":"450 4.2.0 greylisted"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (9, '01a20a04c4b3427f854ce03b19a03019', 'sms', 'registration-code', 'code', 0, 'superseded', NULL, 1, 0, 1795464414387, 1795468014387, NULL, 1795464414406, NULL, NULL, 1, NULL, 'X5DLfW86_JtzkaQnZkqgIA', 'y6Hcfq21EPy2CXohVY3lng', 'oHJ2t3KWoq4mtZDjrTLpKw', 0, '+86*******0060', NULL, NULL, NULL, NULL, '[{"at":1795464414390,"tookMs":4,"provider":"twilio","outcome":"retry","code":"20503","reply":"Service unavailable"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (10, '01a20a04c4be49fdacd2ca0897649f35', 'email', 'activation-code', 'code', 0, 'queued', 0, 1, 0, 1795464414398, 1795468014398, 1795464414914, NULL, NULL, NULL, 1, NULL, '13xJJTuyBLtg9kvuAEvyqQ', '0mNO8LRcFAg_Fwii9IbOWg', 'BIwr9i4XqjmY0I1YhmSr8g', 0, 'r***@example.com', NULL, NULL, NULL, '[["X9rYposElijsLl_gyflfXA recipient-day 86400000",1795392000000],["Ebcac3tSoWKo_WGd8SFHZA signup-domain-hour 3600000",1795464000000],["channel:email email-minute 60000",1795464360000]]', '[{"at":1795464414401,"tookMs":1,"provider":"smtp","outcome":"retry","code":"450 4.2.0","reply":"450 4.2.0 greylisted"}]', X'016A93F221DCC89D77BCB2BA17E2260A2DF847C960245A4D9CD217B9183F228A6C9AC7323F0213980C5EC9C0DDE2CFAA367356F7ADFE64579D0B8E88D2A457E1E5D14EE1CDB66DCF686BFF9C322604415C17FA27389C5301621C813CC416885D0672CCA201FB41AFBAA748930BB14200020BA43CB2D32C4DFCC7C9BF61E948232FBB754B178C557B21A9A6');
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (11, '01a20a04c4c64a4cad01b01759a71a6f', 'sms', 'registration-code', 'code', 0, 'queued', 0, 1, 0, 1795464414406, 1795468014406, 1795464414593, NULL, NULL, NULL, 1, NULL, 'Cm5G_uLMtZhs1TUqK4XcUg', 'y6Hcfq21EPy2CXohVY3lng', 'oHJ2t3KWoq4mtZDjrTLpKw', 0, '+86*******0060', NULL, NULL, NULL, '[["jkhKuCuds4mB0Jn4TsxXZg recipient-day 86400000",1795392000000],["WZyQ_YBgU-tUmPnYPXSfwA sms-prefix-10m 600000",1795464000000],["channel:sms sms-minute 60000",1795464360000],["channel:sms sms-day 86400000",1795392000000]]', '[{"at":1795464414408,"tookMs":2,"provider":"twilio","outcome":"retry","code":"20503","reply":"Service unavailable"}]', X'01E4234E66C4CE43E29C7B0EF481BF455C8D9B5E71ADA084734949A9B116A32D2643F01D835B14E4F03D26816CB48324D5532D62189F0361EF638AF21F717473212EDC9F505A86066EC142E571ED435649B28D338D6DAB753C7838E4F59B5133F0A4817358170BDEC77B89FA4F183A80ECE28745DA51B4');
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (12, '01a20a04c4cd4ac5af3129f3fe4ae322', 'email', 'registration-activation', 'link', 1, 'queued', 0, 1, 0, 1795464414413, 1795468014413, 1795464418080, NULL, NULL, NULL, 1, NULL, 'dVOMrM2T8M9CRTJDeur-NQ', 'vGAjKWjbp8oxp14MwoafZA', NULL, 0, 'r***@example.com', NULL, NULL, NULL, '[["OQxMIb9JGSOZ7rqhXe_6Vg recipient-day 86400000",1795392000000],["Ebcac3tSoWKo_WGd8SFHZA signup-domain-hour 3600000",1795464000000],["channel:email email-minute 60000",1795464360000]]', '[{"at":1795464414420,"tookMs":1,"provider":"smtp","outcome":"retry","code":"450 4.2.0","reply":"450 4.2.0 greylisted"}]', X'01EFCDEBD0D839E2FAE7AAA33625B24CFCA618B3F93252A49C190A74673F54C2AD3ED4A9584514D7B829F4911A913651DF083DAB957D767D9A01C2C83BDA0C2CE6FF22AF722FA08FF88DC39BE1B4B442A2F44334E68FFDD94BF7418ADC84E9BED06D214031D051DD8DED1BFB2616DBFF39EA628E28B8297786F235FB724981FB5975A6BE242774AACF327F921E2EC3E0346AEC63F6CDFE549550A41340707BF0E0C402C5ED9E4BB4F5966E69484EC944EABE33D2108D7CCA23');
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "begun", "attempted_by", "dedupe_key", "recipient_hash", "group_key", "outdated", "masked_recipient", "answer", "provider_id", "receipt", "charges", "timeline", "payload") VALUES (13, '01a20a04c4d8430ea3cb643cc6dde622', 'email', 'member-alarm', 'alarm', 1, 'queued', 0, 1, 0, 1795464414424, 1795468014424, 1795464418468, NULL, NULL, NULL, 1, NULL, 'FQbxzozrIXBpC8hHIgnGJw', 'Sf3mspM7PX07_65sO9ASYg', NULL, 0, 'r***@example.com', NULL, NULL, NULL, '[["channel:email email-minute 60000",1795464360000]]', '[{"at":1795464414428,"tookMs":1,"provider":"smtp","outcome":"retry","code":"450 4.2.0","reply":"450 4.2.0 greylisted"}]', X'01AB21E3957B8714B501504C41C3BBE2215815F5A7DE5ADB7C5C99FEEFF552F75AE04117F96F7036CD9D50967396A1185FD39D1C75882409FCF16867733E369CD41F639B65CACAF012242556F33D59CBB52F4A1AD4CCAD5C784A661B6901903ED240D8AF23850C849F19EA0EB35637ACE84BEA89E2E038529A11E37BCBBDE181F93E41BD6313DBB63F9B3D7B7AEB0ACF3E94');
INSERT INTO quota_counters ("name", "window_start", "current", "previous", "expires_at") VALUES ('BQYoNbdTc6kPr8ZxV2JBTQ recipient-day 86400000', 1795392000000, 3, 0, 1795564800000);
INSERT INTO quota_counters ("name", "window_start", "current", "previous", "expires_at") VALUES ('CHWc-uiZ3eBwzHIxIz8zXg recipient-day 86400000', 1795392000000, 1, 0, 1795564800000);
INSERT INTO quota_counters ("name", "window_start", "current", "previous", "expires_at") VALUES ('Ebcac3tSoWKo_WGd8SFHZA signup-domain-hour 3600000', 1795464000000, 4, 0, 1795471200000);
INSERT INTO quota_counters ("name", "window_start", "current", "previous", "expires_at") VALUES ('OQxMIb9JGSOZ7rqhXe_6Vg recipient-day 86400000', 1795392000000, 1, 0, 1795564800000);
INSERT INTO quota_counters ("name", "window_start", "current", "previous", "expires_at") VALUES ('WZyQ_YBgU-tUmPnYPXSfwA sms-prefix-10m 600000', 1795464000000, 2, 0, 1795465200000);
INSERT INTO quota_counters ("name", "window_start", "current", "previous", "expires_at") VALUES ('X9rYposElijsLl_gyflfXA recipient-day 86400000', 1795392000000, 1, 0, 1795564800000);
INSERT INTO quota_counters ("name", "window_start", "current", "previous", "expires_at") VALUES ('channel:email email-minute 60000', 1795464360000, 8, 0, 1795464480000);
INSERT INTO quota_counters ("name", "window_start", "current", "previous", "expires_at") VALUES ('channel:sms sms-day 86400000', 1795392000000, 2, 0, 1795564800000);
INSERT INTO quota_counters ("name", "window_start", "current", "previous", "expires_at") VALUES ('channel:sms sms-minute 60000', 1795464360000, 2, 0, 1795464480000);
INSERT INTO quota_counters ("name", "window_start", "current", "previous", "expires_at") VALUES ('jkhKuCuds4mB0Jn4TsxXZg recipient-day 86400000', 1795392000000, 1, 0, 1795564800000);
INSERT INTO quota_counters ("name", "window_start", "current", "previous", "expires_at") VALUES ('rMBX7s-_3PcoCSS1urxFRg recipient-day 86400000', 1795392000000, 1, 0, 1795564800000);
INSERT INTO quota_counters ("name", "window_start", "current", "previous", "expires_at") VALUES ('we_0ppbNAXkHhY9EKkwRdw recipient-day 86400000', 1795392000000, 0, 0, 1795564800000);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29924406, 'email', 'activation-code', 'queued', 1);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29924406, 'email', 'activation-code', 'refused', 1);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29924406, 'email', 'activation-code', 'sending', 0);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29924406, 'email', 'activation-code', 'sent', 3);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29924406, 'email', 'activation-code', 'superseded', 1);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29924406, 'email', 'member-alarm', 'queued', 1);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29924406, 'email', 'member-alarm', 'sending', 0);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29924406, 'email', 'member-alarm', 'sent', 1);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29924406, 'email', 'registration-activation', 'queued', 1);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29924406, 'email', 'registration-activation', 'sending', 0);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29924406, 'email', 'registration-activation', 'sent', 1);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29924406, 'sms', 'registration-code', 'queued', 1);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29924406, 'sms', 'registration-code', 'sending', 0);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29924406, 'sms', 'registration-code', 'sent', 1);
INSERT INTO counts ("minute", "channel", "kind", "state", "count") VALUES (29924406, 'sms', 'registration-code', 'superseded', 1);
