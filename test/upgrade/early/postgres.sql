CREATE TABLE courier_backlog (
    shard smallint NOT NULL,
    email bigint NOT NULL,
    sms bigint NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE courier_buckets (
    name text NOT NULL,
    since bigint NOT NULL,
    used integer NOT NULL,
    before integer NOT NULL,
    gone_at bigint NOT NULL
)
WITH (fillfactor='70');
CREATE TABLE courier_leads (
    name text NOT NULL,
    owner text NOT NULL,
    until timestamp with time zone NOT NULL
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
    twin text NOT NULL,
    recipient text NOT NULL,
    code_group text,
    outdated boolean DEFAULT false NOT NULL,
    masked text NOT NULL,
    answer text,
    provider_id text,
    receipt jsonb,
    charges jsonb,
    timeline jsonb,
    sealed bytea
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
CREATE TABLE courier_notes (
    name text NOT NULL,
    value text NOT NULL,
    gone_at bigint NOT NULL
);
CREATE TABLE courier_owners (
    name text NOT NULL,
    reports bigint NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    has_left boolean DEFAULT false NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE courier_tallies (
    minute bigint NOT NULL,
    channel text NOT NULL,
    kind text NOT NULL,
    state text NOT NULL,
    shard smallint NOT NULL,
    count bigint NOT NULL
)
WITH (fillfactor='70');
INSERT INTO courier_backlog VALUES (13, -6, -1);
INSERT INTO courier_backlog VALUES (12, 9, 2);
INSERT INTO courier_buckets VALUES ('BQYoNbdTc6kPr8ZxV2JBTQ recipient-day 86400000', 1795305600000, 3, 0, 1795478400000);
INSERT INTO courier_buckets VALUES ('rMBX7s-_3PcoCSS1urxFRg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO courier_buckets VALUES ('CHWc-uiZ3eBwzHIxIz8zXg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO courier_buckets VALUES ('we_0ppbNAXkHhY9EKkwRdw recipient-day 86400000', 1795305600000, 0, 0, 1795478400000);
INSERT INTO courier_buckets VALUES ('X9rYposElijsLl_gyflfXA recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO courier_buckets VALUES ('WZyQ_YBgU-tUmPnYPXSfwA sms-prefix-10m 600000', 1795390800000, 2, 0, 1795392000000);
INSERT INTO courier_buckets VALUES ('jkhKuCuds4mB0Jn4TsxXZg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO courier_buckets VALUES ('OQxMIb9JGSOZ7rqhXe_6Vg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (1, '01a205aa481644ffbff00a1443f3e4a6', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795391375382, 1795394975382, NULL, 1795391375430, NULL, 'ceff57db441547d7.0.2', 'hpkLQ_8Ub4d8QQBEzPgImA', 'ntm-wmtNl2xGxVhTJ4TDtA', '0b_rjOYG0eXoVuQgIl-1Ew', false, 'r***@example.com', NULL, 'R00001', NULL, NULL, '[{"at": 1795391375414, "code": "", "reply": "250 2.0.0 Ok: queued as …", "tookMs": 15, "outcome": "sent", "provider": "smtp"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (2, '01a205aa48554c8cb2a71a00698cdba1', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795391375445, 1795394975445, NULL, 1795391375461, NULL, 'ceff57db441547d7.0.4', 'u_0xz0Zo1Sa1CpkZKxjD5w', 'ntm-wmtNl2xGxVhTJ4TDtA', '0b_rjOYG0eXoVuQgIl-1Ew', false, 'r***@example.com', NULL, 'R00002', NULL, NULL, '[{"at": 1795391375453, "code": "", "reply": "250 2.0.0 Ok: queued as …", "tookMs": 8, "outcome": "sent", "provider": "smtp"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (3, '01a205aa486a4b6dae2d73d995ec0897', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795391375466, 1795394975466, NULL, 1795391375486, NULL, 'ceff57db441547d7.0.5', 'r5vEl6CDXgxqes_o6fPTIg', 'ntm-wmtNl2xGxVhTJ4TDtA', '0b_rjOYG0eXoVuQgIl-1Ew', false, 'r***@example.com', NULL, 'R00003', NULL, NULL, '[{"at": 1795391375482, "code": "", "reply": "250 2.0.0 Ok: queued as …", "tookMs": 4, "outcome": "sent", "provider": "smtp"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (4, '01a205aa48804ae892b74327f04b06ea', 'email', 'registration-activation', 'link', 1, 'sent', NULL, 1, 0, 1795391375488, 1795394975488, NULL, 1795391375504, NULL, 'ceff57db441547d7.0.6', 'YxvW0uJ9xTu1z3bZyEK_nw', 'VrUkRkV-LZksWl5Q2qi5oA', NULL, false, 'r***@example.com', NULL, 'R00004', NULL, NULL, '[{"at": 1795391375501, "code": "", "reply": "250 2.0.0 Ok: queued as …", "tookMs": 3, "outcome": "sent", "provider": "smtp"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (5, '01a205aa48934e79b9b6759f5e5c19ae', 'email', 'member-alarm', 'alarm', 1, 'sent', NULL, 1, 0, 1795391375507, 1795394975507, NULL, 1795391375516, NULL, 'ceff57db441547d7.0.7', '6vLRNZnYGN9Kqlp2Rx0wdw', 'VrUkRkV-LZksWl5Q2qi5oA', NULL, false, 'r***@example.com', NULL, 'R00005', NULL, NULL, '[{"at": 1795391375514, "code": "", "reply": "250 2.0.0 Ok: queued as …", "tookMs": 2, "outcome": "sent", "provider": "smtp"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (6, '01a205aa489f4bc2af1775a2bab084a9', 'sms', 'registration-code', 'code', 0, 'sent', NULL, 1, 0, 1795391375519, 1795394975519, NULL, 1795391375654, NULL, 'ceff57db441547d7.0.8', 'sxwHEJZAs1LRisUL4PX-IA', 'LTFzeG1Kl_yhTEPTOQUcNg', 'D_EbwjQNcsPh9kiSopEnNQ', false, '+86*******0003', NULL, 'SMc7fedfe37319a329b5a9c87e54c6ce08', NULL, NULL, '[{"at": 1795391375530, "code": "", "reply": "accepted, queued", "tookMs": 124, "outcome": "sent", "provider": "twilio"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (7, '01a205aa492a459a9e33c554391abc0d', 'email', 'activation-code', 'code', 0, 'refused', NULL, 1, 0, 1795391375658, 1795394975658, NULL, 1795391375668, NULL, 'ceff57db441547d7.0.9', 'XPxm5NnftxxHKJ6ULkFZeg', 'evNo2PtLPdHu0lNWYntLxQ', 'FPLoygyuQyHppcRXo1Uv4w', false, 'r***@example.com', 'recipient', NULL, NULL, NULL, '[{"at": 1795391375665, "code": "550 5.1.1", "reply": "550 5.1.1 no such user", "tookMs": 3, "outcome": "rejected", "provider": "smtp"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (8, '01a205aa493d4d599e1c5c9795b0ef3b', 'email', 'activation-code', 'code', 0, 'superseded', NULL, 1, 0, 1795391375677, 1795394975677, NULL, 1795391375788, NULL, 'ceff57db441547d7.0.a', 'uC9hB_J7h7kzwuI9l2qgHQ', '0mNO8LRcFAg_Fwii9IbOWg', 'BIwr9i4XqjmY0I1YhmSr8g', false, 'r***@example.com', NULL, NULL, NULL, NULL, '[{"at": 1795391375706, "code": "450 4.2.0", "reply": "450 4.2.0 greylisted", "tookMs": 17, "outcome": "retry", "provider": "smtp"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (11, '01a205aa49b94bd1b255101ba9d572d6', 'sms', 'registration-code', 'code', 0, 'queued', 0, 1, 0, 1795391375801, 1795394975801, 1795391376230, NULL, NULL, 'ceff57db441547d7.0.d', '6oSFu9ue3UWZ1HIxBwbEpg', 'y6Hcfq21EPy2CXohVY3lng', 'oHJ2t3KWoq4mtZDjrTLpKw', false, '+86*******0060', NULL, NULL, NULL, '[["jkhKuCuds4mB0Jn4TsxXZg recipient-day 86400000", 1795305600000], ["WZyQ_YBgU-tUmPnYPXSfwA sms-prefix-10m 600000", 1795390800000]]', '[{"at": 1795391375810, "code": "20503", "reply": "Service unavailable", "tookMs": 2, "outcome": "retry", "provider": "twilio"}]', '\x012ddfd6b9a8604d7e4316625507afea0d80dc4e1da4de23080ac7e4f4afede8a6ececd8234c35e039ec175b5105f747f72fcb249b90e400e513d3af99b5d683f72e9e01577d42f39137cd0e200d6b65497eb024f6a42f443e88e54147b16ddeac1048fbafce67dbcd2910934c97047e1b05d8ae1fca17');
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (13, '01a205aa49dc4a0bb2695a7551e8c804', 'email', 'member-alarm', 'alarm', 1, 'queued', 0, 1, 0, 1795391375836, 1795394975836, 1795391380164, NULL, NULL, 'ceff57db441547d7.0.f', '2ZOA_iTPysBzBQMPlIPz8g', 'Sf3mspM7PX07_65sO9ASYg', NULL, false, 'r***@example.com', NULL, NULL, NULL, NULL, '[{"at": 1795391375840, "code": "450 4.2.0", "reply": "450 4.2.0 greylisted", "tookMs": 2, "outcome": "retry", "provider": "smtp"}]', '\x01782a043b70512eac21eeb9460c43099586613f3756678795a67a97b64a36fdaccca9ffdf8eacbf9bf5ee420ec32ce8841f5c1091ee1a63b16d185fc0bc5ade2b2e2777c31ff944c1dcf9c0728aef7b2c7b9274f6ff3ca7bf2a48e793c0776a17c275060a29ada70258811b5e949cbb656d00d67abe4e30053a36077c3eb88cb6dd1c7b12b0f8ea46caf8731ca81f35975b');
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (10, '01a205aa49ac42a89b68e1d95d5cd357', 'email', 'activation-code', 'code', 0, 'queued', 0, 1, 0, 1795391375788, 1795394975788, 1795391376657, NULL, NULL, 'ceff57db441547d7.0.c', 'VFBhfy1f9OxRkCaosZ9L0A', '0mNO8LRcFAg_Fwii9IbOWg', 'BIwr9i4XqjmY0I1YhmSr8g', false, 'r***@example.com', NULL, NULL, NULL, '[["X9rYposElijsLl_gyflfXA recipient-day 86400000", 1795305600000]]', '[{"at": 1795391375795, "code": "450 4.2.0", "reply": "450 4.2.0 greylisted", "tookMs": 2, "outcome": "retry", "provider": "smtp"}]', '\x01e977bdf73b738eaa64d2ff1857aaea741d1e887fc3bdd680b213ebe9609d3dc349f1e42fdb1a71646cdee893a7111bff2373dac8c73e600da29a1e5606907fa6212d5b8aeecccbb7236af102582283285a460f7bf385d83d65c0fc07c87b31a90535aa9cf0f7017468f89fcbe52c61b48248fa4becd9ce4409defea2747263b825ef60233939d66207c1');
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (9, '01a205aa49804b89bd670e71e809a9b4', 'sms', 'registration-code', 'code', 0, 'superseded', NULL, 1, 0, 1795391375744, 1795394975744, NULL, 1795391375801, NULL, 'ceff57db441547d7.0.b', '-tgvjOMhYZ_krthAHKZLHQ', 'y6Hcfq21EPy2CXohVY3lng', 'oHJ2t3KWoq4mtZDjrTLpKw', false, '+86*******0060', NULL, NULL, NULL, NULL, '[{"at": 1795391375763, "code": "20503", "reply": "Service unavailable", "tookMs": 9, "outcome": "retry", "provider": "twilio"}]', NULL);
INSERT INTO courier_messages OVERRIDING SYSTEM VALUE VALUES (12, '01a205aa49cd43b9b191aa336572d899', 'email', 'registration-activation', 'link', 1, 'queued', 0, 1, 0, 1795391375821, 1795394975821, 1795391378246, NULL, NULL, 'ceff57db441547d7.0.e', 'rSn3Tw2rREaJYLgudy6Tng', 'vGAjKWjbp8oxp14MwoafZA', NULL, false, 'r***@example.com', NULL, NULL, NULL, '[["OQxMIb9JGSOZ7rqhXe_6Vg recipient-day 86400000", 1795305600000]]', '[{"at": 1795391375827, "code": "450 4.2.0", "reply": "450 4.2.0 greylisted", "tookMs": 3, "outcome": "retry", "provider": "smtp"}]', '\x015acc034910879e73133f608a0e3cace768cce375300787caca8fd5b702e12cd283b72940bc4b2a2490d76f4095e34e09d66e5cece436253d8835f72eecf3b5270433f0f2baa71dcdf18bd49db5e5aa545ba21b592f8e5a74af78c8cd04c4aa80957c7713a3a569587db09121a0260dd1d6740eec425e5ec9b9c664e127bd52b8298ae7289d5a6b84c58dd2bb94a33b7752258f085a720dd5a0a0a8b4f33e9383d2db94b1ae79b701b26c6689131fb2a6eff01bf14c7adef1');
INSERT INTO courier_meta VALUES ('schema', '3');
INSERT INTO courier_meta VALUES ('mark', 'Acr3olOpaUzw7INOZmsFjFgdeMFQ1KfEHo7wZojxVVlqMC1Mi0QWdYxs5/q6dOSkjL/O6kRqlSXwJ9L5kyE=');
INSERT INTO courier_tallies VALUES (29923189, 'email', 'activation-code', 'sent', 13, 3);
INSERT INTO courier_tallies VALUES (29923189, 'email', 'registration-activation', 'sent', 13, 1);
INSERT INTO courier_tallies VALUES (29923189, 'email', 'member-alarm', 'sent', 13, 1);
INSERT INTO courier_tallies VALUES (29923189, 'sms', 'registration-code', 'sent', 13, 1);
INSERT INTO courier_tallies VALUES (29923189, 'email', 'activation-code', 'refused', 13, 1);
INSERT INTO courier_tallies VALUES (29923189, 'email', 'activation-code', 'queued', 12, -1);
INSERT INTO courier_tallies VALUES (29923189, 'email', 'activation-code', 'sending', 12, 6);
INSERT INTO courier_tallies VALUES (29923189, 'email', 'activation-code', 'superseded', 12, 1);
INSERT INTO courier_tallies VALUES (29923189, 'email', 'activation-code', 'queued', 13, 2);
INSERT INTO courier_tallies VALUES (29923189, 'email', 'activation-code', 'sending', 13, -6);
INSERT INTO courier_tallies VALUES (29923189, 'sms', 'registration-code', 'queued', 12, -1);
INSERT INTO courier_tallies VALUES (29923189, 'sms', 'registration-code', 'sending', 12, 3);
INSERT INTO courier_tallies VALUES (29923189, 'sms', 'registration-code', 'superseded', 12, 1);
INSERT INTO courier_tallies VALUES (29923189, 'sms', 'registration-code', 'queued', 13, 2);
INSERT INTO courier_tallies VALUES (29923189, 'sms', 'registration-code', 'sending', 13, -3);
INSERT INTO courier_tallies VALUES (29923189, 'email', 'registration-activation', 'sending', 12, 2);
INSERT INTO courier_tallies VALUES (29923189, 'email', 'registration-activation', 'queued', 13, 1);
INSERT INTO courier_tallies VALUES (29923189, 'email', 'registration-activation', 'sending', 13, -2);
INSERT INTO courier_tallies VALUES (29923189, 'email', 'member-alarm', 'sending', 12, 2);
INSERT INTO courier_tallies VALUES (29923189, 'email', 'member-alarm', 'queued', 13, 1);
INSERT INTO courier_tallies VALUES (29923189, 'email', 'member-alarm', 'sending', 13, -2);
SELECT pg_catalog.setval('courier_messages_seq_seq', 13, true);
ALTER TABLE ONLY courier_backlog
    ADD CONSTRAINT courier_backlog_pkey PRIMARY KEY (shard);
ALTER TABLE ONLY courier_buckets
    ADD CONSTRAINT courier_buckets_pkey PRIMARY KEY (name);
ALTER TABLE ONLY courier_leads
    ADD CONSTRAINT courier_leads_pkey PRIMARY KEY (name);
ALTER TABLE ONLY courier_messages
    ADD CONSTRAINT courier_messages_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY courier_meta
    ADD CONSTRAINT courier_meta_pkey PRIMARY KEY (key);
ALTER TABLE ONLY courier_notes
    ADD CONSTRAINT courier_notes_pkey PRIMARY KEY (name);
ALTER TABLE ONLY courier_owners
    ADD CONSTRAINT courier_owners_pkey PRIMARY KEY (name);
ALTER TABLE ONLY courier_tallies
    ADD CONSTRAINT courier_tallies_pkey PRIMARY KEY (minute, channel, kind, state, shard);
CREATE INDEX courier_bucket_gone ON courier_buckets USING btree (gone_at);
CREATE INDEX courier_message_arrival ON courier_messages USING btree (arrived_at, channel, kind, state);
CREATE INDEX courier_message_due ON courier_messages USING btree (channel, rank, seq DESC) WHERE (ready = 1);
CREATE INDEX courier_message_expiry ON courier_messages USING btree (channel, expires_at) WHERE (ready IS NOT NULL);
CREATE INDEX courier_message_final ON courier_messages USING btree (final_at) WHERE (final_at IS NOT NULL);
CREATE INDEX courier_message_group ON courier_messages USING btree (code_group) WHERE ((code_group IS NOT NULL) AND (final_at IS NULL));
CREATE UNIQUE INDEX courier_message_id ON courier_messages USING btree (id);
CREATE INDEX courier_message_lease ON courier_messages USING btree (channel, lease_until) WHERE (lease_until IS NOT NULL);
CREATE UNIQUE INDEX courier_message_live_twin ON courier_messages USING btree (twin) WHERE (final_at IS NULL);
CREATE INDEX courier_message_oldest ON courier_messages USING btree (channel, arrived_at) WHERE (final_at IS NULL);
CREATE INDEX courier_message_provider ON courier_messages USING btree (provider_id) WHERE (provider_id IS NOT NULL);
CREATE INDEX courier_message_recipient ON courier_messages USING btree (recipient, twin, seq DESC);
CREATE INDEX courier_message_waiting ON courier_messages USING btree (channel, rank, due_at) WHERE (ready = 0);
CREATE INDEX courier_note_gone ON courier_notes USING btree (gone_at);
