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
CREATE TABLE courier_earlier (
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
WITH (fillfactor='60');
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
CREATE TABLE courier_finished (
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
    outdated boolean NOT NULL,
    masked_recipient text NOT NULL,
    answer text,
    provider_id text,
    receipt jsonb,
    charges jsonb,
    timeline jsonb,
    payload bytea
)
PARTITION BY RANGE (final_at);
CREATE TABLE courier_finished_20261123 (
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
    outdated boolean NOT NULL,
    masked_recipient text NOT NULL,
    answer text,
    provider_id text,
    receipt jsonb,
    charges jsonb,
    timeline jsonb,
    payload bytea
);
CREATE TABLE courier_finished_20261124 (
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
    outdated boolean NOT NULL,
    masked_recipient text NOT NULL,
    answer text,
    provider_id text,
    receipt jsonb,
    charges jsonb,
    timeline jsonb,
    payload bytea
);
CREATE TABLE courier_leader_leases (
    name text NOT NULL,
    owner text NOT NULL,
    until timestamp with time zone NOT NULL
);
ALTER TABLE courier_earlier ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME courier_messages_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE courier_live (
    seq bigint DEFAULT nextval('courier_messages_seq_seq'::regclass) NOT NULL,
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
WITH (fillfactor='50', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_insert_threshold='-1', autovacuum_vacuum_cost_delay='0');
CREATE TABLE courier_memos (
    name text NOT NULL,
    value text NOT NULL,
    expires_at bigint NOT NULL
);
CREATE TABLE courier_reports (
    final_at bigint NOT NULL,
    id text NOT NULL,
    channel text NOT NULL,
    provider_id text,
    receipt jsonb NOT NULL
)
PARTITION BY RANGE (final_at);
CREATE VIEW courier_rows AS
 SELECT 'live'::text AS part,
    courier_live.seq,
    courier_live.id,
    courier_live.channel,
    courier_live.kind,
    courier_live.purpose,
    courier_live.rank,
    courier_live.state,
    courier_live.ready,
    courier_live.attempts,
    courier_live.ambiguous,
    courier_live.arrived_at,
    courier_live.expires_at,
    courier_live.due_at,
    courier_live.final_at,
    courier_live.lease_until,
    courier_live.lease_token,
    courier_live.dedupe_key,
    courier_live.recipient_hash,
    courier_live.group_key,
    courier_live.begun,
    courier_live.attempted_by,
    courier_live.outdated,
    courier_live.masked_recipient,
    courier_live.answer,
    courier_live.provider_id,
    courier_live.receipt,
    courier_live.charges,
    courier_live.timeline,
    courier_live.payload
   FROM courier_live
UNION ALL
 SELECT 'finished'::text AS part,
    courier_finished.seq,
    courier_finished.id,
    courier_finished.channel,
    courier_finished.kind,
    courier_finished.purpose,
    courier_finished.rank,
    courier_finished.state,
    courier_finished.ready,
    courier_finished.attempts,
    courier_finished.ambiguous,
    courier_finished.arrived_at,
    courier_finished.expires_at,
    courier_finished.due_at,
    courier_finished.final_at,
    courier_finished.lease_until,
    courier_finished.lease_token,
    courier_finished.dedupe_key,
    courier_finished.recipient_hash,
    courier_finished.group_key,
    courier_finished.begun,
    courier_finished.attempted_by,
    courier_finished.outdated,
    courier_finished.masked_recipient,
    courier_finished.answer,
    courier_finished.provider_id,
    courier_finished.receipt,
    courier_finished.charges,
    courier_finished.timeline,
    courier_finished.payload
   FROM courier_finished
UNION ALL
 SELECT 'earlier'::text AS part,
    courier_earlier.seq,
    courier_earlier.id,
    courier_earlier.channel,
    courier_earlier.kind,
    courier_earlier.purpose,
    courier_earlier.rank,
    courier_earlier.state,
    courier_earlier.ready,
    courier_earlier.attempts,
    courier_earlier.ambiguous,
    courier_earlier.arrived_at,
    courier_earlier.expires_at,
    courier_earlier.due_at,
    courier_earlier.final_at,
    courier_earlier.lease_until,
    courier_earlier.lease_token,
    courier_earlier.dedupe_key,
    courier_earlier.recipient_hash,
    courier_earlier.group_key,
    courier_earlier.begun,
    courier_earlier.attempted_by,
    courier_earlier.outdated,
    courier_earlier.masked_recipient,
    courier_earlier.answer,
    courier_earlier.provider_id,
    courier_earlier.receipt,
    courier_earlier.charges,
    courier_earlier.timeline,
    courier_earlier.payload
   FROM courier_earlier;
CREATE VIEW courier_messages AS
 SELECT m.seq,
    m.id,
    m.channel,
    m.kind,
    m.purpose,
    m.rank,
    m.state,
    m.ready,
    m.attempts,
    m.ambiguous,
    m.arrived_at,
    m.expires_at,
    m.due_at,
    m.final_at,
    m.lease_until,
    m.lease_token,
    m.dedupe_key,
    m.recipient_hash,
    m.group_key,
    m.begun,
    m.attempted_by,
    m.outdated,
    m.masked_recipient,
    m.answer,
    COALESCE(m.provider_id, ( SELECT r.provider_id
           FROM courier_reports r
          WHERE ((r.id = m.id) AND (r.final_at = m.final_at)))) AS provider_id,
    COALESCE(( SELECT r.receipt
           FROM courier_reports r
          WHERE ((r.id = m.id) AND (r.final_at = m.final_at))), m.receipt) AS receipt,
    m.charges,
    m.timeline,
    m.payload
   FROM courier_rows m;
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
CREATE TABLE courier_reports_20261123 (
    final_at bigint NOT NULL,
    id text NOT NULL,
    channel text NOT NULL,
    provider_id text,
    receipt jsonb NOT NULL
);
CREATE TABLE courier_reports_20261124 (
    final_at bigint NOT NULL,
    id text NOT NULL,
    channel text NOT NULL,
    provider_id text,
    receipt jsonb NOT NULL
);
ALTER TABLE ONLY courier_finished ATTACH PARTITION courier_finished_20261123 FOR VALUES FROM ('1795392000000') TO ('1795478400000');
ALTER TABLE ONLY courier_finished ATTACH PARTITION courier_finished_20261124 FOR VALUES FROM ('1795478400000') TO ('1795564800000');
ALTER TABLE ONLY courier_reports ATTACH PARTITION courier_reports_20261123 FOR VALUES FROM ('1795392000000') TO ('1795478400000');
ALTER TABLE ONLY courier_reports ATTACH PARTITION courier_reports_20261124 FOR VALUES FROM ('1795478400000') TO ('1795564800000');
INSERT INTO courier_backlog VALUES (73, -6, -1);
INSERT INTO courier_backlog VALUES (72, 9, 2);
INSERT INTO courier_counts VALUES (29924406, 'email', 'activation-code', 'sent', 73, 3);
INSERT INTO courier_counts VALUES (29924406, 'email', 'registration-activation', 'sent', 73, 1);
INSERT INTO courier_counts VALUES (29924406, 'email', 'member-alarm', 'sent', 73, 1);
INSERT INTO courier_counts VALUES (29924406, 'sms', 'registration-code', 'sent', 73, 1);
INSERT INTO courier_counts VALUES (29924406, 'email', 'activation-code', 'refused', 73, 1);
INSERT INTO courier_counts VALUES (29924406, 'email', 'activation-code', 'queued', 72, -1);
INSERT INTO courier_counts VALUES (29924406, 'email', 'activation-code', 'sending', 72, 6);
INSERT INTO courier_counts VALUES (29924406, 'email', 'activation-code', 'superseded', 72, 1);
INSERT INTO courier_counts VALUES (29924406, 'email', 'activation-code', 'queued', 73, 2);
INSERT INTO courier_counts VALUES (29924406, 'email', 'activation-code', 'sending', 73, -6);
INSERT INTO courier_counts VALUES (29924406, 'sms', 'registration-code', 'queued', 72, -1);
INSERT INTO courier_counts VALUES (29924406, 'sms', 'registration-code', 'sending', 72, 3);
INSERT INTO courier_counts VALUES (29924406, 'sms', 'registration-code', 'superseded', 72, 1);
INSERT INTO courier_counts VALUES (29924406, 'sms', 'registration-code', 'queued', 73, 2);
INSERT INTO courier_counts VALUES (29924406, 'sms', 'registration-code', 'sending', 73, -3);
INSERT INTO courier_counts VALUES (29924406, 'email', 'registration-activation', 'sending', 72, 2);
INSERT INTO courier_counts VALUES (29924406, 'email', 'registration-activation', 'queued', 73, 1);
INSERT INTO courier_counts VALUES (29924406, 'email', 'registration-activation', 'sending', 73, -2);
INSERT INTO courier_counts VALUES (29924406, 'email', 'member-alarm', 'sending', 72, 2);
INSERT INTO courier_counts VALUES (29924406, 'email', 'member-alarm', 'queued', 73, 1);
INSERT INTO courier_counts VALUES (29924406, 'email', 'member-alarm', 'sending', 73, -2);
INSERT INTO courier_finished_20261123 VALUES (1, '01a20a04c7fa4632b86d2fa515d2b295', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795464415226, 1795468015226, NULL, 1795464415289, NULL, 'b2f7bbbd742dfa12.0.3', 'QZ0XhKsuY0xmGPFZKlLiJw', 'ntm-wmtNl2xGxVhTJ4TDtA', NULL, true, NULL, false, 'r***@example.com', NULL, 'R00001', NULL, NULL, '[{"at": 1795464415269, "code": "", "reply": "250 2.0.0 Ok: queued as …", "tookMs": 18, "outcome": "sent", "provider": "smtp"}]', NULL);
INSERT INTO courier_finished_20261123 VALUES (2, '01a20a04c84348af92274dd974fcbbc5', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795464415299, 1795468015299, NULL, 1795464415308, NULL, 'b2f7bbbd742dfa12.0.4', 'WoO9DxZltwa_1KA80KpNPA', 'ntm-wmtNl2xGxVhTJ4TDtA', NULL, true, NULL, false, 'r***@example.com', NULL, 'R00002', NULL, NULL, '[{"at": 1795464415305, "code": "", "reply": "250 2.0.0 Ok: queued as …", "tookMs": 2, "outcome": "sent", "provider": "smtp"}]', NULL);
INSERT INTO courier_finished_20261123 VALUES (3, '01a20a04c84f4402b714a754831edf1a', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795464415311, 1795468015311, NULL, 1795464415318, NULL, 'b2f7bbbd742dfa12.0.5', 'dYWTZMMT1n_dpT-AEJJPjw', 'ntm-wmtNl2xGxVhTJ4TDtA', NULL, true, NULL, false, 'r***@example.com', NULL, 'R00003', NULL, NULL, '[{"at": 1795464415316, "code": "", "reply": "250 2.0.0 Ok: queued as …", "tookMs": 1, "outcome": "sent", "provider": "smtp"}]', NULL);
INSERT INTO courier_finished_20261123 VALUES (4, '01a20a04c85a49038f23f89b7dde4bd8', 'email', 'registration-activation', 'link', 1, 'sent', NULL, 1, 0, 1795464415322, 1795468015322, NULL, 1795464415339, NULL, 'b2f7bbbd742dfa12.0.6', '_nXS410_KM2639qYGy8Nhg', 'VrUkRkV-LZksWl5Q2qi5oA', NULL, true, NULL, false, 'r***@example.com', NULL, 'R00004', NULL, NULL, '[{"at": 1795464415337, "code": "", "reply": "250 2.0.0 Ok: queued as …", "tookMs": 2, "outcome": "sent", "provider": "smtp"}]', NULL);
INSERT INTO courier_finished_20261123 VALUES (5, '01a20a04c86e4d679dd3da93c3d29ab5', 'email', 'member-alarm', 'alarm', 1, 'sent', NULL, 1, 0, 1795464415342, 1795468015342, NULL, 1795464415352, NULL, 'b2f7bbbd742dfa12.0.7', 'wFU1vZBXqa_RRDj1pKnHGw', 'VrUkRkV-LZksWl5Q2qi5oA', NULL, true, NULL, false, 'r***@example.com', NULL, 'R00005', NULL, NULL, '[{"at": 1795464415350, "code": "", "reply": "250 2.0.0 Ok: queued as …", "tookMs": 1, "outcome": "sent", "provider": "smtp"}]', NULL);
INSERT INTO courier_finished_20261123 VALUES (6, '01a20a04c87b4fe29dbcded222ddedb8', 'sms', 'registration-code', 'code', 0, 'sent', NULL, 1, 0, 1795464415355, 1795468015355, NULL, 1795464415405, NULL, 'b2f7bbbd742dfa12.0.8', '_WlQ2hDQ9uviVORUG708OA', 'LTFzeG1Kl_yhTEPTOQUcNg', NULL, true, NULL, false, '+86*******0003', NULL, 'SM79e1089c2ddc828fc5be54501fa89508', NULL, NULL, '[{"at": 1795464415377, "code": "", "reply": "accepted, queued", "tookMs": 27, "outcome": "sent", "provider": "twilio"}]', NULL);
INSERT INTO courier_finished_20261123 VALUES (7, '01a20a04c8b34163bd93eed9a0323a9c', 'email', 'activation-code', 'code', 0, 'refused', NULL, 1, 0, 1795464415411, 1795468015411, NULL, 1795464415422, NULL, 'b2f7bbbd742dfa12.0.9', 'dVpEsgYLESUZGAFfgIYxEA', 'evNo2PtLPdHu0lNWYntLxQ', NULL, true, NULL, false, 'r***@example.com', 'recipient', NULL, NULL, NULL, '[{"at": 1795464415418, "code": "550 5.1.1", "reply": "550 5.1.1 no such user", "tookMs": 4, "outcome": "rejected", "provider": "smtp"}]', NULL);
INSERT INTO courier_finished_20261123 VALUES (8, '01a20a04c8c44b10b47d36fe1e519ca7', 'email', 'activation-code', 'code', 0, 'superseded', NULL, 1, 0, 1795464415428, 1795468015428, NULL, 1795464415457, NULL, 'b2f7bbbd742dfa12.0.a', 'VxKwCzW6vyeZ-JCY1b5XBg', '0mNO8LRcFAg_Fwii9IbOWg', NULL, true, NULL, false, 'r***@example.com', NULL, NULL, NULL, NULL, '[{"at": 1795464415434, "code": "450 4.2.0", "reply": "450 4.2.0 greylisted", "tookMs": 2, "outcome": "retry", "provider": "smtp"}]', NULL);
INSERT INTO courier_finished_20261123 VALUES (9, '01a20a04c8d2444d9b36d2d8b2ab48c9', 'sms', 'registration-code', 'code', 0, 'superseded', NULL, 1, 0, 1795464415442, 1795468015442, NULL, 1795464415466, NULL, 'b2f7bbbd742dfa12.0.b', 'X5DLfW86_JtzkaQnZkqgIA', 'y6Hcfq21EPy2CXohVY3lng', NULL, true, NULL, false, '+86*******0060', NULL, NULL, NULL, NULL, '[{"at": 1795464415448, "code": "20503", "reply": "Service unavailable", "tookMs": 4, "outcome": "retry", "provider": "twilio"}]', NULL);
INSERT INTO courier_live VALUES (10, '01a20a04c8e04ff69e89585406a0970c', 'email', 'activation-code', 'code', 0, 'queued', 0, 1, 0, 1795464415456, 1795468015456, 1795464415985, NULL, NULL, 'b2f7bbbd742dfa12.0.c', '13xJJTuyBLtg9kvuAEvyqQ', '0mNO8LRcFAg_Fwii9IbOWg', 'BIwr9i4XqjmY0I1YhmSr8g', true, NULL, false, 'r***@example.com', NULL, NULL, NULL, '[["X9rYposElijsLl_gyflfXA recipient-day 86400000", 1795392000000], ["Ebcac3tSoWKo_WGd8SFHZA signup-domain-hour 3600000", 1795464000000], ["channel:email email-minute 60000", 1795464360000]]', '[{"at": 1795464415461, "code": "450 4.2.0", "reply": "450 4.2.0 greylisted", "tookMs": 1, "outcome": "retry", "provider": "smtp"}]', '\x01f7fead009d9cffcc2f65ff4003b22781170ae8a49405bf4a27d993a3e47f2f2f4e2b4e1fddda00bc36dcb4d7be57cd3b0d6e6079e91814418695498ccf22a7e7765797eee0003b71484b4384160e752a582094624e7ee614153163b0922e6f6f668f4e821e50705b90fa8d52786d352bdd120a4532cafea88b665d605510153aed5601329c3761083e31');
INSERT INTO courier_live VALUES (11, '01a20a04c8e94bb2808d91fa3a748bff', 'sms', 'registration-code', 'code', 0, 'queued', 0, 1, 0, 1795464415465, 1795468015465, 1795464416015, NULL, NULL, 'b2f7bbbd742dfa12.0.d', 'Cm5G_uLMtZhs1TUqK4XcUg', 'y6Hcfq21EPy2CXohVY3lng', 'oHJ2t3KWoq4mtZDjrTLpKw', true, NULL, false, '+86*******0060', NULL, NULL, NULL, '[["jkhKuCuds4mB0Jn4TsxXZg recipient-day 86400000", 1795392000000], ["WZyQ_YBgU-tUmPnYPXSfwA sms-prefix-10m 600000", 1795464000000], ["channel:sms sms-minute 60000", 1795464360000], ["channel:sms sms-day 86400000", 1795392000000]]', '[{"at": 1795464415468, "code": "20503", "reply": "Service unavailable", "tookMs": 7, "outcome": "retry", "provider": "twilio"}]', '\x017c45991766dba4a827eef787f200569241492decffaddaa1149ebff33c0a359e5d57b4a5e31b7b195ef675bdbc9298fb28f3251aaee8a1597f51af12b95627d9c9d4200f5bd26e7955445890b3189b0e2b404263c28cddcfd250c690eef99b28f7494b460005dd85cb47b8d80c8477b011ed75343bf4');
INSERT INTO courier_live VALUES (12, '01a20a04c8f64a03963ab5c9699c3bed', 'email', 'registration-activation', 'link', 1, 'queued', 0, 1, 0, 1795464415478, 1795468015478, 1795464416981, NULL, NULL, 'b2f7bbbd742dfa12.0.e', 'dVOMrM2T8M9CRTJDeur-NQ', 'vGAjKWjbp8oxp14MwoafZA', NULL, true, NULL, false, 'r***@example.com', NULL, NULL, NULL, '[["OQxMIb9JGSOZ7rqhXe_6Vg recipient-day 86400000", 1795392000000], ["Ebcac3tSoWKo_WGd8SFHZA signup-domain-hour 3600000", 1795464000000], ["channel:email email-minute 60000", 1795464360000]]', '[{"at": 1795464415483, "code": "450 4.2.0", "reply": "450 4.2.0 greylisted", "tookMs": 1, "outcome": "retry", "provider": "smtp"}]', '\x0117b9ecfe0dbf9f4b2baf5f4c87914c3789576ecf2d7e725b3e0cbe9875ca9a800bc89ec781ff3f6fe4de86f3949fcd3a19d1c66699f7905cd29bf59f9b3e621f9c1245472066f071e1ce59a7e143af27eafe08c10edd2a7beacbb9db0782cbe5351481472846e675fb0efaa0096aca5d32654f72c06b6655d26cc67d5d48bd46f1c441f587762239ed15f7c8baece20f63fec685957b06449a607789980e99dfc0f7b0e7938f60054a10e546f04f21dc0457438286a796e8');
INSERT INTO courier_live VALUES (13, '01a20a04c90341b2b1d5bb2a9a186386', 'email', 'member-alarm', 'alarm', 1, 'queued', 0, 1, 0, 1795464415491, 1795468015491, 1795464416644, NULL, NULL, 'b2f7bbbd742dfa12.0.f', 'FQbxzozrIXBpC8hHIgnGJw', 'Sf3mspM7PX07_65sO9ASYg', NULL, true, NULL, false, 'r***@example.com', NULL, NULL, NULL, '[["channel:email email-minute 60000", 1795464360000]]', '[{"at": 1795464415497, "code": "450 4.2.0", "reply": "450 4.2.0 greylisted", "tookMs": 1, "outcome": "retry", "provider": "smtp"}]', '\x0151efd373024ede5467d123bfb67eb19e9b3723e878c8047648512706ceda4e2179aec4b9cc70df94e350164c9d1f4abf35dcc2e1213c07c6c2da3767c600e4264175259f59a589ad89c980146936994cff9d2ac370c5cdd93ac274bba23aacb04ca5b01a72874d3045e6de25a54bab5e766cac6db868d019a7c0bb867305a973350d28310ea2c5020cbf627c39cbb9c61a');
INSERT INTO courier_meta VALUES ('corp-id', 'corp-100fa4b2');
INSERT INTO courier_meta VALUES ('made-from', '1.1');
INSERT INTO courier_meta VALUES ('schema', '4');
INSERT INTO courier_meta VALUES ('min-writer', '4');
INSERT INTO courier_meta VALUES ('secret-check', 'AScBLclVX+JYmBpUAIF1G+gYSEbFk6HAaU7g+uSF/xcoM+fDjMR+tE40pPbwrbl7cYJw5K9+Oln7hRnZgdI=');
INSERT INTO courier_meta VALUES ('secrets-replaced', '');
INSERT INTO courier_quota_counters VALUES ('BQYoNbdTc6kPr8ZxV2JBTQ recipient-day 86400000', 1795392000000, 3, 0, 1795564800000);
INSERT INTO courier_quota_counters VALUES ('rMBX7s-_3PcoCSS1urxFRg recipient-day 86400000', 1795392000000, 1, 0, 1795564800000);
INSERT INTO courier_quota_counters VALUES ('CHWc-uiZ3eBwzHIxIz8zXg recipient-day 86400000', 1795392000000, 1, 0, 1795564800000);
INSERT INTO courier_quota_counters VALUES ('we_0ppbNAXkHhY9EKkwRdw recipient-day 86400000', 1795392000000, 0, 0, 1795564800000);
INSERT INTO courier_quota_counters VALUES ('X9rYposElijsLl_gyflfXA recipient-day 86400000', 1795392000000, 1, 0, 1795564800000);
INSERT INTO courier_quota_counters VALUES ('WZyQ_YBgU-tUmPnYPXSfwA sms-prefix-10m 600000', 1795464000000, 2, 0, 1795465200000);
INSERT INTO courier_quota_counters VALUES ('channel:sms sms-day 86400000', 1795392000000, 2, 0, 1795564800000);
INSERT INTO courier_quota_counters VALUES ('channel:sms sms-minute 60000', 1795464360000, 2, 0, 1795464480000);
INSERT INTO courier_quota_counters VALUES ('jkhKuCuds4mB0Jn4TsxXZg recipient-day 86400000', 1795392000000, 1, 0, 1795564800000);
INSERT INTO courier_quota_counters VALUES ('OQxMIb9JGSOZ7rqhXe_6Vg recipient-day 86400000', 1795392000000, 1, 0, 1795564800000);
INSERT INTO courier_quota_counters VALUES ('Ebcac3tSoWKo_WGd8SFHZA signup-domain-hour 3600000', 1795464000000, 4, 0, 1795471200000);
INSERT INTO courier_quota_counters VALUES ('channel:email email-minute 60000', 1795464360000, 8, 0, 1795464480000);
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
ALTER TABLE ONLY courier_live
    ADD CONSTRAINT courier_live_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY courier_memos
    ADD CONSTRAINT courier_memos_pkey PRIMARY KEY (name);
ALTER TABLE ONLY courier_earlier
    ADD CONSTRAINT courier_messages_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY courier_meta
    ADD CONSTRAINT courier_meta_pkey PRIMARY KEY (key);
ALTER TABLE ONLY courier_quota_counters
    ADD CONSTRAINT courier_quota_counters_pkey PRIMARY KEY (name);
ALTER TABLE ONLY courier_replicas
    ADD CONSTRAINT courier_replicas_pkey PRIMARY KEY (name);
ALTER TABLE ONLY courier_reports
    ADD CONSTRAINT courier_reports_pkey PRIMARY KEY (id, final_at);
ALTER TABLE ONLY courier_reports_20261123
    ADD CONSTRAINT courier_reports_20261123_pkey PRIMARY KEY (id, final_at);
ALTER TABLE ONLY courier_reports_20261124
    ADD CONSTRAINT courier_reports_20261124_pkey PRIMARY KEY (id, final_at);
CREATE INDEX courier_finished_arrival ON ONLY courier_finished USING btree (arrived_at, channel, kind, state);
CREATE INDEX courier_finished_20261123_arrived_at_channel_kind_state_idx ON courier_finished_20261123 USING btree (arrived_at, channel, kind, state);
CREATE INDEX courier_finished_recipient ON ONLY courier_finished USING btree (hashtext(recipient_hash), hashtext(dedupe_key));
CREATE INDEX courier_finished_20261123_hashtext_hashtext1_idx ON courier_finished_20261123 USING btree (hashtext(recipient_hash), hashtext(dedupe_key));
CREATE INDEX courier_finished_provider ON ONLY courier_finished USING btree (hashtext(provider_id)) WHERE (provider_id IS NOT NULL);
CREATE INDEX courier_finished_20261123_hashtext_idx ON courier_finished_20261123 USING btree (hashtext(provider_id)) WHERE (provider_id IS NOT NULL);
CREATE INDEX courier_finished_id ON ONLY courier_finished USING btree (id);
CREATE INDEX courier_finished_20261123_id_idx ON courier_finished_20261123 USING btree (id);
CREATE INDEX courier_finished_20261124_arrived_at_channel_kind_state_idx ON courier_finished_20261124 USING btree (arrived_at, channel, kind, state);
CREATE INDEX courier_finished_20261124_hashtext_hashtext1_idx ON courier_finished_20261124 USING btree (hashtext(recipient_hash), hashtext(dedupe_key));
CREATE INDEX courier_finished_20261124_hashtext_idx ON courier_finished_20261124 USING btree (hashtext(provider_id)) WHERE (provider_id IS NOT NULL);
CREATE INDEX courier_finished_20261124_id_idx ON courier_finished_20261124 USING btree (id);
CREATE INDEX courier_live_arrival ON courier_live USING btree (arrived_at);
CREATE INDEX courier_live_due ON courier_live USING btree (channel, rank, seq DESC) WHERE (ready = 1);
CREATE UNIQUE INDEX courier_live_duplicate ON courier_live USING btree (recipient_hash, dedupe_key);
CREATE INDEX courier_live_expiry ON courier_live USING btree (channel, expires_at) WHERE (ready IS NOT NULL);
CREATE INDEX courier_live_group ON courier_live USING btree (group_key) WHERE (group_key IS NOT NULL);
CREATE UNIQUE INDEX courier_live_id ON courier_live USING btree (id);
CREATE INDEX courier_live_lease ON courier_live USING btree (channel, lease_until) WHERE (lease_until IS NOT NULL);
CREATE INDEX courier_live_oldest ON courier_live USING btree (channel, arrived_at);
CREATE INDEX courier_live_provider ON courier_live USING btree (provider_id) WHERE (provider_id IS NOT NULL);
CREATE INDEX courier_live_waiting ON courier_live USING btree (channel, rank, due_at) WHERE (ready = 0);
CREATE INDEX courier_memo_expiry ON courier_memos USING btree (expires_at);
CREATE INDEX courier_message_arrival ON courier_earlier USING btree (arrived_at, channel, kind, state);
CREATE INDEX courier_message_due ON courier_earlier USING btree (channel, rank, seq DESC) WHERE (ready = 1);
CREATE INDEX courier_message_expiry ON courier_earlier USING btree (channel, expires_at) WHERE (ready IS NOT NULL);
CREATE INDEX courier_message_final ON courier_earlier USING btree (final_at) WHERE (final_at IS NOT NULL);
CREATE INDEX courier_message_group ON courier_earlier USING btree ((
CASE
    WHEN (final_at IS NULL) THEN group_key
    ELSE NULL::text
END)) WHERE (
CASE
    WHEN (final_at IS NULL) THEN group_key
    ELSE NULL::text
END IS NOT NULL);
CREATE UNIQUE INDEX courier_message_id ON courier_earlier USING btree (id);
CREATE INDEX courier_message_lease ON courier_earlier USING btree (channel, lease_until) WHERE (lease_until IS NOT NULL);
CREATE UNIQUE INDEX courier_message_live_duplicate ON courier_earlier USING btree (dedupe_key, recipient_hash) WHERE (final_at IS NULL);
CREATE INDEX courier_message_oldest ON courier_earlier USING btree (channel, arrived_at) WHERE (final_at IS NULL);
CREATE INDEX courier_message_provider ON courier_earlier USING btree (provider_id) WHERE (provider_id IS NOT NULL);
CREATE INDEX courier_message_recipient ON courier_earlier USING btree (recipient_hash, dedupe_key, ((- seq)));
CREATE INDEX courier_message_waiting ON courier_earlier USING btree (channel, rank, due_at) WHERE (ready = 0);
CREATE INDEX courier_quota_counter_expiry ON courier_quota_counters USING btree (expires_at);
CREATE INDEX courier_report_provider ON ONLY courier_reports USING btree (hashtext(provider_id)) WHERE (provider_id IS NOT NULL);
CREATE INDEX courier_reports_20261123_hashtext_idx ON courier_reports_20261123 USING btree (hashtext(provider_id)) WHERE (provider_id IS NOT NULL);
CREATE INDEX courier_reports_20261124_hashtext_idx ON courier_reports_20261124 USING btree (hashtext(provider_id)) WHERE (provider_id IS NOT NULL);
ALTER INDEX courier_finished_arrival ATTACH PARTITION courier_finished_20261123_arrived_at_channel_kind_state_idx;
ALTER INDEX courier_finished_recipient ATTACH PARTITION courier_finished_20261123_hashtext_hashtext1_idx;
ALTER INDEX courier_finished_provider ATTACH PARTITION courier_finished_20261123_hashtext_idx;
ALTER INDEX courier_finished_id ATTACH PARTITION courier_finished_20261123_id_idx;
ALTER INDEX courier_finished_arrival ATTACH PARTITION courier_finished_20261124_arrived_at_channel_kind_state_idx;
ALTER INDEX courier_finished_recipient ATTACH PARTITION courier_finished_20261124_hashtext_hashtext1_idx;
ALTER INDEX courier_finished_provider ATTACH PARTITION courier_finished_20261124_hashtext_idx;
ALTER INDEX courier_finished_id ATTACH PARTITION courier_finished_20261124_id_idx;
ALTER INDEX courier_report_provider ATTACH PARTITION courier_reports_20261123_hashtext_idx;
ALTER INDEX courier_reports_pkey ATTACH PARTITION courier_reports_20261123_pkey;
ALTER INDEX courier_report_provider ATTACH PARTITION courier_reports_20261124_hashtext_idx;
ALTER INDEX courier_reports_pkey ATTACH PARTITION courier_reports_20261124_pkey;
