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
CREATE TABLE courier_events (
    seq bigint NOT NULL,
    at bigint NOT NULL,
    type text NOT NULL,
    message text,
    data jsonb
);
ALTER TABLE courier_events ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME courier_events_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
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
INSERT INTO courier_backlog VALUES (10, -6, -1);
INSERT INTO courier_backlog VALUES (9, 9, 2);
INSERT INTO courier_counts VALUES (29922286, 'email', 'activation-code', 'sent', 10, 3);
INSERT INTO courier_counts VALUES (29922286, 'email', 'registration-activation', 'sent', 10, 1);
INSERT INTO courier_counts VALUES (29922286, 'email', 'member-alarm', 'sent', 10, 1);
INSERT INTO courier_counts VALUES (29922286, 'sms', 'registration-code', 'sent', 10, 1);
INSERT INTO courier_counts VALUES (29922286, 'email', 'activation-code', 'refused', 10, 1);
INSERT INTO courier_counts VALUES (29922286, 'email', 'activation-code', 'queued', 9, -1);
INSERT INTO courier_counts VALUES (29922286, 'email', 'activation-code', 'sending', 9, 6);
INSERT INTO courier_counts VALUES (29922286, 'email', 'activation-code', 'superseded', 9, 1);
INSERT INTO courier_counts VALUES (29922286, 'email', 'activation-code', 'queued', 10, 2);
INSERT INTO courier_counts VALUES (29922286, 'email', 'activation-code', 'sending', 10, -6);
INSERT INTO courier_counts VALUES (29922286, 'sms', 'registration-code', 'queued', 9, -1);
INSERT INTO courier_counts VALUES (29922286, 'sms', 'registration-code', 'sending', 9, 3);
INSERT INTO courier_counts VALUES (29922286, 'sms', 'registration-code', 'superseded', 9, 1);
INSERT INTO courier_counts VALUES (29922286, 'sms', 'registration-code', 'queued', 10, 2);
INSERT INTO courier_counts VALUES (29922286, 'sms', 'registration-code', 'sending', 10, -3);
INSERT INTO courier_counts VALUES (29922286, 'email', 'registration-activation', 'sending', 9, 2);
INSERT INTO courier_counts VALUES (29922286, 'email', 'registration-activation', 'queued', 10, 1);
INSERT INTO courier_counts VALUES (29922286, 'email', 'registration-activation', 'sending', 10, -2);
INSERT INTO courier_counts VALUES (29922286, 'email', 'member-alarm', 'sending', 9, 2);
INSERT INTO courier_counts VALUES (29922286, 'email', 'member-alarm', 'queued', 10, 1);
INSERT INTO courier_counts VALUES (29922286, 'email', 'member-alarm', 'sending', 10, -2);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (1, '01a2026f3dda464fae1bb7bc36af4807', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795337174490, 1795340774490, NULL, 1795337174563, NULL, '0f0c1cc821ffadcf.0.3', 'QZ0XhKsuY0xmGPFZKlLiJw', 'ntm-wmtNl2xGxVhTJ4TDtA', '0b_rjOYG0eXoVuQgIl-1Ew', true, NULL, false, 'r***@example.com', NULL, 'R00001', NULL, NULL, '[{"at": 1795337174552, "code": "", "reply": "250 2.0.0 Ok: queued as …", "tookMs": 10, "outcome": "sent", "provider": "smtp"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (2, '01a2026f3e2c4943854f45c1c553e02d', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795337174572, 1795340774572, NULL, 1795337174579, NULL, '0f0c1cc821ffadcf.0.4', 'WoO9DxZltwa_1KA80KpNPA', 'ntm-wmtNl2xGxVhTJ4TDtA', '0b_rjOYG0eXoVuQgIl-1Ew', true, NULL, false, 'r***@example.com', NULL, 'R00002', NULL, NULL, '[{"at": 1795337174577, "code": "", "reply": "250 2.0.0 Ok: queued as …", "tookMs": 2, "outcome": "sent", "provider": "smtp"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (3, '01a2026f3e3746e29af022b5de1d18e8', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795337174583, 1795340774583, NULL, 1795337174590, NULL, '0f0c1cc821ffadcf.0.5', 'dYWTZMMT1n_dpT-AEJJPjw', 'ntm-wmtNl2xGxVhTJ4TDtA', '0b_rjOYG0eXoVuQgIl-1Ew', true, NULL, false, 'r***@example.com', NULL, 'R00003', NULL, NULL, '[{"at": 1795337174588, "code": "", "reply": "250 2.0.0 Ok: queued as …", "tookMs": 1, "outcome": "sent", "provider": "smtp"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (4, '01a2026f3e434aaca8d001735a59b1ce', 'email', 'registration-activation', 'link', 1, 'sent', NULL, 1, 0, 1795337174595, 1795340774595, NULL, 1795337174610, NULL, '0f0c1cc821ffadcf.0.6', '_nXS410_KM2639qYGy8Nhg', 'VrUkRkV-LZksWl5Q2qi5oA', NULL, true, NULL, false, 'r***@example.com', NULL, 'R00004', NULL, NULL, '[{"at": 1795337174605, "code": "", "reply": "250 2.0.0 Ok: queued as …", "tookMs": 5, "outcome": "sent", "provider": "smtp"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (5, '01a2026f3e564972a4a95e6de7841cf0', 'email', 'member-alarm', 'alarm', 1, 'sent', NULL, 1, 0, 1795337174614, 1795340774614, NULL, 1795337174636, NULL, '0f0c1cc821ffadcf.0.7', 'wFU1vZBXqa_RRDj1pKnHGw', 'VrUkRkV-LZksWl5Q2qi5oA', NULL, true, NULL, false, 'r***@example.com', NULL, 'R00005', NULL, NULL, '[{"at": 1795337174633, "code": "", "reply": "250 2.0.0 Ok: queued as …", "tookMs": 2, "outcome": "sent", "provider": "smtp"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (6, '01a2026f3e6f4370b4a17fe798d3a03b', 'sms', 'registration-code', 'code', 0, 'sent', NULL, 1, 0, 1795337174639, 1795340774639, NULL, 1795337174677, NULL, '0f0c1cc821ffadcf.0.8', '_WlQ2hDQ9uviVORUG708OA', 'LTFzeG1Kl_yhTEPTOQUcNg', 'D_EbwjQNcsPh9kiSopEnNQ', true, NULL, false, '+86*******0003', NULL, 'SMf7c4cb199566f7a7c35ea58573b9a232', NULL, NULL, '[{"at": 1795337174650, "code": "", "reply": "accepted, queued", "tookMs": 27, "outcome": "sent", "provider": "twilio"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (8, '01a2026f3ea64d9b8b1e2684e7f7a586', 'email', 'activation-code', 'code', 0, 'superseded', NULL, 1, 0, 1795337174694, 1795340774694, NULL, 1795337174723, NULL, '0f0c1cc821ffadcf.0.a', 'VxKwCzW6vyeZ-JCY1b5XBg', '0mNO8LRcFAg_Fwii9IbOWg', 'BIwr9i4XqjmY0I1YhmSr8g', true, NULL, false, 'r***@example.com', NULL, NULL, NULL, NULL, '[{"at": 1795337174700, "code": "450 4.2.0", "reply": "450 4.2.0 greylisted", "tookMs": 2, "outcome": "retry", "provider": "smtp"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (11, '01a2026f3ece4542bdaf05018631072d', 'sms', 'registration-code', 'code', 0, 'queued', 0, 1, 0, 1795337174734, 1795340774734, 1795337175015, NULL, NULL, '0f0c1cc821ffadcf.0.d', 'Cm5G_uLMtZhs1TUqK4XcUg', 'y6Hcfq21EPy2CXohVY3lng', 'oHJ2t3KWoq4mtZDjrTLpKw', true, NULL, false, '+86*******0060', NULL, NULL, NULL, '[["jkhKuCuds4mB0Jn4TsxXZg recipient-day 86400000", 1795305600000], ["WZyQ_YBgU-tUmPnYPXSfwA sms-prefix-10m 600000", 1795336800000], ["channel:sms sms-minute 60000", 1795337160000], ["channel:sms sms-day 86400000", 1795305600000]]', '[{"at": 1795337174748, "code": "20503", "reply": "Service unavailable", "tookMs": 4, "outcome": "retry", "provider": "twilio"}]', '\x01e8bf4f6c0257b246452c23f63d02b0d6c1efa6d3cc7e06be53618739263636ba3c211f3107636fdfb5f1443ad04b9ad545a436b3b578d5876238f30866e80fd8f8a834203a98f473f21a70c238c4f9727da463a439be3188a9fc578b0590615dcab846bfc04b4198fecc6c8b68dbed7afa9384379e7b');
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (7, '01a2026f3e9a4d7abbafb5792598be56', 'email', 'activation-code', 'code', 0, 'refused', NULL, 1, 0, 1795337174682, 1795340774682, NULL, 1795337174692, NULL, '0f0c1cc821ffadcf.0.9', 'dVpEsgYLESUZGAFfgIYxEA', 'evNo2PtLPdHu0lNWYntLxQ', 'FPLoygyuQyHppcRXo1Uv4w', true, NULL, false, 'r***@example.com', 'recipient', NULL, NULL, NULL, '[{"at": 1795337174689, "code": "550 5.1.1", "reply": "550 5.1.1 no such user", "tookMs": 2, "outcome": "rejected", "provider": "smtp"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (10, '01a2026f3ec242e89aae95c97be9424b', 'email', 'activation-code', 'code', 0, 'queued', 0, 1, 0, 1795337174722, 1795340774722, 1795337175593, NULL, NULL, '0f0c1cc821ffadcf.0.c', '13xJJTuyBLtg9kvuAEvyqQ', '0mNO8LRcFAg_Fwii9IbOWg', 'BIwr9i4XqjmY0I1YhmSr8g', true, NULL, false, 'r***@example.com', NULL, NULL, NULL, '[["X9rYposElijsLl_gyflfXA recipient-day 86400000", 1795305600000], ["channel:email email-minute 60000", 1795337160000]]', '[{"at": 1795337174729, "code": "450 4.2.0", "reply": "450 4.2.0 greylisted", "tookMs": 1, "outcome": "retry", "provider": "smtp"}]', '\x01e1364179ff19c512aef872fc482e816240b5f6b0cf2a07dbb2edbe6d509b86f6616ddbbc34f33f747ec661eb7c6cbd9723f4b1c0a8f1e65c5a2be154f4f275f22d4558ed3e036a5d22555f551d39e9a611a56f4960e8a93b1d578fbdbae8debcb519103441345a995e95c2306bb9a0dd4a2f4b716f0ecb4646bdbcb17ba8d41a157e003655eaccd6271b');
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (9, '01a2026f3eb14d0e8873b64f5edf75c4', 'sms', 'registration-code', 'code', 0, 'superseded', NULL, 1, 0, 1795337174705, 1795340774705, NULL, 1795337174735, NULL, '0f0c1cc821ffadcf.0.b', 'X5DLfW86_JtzkaQnZkqgIA', 'y6Hcfq21EPy2CXohVY3lng', 'oHJ2t3KWoq4mtZDjrTLpKw', true, NULL, false, '+86*******0060', NULL, NULL, NULL, NULL, '[{"at": 1795337174714, "code": "20503", "reply": "Service unavailable", "tookMs": 3, "outcome": "retry", "provider": "twilio"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (12, '01a2026f3eed42039d81e2b7bb27299b', 'email', 'registration-activation', 'link', 1, 'queued', 0, 1, 0, 1795337174765, 1795340774765, 1795337176527, NULL, NULL, '0f0c1cc821ffadcf.0.e', 'dVOMrM2T8M9CRTJDeur-NQ', 'vGAjKWjbp8oxp14MwoafZA', NULL, true, NULL, false, 'r***@example.com', NULL, NULL, NULL, '[["OQxMIb9JGSOZ7rqhXe_6Vg recipient-day 86400000", 1795305600000], ["channel:email email-minute 60000", 1795337160000]]', '[{"at": 1795337174784, "code": "450 4.2.0", "reply": "450 4.2.0 greylisted", "tookMs": 11, "outcome": "retry", "provider": "smtp"}]', '\x0137d72b677da672b840eaf923c97065b4d9d33a93c1f7a0d214262210dadb6bd4aa4c5e2551b11c48084004e62a985c729b75ecdf06dbfe3282a23d41ad4aa345ee576222f4eaf565ffef08f1f8b96991ae231144d681921ffcc9024e7cb7096c9eb11d08d074513688bb20076f62aff10c2c91e76f0687c2d21412a0b36c476d887108194d304adeabb2c4b8c0eaf61c2d3c1ea3bc6cb4bed9bde883127c3b0279ca4066ba64570ec924b46b67d73a25e54015fae0cc16e9');
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (13, '01a2026f3f114885af27c744c4318fb8', 'email', 'member-alarm', 'alarm', 1, 'queued', 0, 1, 0, 1795337174801, 1795340774801, 1795337177668, NULL, NULL, '0f0c1cc821ffadcf.0.f', 'FQbxzozrIXBpC8hHIgnGJw', 'Sf3mspM7PX07_65sO9ASYg', NULL, true, NULL, false, 'r***@example.com', NULL, NULL, NULL, '[["channel:email email-minute 60000", 1795337160000]]', '[{"at": 1795337174817, "code": "450 4.2.0", "reply": "450 4.2.0 greylisted", "tookMs": 1, "outcome": "retry", "provider": "smtp"}]', '\x013e52df76ef86d48f881fbf5d834366ce5c0242eb80f4f1b6b039dc23375133d645c87b56a791bf066a7eda1f1553c535ab922d68aa0887bfffdd573724ebc7b7de241da613fc817c5b8f8b0ee54862cdb66a08e4afe0a0b3afda3d41bc354e586c211fc210d6b44771bc4048c4ef45630ae9edaa8af593229e87a89f53c5a34f19608cd9e9ef5f5660604c2cbd71bc8798');
INSERT INTO courier_meta VALUES ('schema', '2');
INSERT INTO courier_meta VALUES ('min-writer', '1');
INSERT INTO courier_meta VALUES ('secret-check', 'Aa//TkZJg4w/1rP7vfKOzsKCDx5xnuXg4g8XpiXy2BNXluRygDg+WDGzxIdZtZ2K44J/xYvBpI/uMvmfUa0=');
INSERT INTO courier_quota_counters VALUES ('BQYoNbdTc6kPr8ZxV2JBTQ recipient-day 86400000', 1795305600000, 3, 0, 1795478400000);
INSERT INTO courier_quota_counters VALUES ('rMBX7s-_3PcoCSS1urxFRg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO courier_quota_counters VALUES ('CHWc-uiZ3eBwzHIxIz8zXg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO courier_quota_counters VALUES ('we_0ppbNAXkHhY9EKkwRdw recipient-day 86400000', 1795305600000, 0, 0, 1795478400000);
INSERT INTO courier_quota_counters VALUES ('X9rYposElijsLl_gyflfXA recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO courier_quota_counters VALUES ('WZyQ_YBgU-tUmPnYPXSfwA sms-prefix-10m 600000', 1795336800000, 2, 0, 1795338000000);
INSERT INTO courier_quota_counters VALUES ('channel:sms sms-day 86400000', 1795305600000, 2, 0, 1795478400000);
INSERT INTO courier_quota_counters VALUES ('channel:sms sms-minute 60000', 1795337160000, 2, 0, 1795337280000);
INSERT INTO courier_quota_counters VALUES ('jkhKuCuds4mB0Jn4TsxXZg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO courier_quota_counters VALUES ('OQxMIb9JGSOZ7rqhXe_6Vg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO courier_quota_counters VALUES ('channel:email email-minute 60000', 1795337160000, 8, 0, 1795337280000);
SELECT pg_catalog.setval('courier_events_seq_seq', 1, false);
SELECT pg_catalog.setval('courier_messages_seq_seq', 13, true);
ALTER TABLE ONLY courier_backlog
    ADD CONSTRAINT courier_backlog_pkey PRIMARY KEY (shard);
ALTER TABLE ONLY courier_counts
    ADD CONSTRAINT courier_counts_pkey PRIMARY KEY (minute, channel, kind, state, shard);
ALTER TABLE ONLY courier_events
    ADD CONSTRAINT courier_events_pkey PRIMARY KEY (seq);
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
