CREATE TABLE courier_backlog (
    shard smallint NOT NULL,
    email bigint NOT NULL,
    sms bigint NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE courier_counts (
    minute bigint NOT NULL,
    channel text NOT NULL,
    kind text NOT NULL,
    state text NOT NULL,
    shard smallint NOT NULL,
    count bigint NOT NULL
)
WITH (fillfactor='70');
CREATE TABLE courier_leader_leases (
    name text NOT NULL,
    owner text NOT NULL,
    until timestamp with time zone NOT NULL
);
CREATE TABLE courier_memos (
    name text NOT NULL,
    value text NOT NULL,
    expires_at bigint NOT NULL
);
CREATE TABLE courier_messages (
    seq bigint NOT NULL,
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
    outdated boolean DEFAULT false NOT NULL,
    masked_recipient text NOT NULL,
    answer text,
    provider_id text,
    receipt jsonb,
    charges jsonb,
    timeline jsonb,
    payload bytea
)
WITH (fillfactor='70');
ALTER TABLE courier_messages ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME courier_messages_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE courier_meta (
    key text NOT NULL,
    value text NOT NULL
);
CREATE TABLE courier_quota_counters (
    name text NOT NULL,
    window_start bigint NOT NULL,
    current integer NOT NULL,
    previous integer NOT NULL,
    expires_at bigint NOT NULL
)
WITH (fillfactor='70');
CREATE TABLE courier_replicas (
    name text NOT NULL,
    heartbeats bigint NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    has_left boolean DEFAULT false NOT NULL
)
WITH (fillfactor='50');
INSERT INTO courier_backlog VALUES (22, -6, -1);
INSERT INTO courier_backlog VALUES (21, 9, 2);
INSERT INTO courier_counts VALUES (29922077, 'email', 'activation-code', 'sent', 22, 3);
INSERT INTO courier_counts VALUES (29922077, 'email', 'registration-activation', 'sent', 22, 1);
INSERT INTO courier_counts VALUES (29922077, 'email', 'member-alarm', 'sent', 22, 1);
INSERT INTO courier_counts VALUES (29922077, 'sms', 'registration-code', 'sent', 22, 1);
INSERT INTO courier_counts VALUES (29922077, 'email', 'activation-code', 'refused', 22, 1);
INSERT INTO courier_counts VALUES (29922077, 'email', 'activation-code', 'queued', 21, -1);
INSERT INTO courier_counts VALUES (29922077, 'email', 'activation-code', 'sending', 21, 6);
INSERT INTO courier_counts VALUES (29922077, 'email', 'activation-code', 'superseded', 21, 1);
INSERT INTO courier_counts VALUES (29922077, 'email', 'activation-code', 'queued', 22, 2);
INSERT INTO courier_counts VALUES (29922077, 'email', 'activation-code', 'sending', 22, -6);
INSERT INTO courier_counts VALUES (29922077, 'sms', 'registration-code', 'queued', 21, -1);
INSERT INTO courier_counts VALUES (29922077, 'sms', 'registration-code', 'sending', 21, 3);
INSERT INTO courier_counts VALUES (29922077, 'sms', 'registration-code', 'superseded', 21, 1);
INSERT INTO courier_counts VALUES (29922077, 'sms', 'registration-code', 'queued', 22, 2);
INSERT INTO courier_counts VALUES (29922077, 'sms', 'registration-code', 'sending', 22, -3);
INSERT INTO courier_counts VALUES (29922077, 'email', 'registration-activation', 'sending', 21, 2);
INSERT INTO courier_counts VALUES (29922077, 'email', 'registration-activation', 'queued', 22, 1);
INSERT INTO courier_counts VALUES (29922077, 'email', 'registration-activation', 'sending', 22, -2);
INSERT INTO courier_counts VALUES (29922077, 'email', 'member-alarm', 'sending', 21, 2);
INSERT INTO courier_counts VALUES (29922077, 'email', 'member-alarm', 'queued', 22, 1);
INSERT INTO courier_counts VALUES (29922077, 'email', 'member-alarm', 'sending', 22, -2);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (1, '01a201b05ac34196a9c11656388486ae', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795324664515, 1795328264515, NULL, 1795324664851, NULL, 'fa1e7d9e1ee90462.0.1', 'QZ0XhKsuY0xmGPFZKlLiJw', 'ntm-wmtNl2xGxVhTJ4TDtA', '0b_rjOYG0eXoVuQgIl-1Ew', true, NULL, false, 'r***@example.com', NULL, 'R00001', NULL, NULL, '[{"at": 1795324664775, "code": "", "reply": "250 2.0.0 Ok: queued as …", "tookMs": 65, "outcome": "sent", "provider": "smtp"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (2, '01a201b05c464d2688f0498ae2a6a8ba', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795324664902, 1795328264902, NULL, 1795324664982, NULL, 'fa1e7d9e1ee90462.0.4', 'WoO9DxZltwa_1KA80KpNPA', 'ntm-wmtNl2xGxVhTJ4TDtA', '0b_rjOYG0eXoVuQgIl-1Ew', true, NULL, false, 'r***@example.com', NULL, 'R00002', NULL, NULL, '[{"at": 1795324664959, "code": "", "reply": "250 2.0.0 Ok: queued as …", "tookMs": 22, "outcome": "sent", "provider": "smtp"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (3, '01a201b05cab49fab52e5c522fb4a7d4', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795324665003, 1795328265003, NULL, 1795324665070, NULL, 'fa1e7d9e1ee90462.0.5', 'dYWTZMMT1n_dpT-AEJJPjw', 'ntm-wmtNl2xGxVhTJ4TDtA', '0b_rjOYG0eXoVuQgIl-1Ew', true, NULL, false, 'r***@example.com', NULL, 'R00003', NULL, NULL, '[{"at": 1795324665058, "code": "", "reply": "250 2.0.0 Ok: queued as …", "tookMs": 12, "outcome": "sent", "provider": "smtp"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (4, '01a201b05d004ec7840c76264037ee96', 'email', 'registration-activation', 'link', 1, 'sent', NULL, 1, 0, 1795324665088, 1795328265088, NULL, 1795324665118, NULL, 'fa1e7d9e1ee90462.0.6', '_nXS410_KM2639qYGy8Nhg', 'VrUkRkV-LZksWl5Q2qi5oA', NULL, true, NULL, false, 'r***@example.com', NULL, 'R00004', NULL, NULL, '[{"at": 1795324665114, "code": "", "reply": "250 2.0.0 Ok: queued as …", "tookMs": 3, "outcome": "sent", "provider": "smtp"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (5, '01a201b05d264b829a1f85c6a6313dc1', 'email', 'member-alarm', 'alarm', 1, 'sent', NULL, 1, 0, 1795324665126, 1795328265126, NULL, 1795324665154, NULL, 'fa1e7d9e1ee90462.0.7', 'wFU1vZBXqa_RRDj1pKnHGw', 'VrUkRkV-LZksWl5Q2qi5oA', NULL, true, NULL, false, 'r***@example.com', NULL, 'R00005', NULL, NULL, '[{"at": 1795324665147, "code": "", "reply": "250 2.0.0 Ok: queued as …", "tookMs": 7, "outcome": "sent", "provider": "smtp"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (6, '01a201b05d4b4da0bf18cee65539af12', 'sms', 'registration-code', 'code', 0, 'sent', NULL, 1, 0, 1795324665163, 1795328265163, NULL, 1795324665272, NULL, 'fa1e7d9e1ee90462.0.8', '_WlQ2hDQ9uviVORUG708OA', 'LTFzeG1Kl_yhTEPTOQUcNg', 'D_EbwjQNcsPh9kiSopEnNQ', true, NULL, false, '+86*******0003', NULL, 'SM54b851ddedb36335f7e9c2f5617d1efe', NULL, NULL, '[{"at": 1795324665193, "code": "", "reply": "accepted, queued", "tookMs": 79, "outcome": "sent", "provider": "twilio"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (8, '01a201b05de148dcb84e34b12127b9c6', 'email', 'activation-code', 'code', 0, 'superseded', NULL, 1, 0, 1795324665313, 1795328265313, NULL, 1795324665362, NULL, 'fa1e7d9e1ee90462.0.a', 'VxKwCzW6vyeZ-JCY1b5XBg', '0mNO8LRcFAg_Fwii9IbOWg', 'BIwr9i4XqjmY0I1YhmSr8g', true, NULL, false, 'r***@example.com', NULL, NULL, NULL, NULL, '[{"at": 1795324665319, "code": "450 4.2.0", "reply": "450 4.2.0 greylisted", "tookMs": 2, "outcome": "retry", "provider": "smtp"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (10, '01a201b05e0e4aedb27724130a8a8277', 'email', 'activation-code', 'code', 0, 'queued', 0, 1, 0, 1795324665358, 1795328265358, 1795324665601, NULL, NULL, 'fa1e7d9e1ee90462.0.c', '13xJJTuyBLtg9kvuAEvyqQ', '0mNO8LRcFAg_Fwii9IbOWg', 'BIwr9i4XqjmY0I1YhmSr8g', true, NULL, false, 'r***@example.com', NULL, NULL, NULL, '[["X9rYposElijsLl_gyflfXA recipient-day 86400000", 1795305600000], ["channel:email email-minute 60000", 1795324620000]]', '[{"at": 1795324665368, "code": "450 4.2.0", "reply": "450 4.2.0 greylisted", "tookMs": 5, "outcome": "retry", "provider": "smtp"}]', '\x0154015e21356eef5fc42c4cd4cbd00b72582478733a4bfad27434124782251119d4bc735f23783ef2e74b26661d56ac167352821299ff9a5f3ac4904b19bca82808c5b289926875fcd19aa8cba2c57a9af26381f61c2a09c2616edff51b6a84a193a1ff28ea3aa9cef876a8a9b695aa4bf1e7d2d56abfefc1740aaa6dd7e2cbab5f7e9b497e7a9371e724');
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (7, '01a201b05dc5480999086be926a7572a', 'email', 'activation-code', 'code', 0, 'refused', NULL, 1, 0, 1795324665285, 1795328265285, NULL, 1795324665302, NULL, 'fa1e7d9e1ee90462.0.9', 'dVpEsgYLESUZGAFfgIYxEA', 'evNo2PtLPdHu0lNWYntLxQ', 'FPLoygyuQyHppcRXo1Uv4w', true, NULL, false, 'r***@example.com', 'recipient', NULL, NULL, NULL, '[{"at": 1795324665297, "code": "550 5.1.1", "reply": "550 5.1.1 no such user", "tookMs": 5, "outcome": "rejected", "provider": "smtp"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (9, '01a201b05df34673bccda916f4e8aeb6', 'sms', 'registration-code', 'code', 0, 'superseded', NULL, 1, 0, 1795324665331, 1795328265331, NULL, 1795324665391, NULL, 'fa1e7d9e1ee90462.0.b', 'X5DLfW86_JtzkaQnZkqgIA', 'y6Hcfq21EPy2CXohVY3lng', 'oHJ2t3KWoq4mtZDjrTLpKw', true, NULL, false, '+86*******0060', NULL, NULL, NULL, NULL, '[{"at": 1795324665343, "code": "20503", "reply": "Service unavailable", "tookMs": 5, "outcome": "retry", "provider": "twilio"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (11, '01a201b05e2e40b98e043c2d17e189c1', 'sms', 'registration-code', 'code', 0, 'queued', 0, 1, 0, 1795324665390, 1795328265390, 1795324665711, NULL, NULL, 'fa1e7d9e1ee90462.0.d', 'Cm5G_uLMtZhs1TUqK4XcUg', 'y6Hcfq21EPy2CXohVY3lng', 'oHJ2t3KWoq4mtZDjrTLpKw', true, NULL, false, '+86*******0060', NULL, NULL, NULL, '[["jkhKuCuds4mB0Jn4TsxXZg recipient-day 86400000", 1795305600000], ["WZyQ_YBgU-tUmPnYPXSfwA sms-prefix-10m 600000", 1795324200000], ["channel:sms sms-minute 60000", 1795324620000], ["channel:sms sms-day 86400000", 1795305600000]]', '[{"at": 1795324665419, "code": "20503", "reply": "Service unavailable", "tookMs": 5, "outcome": "retry", "provider": "twilio"}]', '\x01452b000e5f41e6b374cabc76ef3c3d4008a47c2622d2e88c48be81fbdcc6aac1781d92e32b57e94f2b58bf27037e7dd3d6825dbee6c3394f67e86070880feb82cc0218b361685887f01c654d4ae0977b81fb1e98ab639e014625f4e2ba90cafa5cff9614f7e63611a5c60a12ce52f769ea8e9f312f63');
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (12, '01a201b05e7341d3bb61be2b2b71420f', 'email', 'registration-activation', 'link', 1, 'queued', 0, 1, 0, 1795324665459, 1795328265459, 1795324668300, NULL, NULL, 'fa1e7d9e1ee90462.0.e', 'dVOMrM2T8M9CRTJDeur-NQ', 'vGAjKWjbp8oxp14MwoafZA', NULL, true, NULL, false, 'r***@example.com', NULL, NULL, NULL, '[["OQxMIb9JGSOZ7rqhXe_6Vg recipient-day 86400000", 1795305600000], ["channel:email email-minute 60000", 1795324620000]]', '[{"at": 1795324665474, "code": "450 4.2.0", "reply": "450 4.2.0 greylisted", "tookMs": 3, "outcome": "retry", "provider": "smtp"}]', '\x012b205c4fa3d1a10818e27655b129b52bc406be689eb955f355fac9ccfa6f175d0922f1d56582f9f5707d78fed4a8c815110446e8ec40554b6ed7088ab3fcbd1cc70228f8d437aefb2d3eb7952ec6dd36314ce7f95ee33bc49e4fa5b37c0a2c250d4f7a353c24c3e3587264394c7abd94271acb1b8da9043d6d229de92b39d50651a9240e46e8259ce6d1954416165d501f5abaac10e5c1937af43db93674a934cbdb00c9913f9271bb2023bc9894792b6a15271aa1987790');
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (13, '01a201b05e984bf98370ff3736e405ac', 'email', 'member-alarm', 'alarm', 1, 'queued', 0, 1, 0, 1795324665496, 1795328265496, 1795324666988, NULL, NULL, 'fa1e7d9e1ee90462.0.f', 'FQbxzozrIXBpC8hHIgnGJw', 'Sf3mspM7PX07_65sO9ASYg', NULL, true, NULL, false, 'r***@example.com', NULL, NULL, NULL, '[["channel:email email-minute 60000", 1795324620000]]', '[{"at": 1795324665529, "code": "450 4.2.0", "reply": "450 4.2.0 greylisted", "tookMs": 3, "outcome": "retry", "provider": "smtp"}]', '\x010621d85a42e4d77a6c329799ad0580323155e8cf0200e59281ec2e8974d8b1321281249b930e4c103b10d6f7f093a74f167c32cfae8f82c89f9d9c1d03b7ae7ef0b23fdf260b42f1ce8d63fe84f60f02c05a61997d389eb7d41789df2886020c41f18e5e98d615f99258d139a84d1d509bf0b929236a65966107cdd654e5014e07f4534125738011e1e37b33643cf7fb37');
INSERT INTO courier_meta VALUES ('schema', '1');
INSERT INTO courier_meta VALUES ('secret-check', 'AftttnLEJ1UHogCN9BwOhJvhst3ur2NfGzuI/oWLHBqkBYMBqaz4e3H7l4R19M7fkLGiBtQEl55YMB7I07o=');
INSERT INTO courier_quota_counters VALUES ('BQYoNbdTc6kPr8ZxV2JBTQ recipient-day 86400000', 1795305600000, 3, 0, 1795478400000);
INSERT INTO courier_quota_counters VALUES ('rMBX7s-_3PcoCSS1urxFRg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO courier_quota_counters VALUES ('CHWc-uiZ3eBwzHIxIz8zXg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO courier_quota_counters VALUES ('we_0ppbNAXkHhY9EKkwRdw recipient-day 86400000', 1795305600000, 0, 0, 1795478400000);
INSERT INTO courier_quota_counters VALUES ('X9rYposElijsLl_gyflfXA recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO courier_quota_counters VALUES ('WZyQ_YBgU-tUmPnYPXSfwA sms-prefix-10m 600000', 1795324200000, 2, 0, 1795325400000);
INSERT INTO courier_quota_counters VALUES ('channel:sms sms-day 86400000', 1795305600000, 2, 0, 1795478400000);
INSERT INTO courier_quota_counters VALUES ('channel:sms sms-minute 60000', 1795324620000, 2, 0, 1795324740000);
INSERT INTO courier_quota_counters VALUES ('jkhKuCuds4mB0Jn4TsxXZg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO courier_quota_counters VALUES ('OQxMIb9JGSOZ7rqhXe_6Vg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO courier_quota_counters VALUES ('channel:email email-minute 60000', 1795324620000, 8, 0, 1795324740000);
SELECT pg_catalog.setval('courier_messages_seq_seq', 13, true);
ALTER TABLE ONLY courier_backlog
    ADD CONSTRAINT courier_backlog_pkey PRIMARY KEY (shard);
ALTER TABLE ONLY courier_counts
    ADD CONSTRAINT courier_counts_pkey PRIMARY KEY (minute, channel, kind, state, shard);
ALTER TABLE ONLY courier_leader_leases
    ADD CONSTRAINT courier_leader_leases_pkey PRIMARY KEY (name);
ALTER TABLE ONLY courier_memos
    ADD CONSTRAINT courier_memos_pkey PRIMARY KEY (name);
ALTER TABLE ONLY courier_messages
    ADD CONSTRAINT courier_messages_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY courier_meta
    ADD CONSTRAINT courier_meta_pkey PRIMARY KEY (key);
ALTER TABLE ONLY courier_quota_counters
    ADD CONSTRAINT courier_quota_counters_pkey PRIMARY KEY (name);
ALTER TABLE ONLY courier_replicas
    ADD CONSTRAINT courier_replicas_pkey PRIMARY KEY (name);
CREATE INDEX courier_memo_expiry ON courier_memos USING btree (expires_at);
CREATE INDEX courier_message_arrival ON courier_messages USING btree (arrived_at, channel, kind, state);
CREATE INDEX courier_message_due ON courier_messages USING btree (channel, rank, seq DESC) WHERE (ready = 1);
CREATE INDEX courier_message_expiry ON courier_messages USING btree (channel, expires_at) WHERE (ready IS NOT NULL);
CREATE INDEX courier_message_final ON courier_messages USING btree (final_at) WHERE (final_at IS NOT NULL);
CREATE INDEX courier_message_group ON courier_messages USING btree ((
CASE
    WHEN (final_at IS NULL) THEN group_key
    ELSE NULL::text
END)) WHERE (
CASE
    WHEN (final_at IS NULL) THEN group_key
    ELSE NULL::text
END IS NOT NULL);
CREATE UNIQUE INDEX courier_message_id ON courier_messages USING btree (id);
CREATE INDEX courier_message_lease ON courier_messages USING btree (channel, lease_until) WHERE (lease_until IS NOT NULL);
CREATE UNIQUE INDEX courier_message_live_duplicate ON courier_messages USING btree (dedupe_key, recipient_hash) WHERE (final_at IS NULL);
CREATE INDEX courier_message_oldest ON courier_messages USING btree (channel, arrived_at) WHERE (final_at IS NULL);
CREATE INDEX courier_message_provider ON courier_messages USING btree (provider_id) WHERE (provider_id IS NOT NULL);
CREATE INDEX courier_message_recipient ON courier_messages USING btree (recipient_hash, dedupe_key, ((- seq)));
CREATE INDEX courier_message_waiting ON courier_messages USING btree (channel, rank, due_at) WHERE (ready = 0);
CREATE INDEX courier_quota_counter_expiry ON courier_quota_counters USING btree (expires_at);
