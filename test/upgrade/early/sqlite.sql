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
  twin TEXT NOT NULL,
  recipient TEXT NOT NULL,
  code_group TEXT,
  outdated INTEGER NOT NULL DEFAULT 0,
  masked TEXT NOT NULL,
  answer TEXT,
  provider_id TEXT,
  receipt TEXT,
  charges TEXT,
  timeline TEXT,
  sealed BLOB
) STRICT;
CREATE INDEX message_id ON messages (substr(id, 1, 16));
CREATE INDEX message_recipient ON messages (substr(recipient, 1, 8), substr(twin, 1, 8));
CREATE INDEX message_group ON messages (substr(code_group, 1, 8)) WHERE code_group IS NOT NULL AND final_at IS NULL;
CREATE INDEX message_due ON messages (channel, rank, seq DESC) WHERE ready = 1;
CREATE INDEX message_waiting ON messages (channel, rank, due_at) WHERE ready = 0;
CREATE INDEX message_expiry ON messages (channel, expires_at) WHERE ready IS NOT NULL;
CREATE INDEX message_lease ON messages (channel, lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX message_state ON messages (state, channel, arrived_at, kind);
CREATE INDEX message_arrival ON messages (arrived_at, channel, kind);
CREATE INDEX message_provider ON messages (provider_id) WHERE provider_id IS NOT NULL;
CREATE INDEX message_final ON messages (final_at) WHERE final_at IS NOT NULL;
CREATE TABLE buckets (
  name TEXT PRIMARY KEY,
  since INTEGER NOT NULL,
  used INTEGER NOT NULL,
  before INTEGER NOT NULL,
  gone_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE tallies (
  minute INTEGER NOT NULL,
  channel TEXT NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (minute, channel, kind, state)
) STRICT, WITHOUT ROWID;
CREATE TABLE notes (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  gone_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX note_gone ON notes (gone_at);
INSERT INTO meta ("key", "value") VALUES ('mark', X'016C229E7407947CF1EB408ECD68B1F21FBDF72A64CA27CC1E8004A06CF55A3A515A2F68900BE0BCBD307DC60D1A84DA8F7795B8FCED58E6A0EEDB64D508');
INSERT INTO meta ("key", "value") VALUES ('schema', 2.0);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "twin", "recipient", "code_group", "outdated", "masked", "answer", "provider_id", "receipt", "charges", "timeline", "sealed") VALUES (1, '01a205aa3be04435bdcee51bd0942618', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795391372256, 1795394972256, NULL, 1795391372338, NULL, NULL, 'hpkLQ_8Ub4d8QQBEzPgImA', 'ntm-wmtNl2xGxVhTJ4TDtA', '0b_rjOYG0eXoVuQgIl-1Ew', 0, 'r***@example.com', NULL, 'R00001', NULL, NULL, '[{"at":1795391372296,"tookMs":41,"provider":"smtp","outcome":"sent","code":"","reply":"250 2.0.0 Ok: queued as …"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "twin", "recipient", "code_group", "outdated", "masked", "answer", "provider_id", "receipt", "charges", "timeline", "sealed") VALUES (2, '01a205aa3c4341bc833a706eeb177a76', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795391372355, 1795394972355, NULL, 1795391372372, NULL, NULL, 'u_0xz0Zo1Sa1CpkZKxjD5w', 'ntm-wmtNl2xGxVhTJ4TDtA', '0b_rjOYG0eXoVuQgIl-1Ew', 0, 'r***@example.com', NULL, 'R00002', NULL, NULL, '[{"at":1795391372360,"tookMs":8,"provider":"smtp","outcome":"sent","code":"","reply":"250 2.0.0 Ok: queued as …"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "twin", "recipient", "code_group", "outdated", "masked", "answer", "provider_id", "receipt", "charges", "timeline", "sealed") VALUES (3, '01a205aa3c5e46ed9408d58e51b6c2b2', 'email', 'activation-code', 'code', 0, 'sent', NULL, 1, 0, 1795391372382, 1795394972382, NULL, 1795391372506, NULL, NULL, 'r5vEl6CDXgxqes_o6fPTIg', 'ntm-wmtNl2xGxVhTJ4TDtA', '0b_rjOYG0eXoVuQgIl-1Ew', 0, 'r***@example.com', NULL, 'R00003', NULL, NULL, '[{"at":1795391372501,"tookMs":5,"provider":"smtp","outcome":"sent","code":"","reply":"250 2.0.0 Ok: queued as …"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "twin", "recipient", "code_group", "outdated", "masked", "answer", "provider_id", "receipt", "charges", "timeline", "sealed") VALUES (4, '01a205aa3cde44c4b9b3cac120c7498d', 'email', 'registration-activation', 'link', 1, 'sent', NULL, 1, 0, 1795391372510, 1795394972510, NULL, 1795391372542, NULL, NULL, 'YxvW0uJ9xTu1z3bZyEK_nw', 'VrUkRkV-LZksWl5Q2qi5oA', NULL, 0, 'r***@example.com', NULL, 'R00004', NULL, NULL, '[{"at":1795391372522,"tookMs":20,"provider":"smtp","outcome":"sent","code":"","reply":"250 2.0.0 Ok: queued as …"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "twin", "recipient", "code_group", "outdated", "masked", "answer", "provider_id", "receipt", "charges", "timeline", "sealed") VALUES (5, '01a205aa3d0749d29e5814d55ec13ac0', 'email', 'member-alarm', 'alarm', 1, 'sent', NULL, 1, 0, 1795391372551, 1795394972551, NULL, 1795391372719, NULL, NULL, '6vLRNZnYGN9Kqlp2Rx0wdw', 'VrUkRkV-LZksWl5Q2qi5oA', NULL, 0, 'r***@example.com', NULL, 'R00005', NULL, NULL, '[{"at":1795391372716,"tookMs":3,"provider":"smtp","outcome":"sent","code":"","reply":"250 2.0.0 Ok: queued as …"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "twin", "recipient", "code_group", "outdated", "masked", "answer", "provider_id", "receipt", "charges", "timeline", "sealed") VALUES (6, '01a205aa3db34a6385c6079ad494960b', 'sms', 'registration-code', 'code', 0, 'sent', NULL, 1, 0, 1795391372723, 1795394972723, NULL, 1795391373214, NULL, NULL, 'sxwHEJZAs1LRisUL4PX-IA', 'LTFzeG1Kl_yhTEPTOQUcNg', 'D_EbwjQNcsPh9kiSopEnNQ', 0, '+86*******0003', NULL, 'SMce02e911a57e20fab0c7a6d02c3f1ab4', NULL, NULL, '[{"at":1795391372727,"tookMs":487,"provider":"twilio","outcome":"sent","code":"","reply":"accepted, queued"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "twin", "recipient", "code_group", "outdated", "masked", "answer", "provider_id", "receipt", "charges", "timeline", "sealed") VALUES (7, '01a205aa3fa14d58bc1cc3845ce7740a', 'email', 'activation-code', 'code', 0, 'refused', NULL, 1, 0, 1795391373217, 1795394973217, NULL, 1795391373221, NULL, NULL, 'XPxm5NnftxxHKJ6ULkFZeg', 'evNo2PtLPdHu0lNWYntLxQ', 'FPLoygyuQyHppcRXo1Uv4w', 0, 'r***@example.com', 'recipient', NULL, NULL, NULL, '[{"at":1795391373219,"tookMs":2,"provider":"smtp","outcome":"rejected","code":"550 5.1.1","reply":"550 5.1.1 no such user"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "twin", "recipient", "code_group", "outdated", "masked", "answer", "provider_id", "receipt", "charges", "timeline", "sealed") VALUES (8, '01a205aa3fac44fbacb5d7a50909f2b5', 'email', 'activation-code', 'code', 0, 'superseded', NULL, 1, 0, 1795391373228, 1795394973228, NULL, 1795391373244, NULL, NULL, 'uC9hB_J7h7kzwuI9l2qgHQ', '0mNO8LRcFAg_Fwii9IbOWg', 'BIwr9i4XqjmY0I1YhmSr8g', 0, 'r***@example.com', NULL, NULL, NULL, NULL, '[{"at":1795391373230,"tookMs":1,"provider":"smtp","outcome":"retry","code":"450 4.2.0","reply":"450 4.2.0 greylisted"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "twin", "recipient", "code_group", "outdated", "masked", "answer", "provider_id", "receipt", "charges", "timeline", "sealed") VALUES (9, '01a205aa3fb147c5a9697cb37403b9fa', 'sms', 'registration-code', 'code', 0, 'superseded', NULL, 1, 0, 1795391373233, 1795394973233, NULL, 1795391373255, NULL, NULL, '-tgvjOMhYZ_krthAHKZLHQ', 'y6Hcfq21EPy2CXohVY3lng', 'oHJ2t3KWoq4mtZDjrTLpKw', 0, '+86*******0060', NULL, NULL, NULL, NULL, '[{"at":1795391373237,"tookMs":3,"provider":"twilio","outcome":"retry","code":"20503","reply":"Service unavailable"}]', NULL);
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "twin", "recipient", "code_group", "outdated", "masked", "answer", "provider_id", "receipt", "charges", "timeline", "sealed") VALUES (10, '01a205aa3fbb4a499c353c3f3a691891', 'email', 'activation-code', 'code', 0, 'queued', 0, 1, 0, 1795391373243, 1795394973243, 1795391373540, NULL, NULL, NULL, 'VFBhfy1f9OxRkCaosZ9L0A', '0mNO8LRcFAg_Fwii9IbOWg', 'BIwr9i4XqjmY0I1YhmSr8g', 0, 'r***@example.com', NULL, NULL, NULL, '[["X9rYposElijsLl_gyflfXA recipient-day 86400000",1795305600000]]', '[{"at":1795391373246,"tookMs":5,"provider":"smtp","outcome":"retry","code":"450 4.2.0","reply":"450 4.2.0 greylisted"}]', X'013A1E360224585916207115A95C48ACBA0F39CA3080EC82CB8C9BCAB95DD7F6D90BF989435CE5331329EBCA698CBCCC53885940442C076DC5189AB445FEF745A57836A6D3AFC3C2DB0D3AFA5C9D5BBFABEF721D802B61765A87DB545AA6CCD1E4838439F2585F4AD66F7FA95375FAE30CD4F570FB5EC5C32FE83B8126B7C1F7C032EF77A8C317F584FE62');
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "twin", "recipient", "code_group", "outdated", "masked", "answer", "provider_id", "receipt", "charges", "timeline", "sealed") VALUES (11, '01a205aa3fc6441786cd87e87c4b50ce', 'sms', 'registration-code', 'code', 0, 'queued', 0, 2, 0, 1795391373254, 1795394973254, 1795391373750, NULL, NULL, NULL, '6oSFu9ue3UWZ1HIxBwbEpg', 'y6Hcfq21EPy2CXohVY3lng', 'oHJ2t3KWoq4mtZDjrTLpKw', 0, '+86*******0060', NULL, NULL, NULL, '[["jkhKuCuds4mB0Jn4TsxXZg recipient-day 86400000",1795305600000],["WZyQ_YBgU-tUmPnYPXSfwA sms-prefix-10m 600000",1795390800000]]', '[{"at":1795391373256,"tookMs":1,"provider":"twilio","outcome":"retry","code":"20503","reply":"Service unavailable"},{"at":1795391373320,"tookMs":1,"provider":"twilio","outcome":"retry","code":"20503","reply":"Service unavailable"}]', X'01C1CE7B4716536D3178D3A1448452FB48D38130574CF3DED1B414D0FC0F4C132A22C0CFDDDEB2E0D17F461959786EFE380BD6604C86AE7C1EB887D2D81E6503FA21A52F577093BE392ADB71D0031226DFE2B194EF0E7C18CCF1B4CAC5D1A7A3380C14F8C3F558508D48712963B11E2D3101FC4C786F2F');
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "twin", "recipient", "code_group", "outdated", "masked", "answer", "provider_id", "receipt", "charges", "timeline", "sealed") VALUES (12, '01a205aa3fcf40bb9fc23429ac4dfa15', 'email', 'registration-activation', 'link', 1, 'queued', 0, 1, 0, 1795391373263, 1795394973263, 1795391375235, NULL, NULL, NULL, 'rSn3Tw2rREaJYLgudy6Tng', 'vGAjKWjbp8oxp14MwoafZA', NULL, 0, 'r***@example.com', NULL, NULL, NULL, '[["OQxMIb9JGSOZ7rqhXe_6Vg recipient-day 86400000",1795305600000]]', '[{"at":1795391373295,"tookMs":2,"provider":"smtp","outcome":"retry","code":"450 4.2.0","reply":"450 4.2.0 greylisted"}]', X'0108354F6F4EB5A50117FCA7DD1D9F076E4A8504D29B10967AE0D1B3A4DB98D57CDDB172B2F6A64E852F23AFB8E34E52A55B3D5A341B38BEA4DE32BE0E8E5538F38EC5996B17F560A547AE65BEA0144C7D57D55D5EA37220A8357DA4DC8DBE874CA4FBAF33C422C3ABCD7F886F152F3C5FE9226F1D3AA2E893642A499D178E2D3947E7AA0F7D028E190B61F237FBD913FC4EAAFCC92F4AF1DA3B0A6D422487D230B2280471F7A95C49A13E3350739FEBA5DC07D04E9F2E0176');
INSERT INTO messages ("seq", "id", "channel", "kind", "purpose", "rank", "state", "ready", "attempts", "ambiguous", "arrived_at", "expires_at", "due_at", "final_at", "lease_until", "lease_token", "twin", "recipient", "code_group", "outdated", "masked", "answer", "provider_id", "receipt", "charges", "timeline", "sealed") VALUES (13, '01a205aa3ff54c9aaace02fbe3f69de0', 'email', 'member-alarm', 'alarm', 1, 'queued', 0, 1, 0, 1795391373301, 1795394973301, 1795391376954, NULL, NULL, NULL, '2ZOA_iTPysBzBQMPlIPz8g', 'Sf3mspM7PX07_65sO9ASYg', NULL, 0, 'r***@example.com', NULL, NULL, NULL, NULL, '[{"at":1795391373314,"tookMs":3,"provider":"smtp","outcome":"retry","code":"450 4.2.0","reply":"450 4.2.0 greylisted"}]', X'013709618F3C12D56812413FE2B9493773D0E59DA934FA8404532D7A87726A2FA669BF019BE1404BB44297FA918500050731A975B209A73FE20F04C3D7DF843FC9062A7981312288F861D23A13ED3DF4253F66066485E96ECF8925E6321A51F3E31B3D311A098C9AB8E065D229F7CC62FC9D54F65767F5768AF5C288F34E8668C557CBAEEB85983D022146DBE5A8D216B662');
INSERT INTO buckets ("name", "since", "used", "before", "gone_at") VALUES ('BQYoNbdTc6kPr8ZxV2JBTQ recipient-day 86400000', 1795305600000, 3, 0, 1795478400000);
INSERT INTO buckets ("name", "since", "used", "before", "gone_at") VALUES ('CHWc-uiZ3eBwzHIxIz8zXg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO buckets ("name", "since", "used", "before", "gone_at") VALUES ('OQxMIb9JGSOZ7rqhXe_6Vg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO buckets ("name", "since", "used", "before", "gone_at") VALUES ('WZyQ_YBgU-tUmPnYPXSfwA sms-prefix-10m 600000', 1795390800000, 2, 0, 1795392000000);
INSERT INTO buckets ("name", "since", "used", "before", "gone_at") VALUES ('X9rYposElijsLl_gyflfXA recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO buckets ("name", "since", "used", "before", "gone_at") VALUES ('jkhKuCuds4mB0Jn4TsxXZg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO buckets ("name", "since", "used", "before", "gone_at") VALUES ('rMBX7s-_3PcoCSS1urxFRg recipient-day 86400000', 1795305600000, 1, 0, 1795478400000);
INSERT INTO buckets ("name", "since", "used", "before", "gone_at") VALUES ('we_0ppbNAXkHhY9EKkwRdw recipient-day 86400000', 1795305600000, 0, 0, 1795478400000);
INSERT INTO tallies ("minute", "channel", "kind", "state", "count") VALUES (29923189, 'email', 'activation-code', 'queued', 1);
INSERT INTO tallies ("minute", "channel", "kind", "state", "count") VALUES (29923189, 'email', 'activation-code', 'refused', 1);
INSERT INTO tallies ("minute", "channel", "kind", "state", "count") VALUES (29923189, 'email', 'activation-code', 'sending', 0);
INSERT INTO tallies ("minute", "channel", "kind", "state", "count") VALUES (29923189, 'email', 'activation-code', 'sent', 3);
INSERT INTO tallies ("minute", "channel", "kind", "state", "count") VALUES (29923189, 'email', 'activation-code', 'superseded', 1);
INSERT INTO tallies ("minute", "channel", "kind", "state", "count") VALUES (29923189, 'email', 'member-alarm', 'queued', 1);
INSERT INTO tallies ("minute", "channel", "kind", "state", "count") VALUES (29923189, 'email', 'member-alarm', 'sending', 0);
INSERT INTO tallies ("minute", "channel", "kind", "state", "count") VALUES (29923189, 'email', 'member-alarm', 'sent', 1);
INSERT INTO tallies ("minute", "channel", "kind", "state", "count") VALUES (29923189, 'email', 'registration-activation', 'queued', 1);
INSERT INTO tallies ("minute", "channel", "kind", "state", "count") VALUES (29923189, 'email', 'registration-activation', 'sending', 0);
INSERT INTO tallies ("minute", "channel", "kind", "state", "count") VALUES (29923189, 'email', 'registration-activation', 'sent', 1);
INSERT INTO tallies ("minute", "channel", "kind", "state", "count") VALUES (29923189, 'sms', 'registration-code', 'queued', 1);
INSERT INTO tallies ("minute", "channel", "kind", "state", "count") VALUES (29923189, 'sms', 'registration-code', 'sending', 0);
INSERT INTO tallies ("minute", "channel", "kind", "state", "count") VALUES (29923189, 'sms', 'registration-code', 'sent', 1);
INSERT INTO tallies ("minute", "channel", "kind", "state", "count") VALUES (29923189, 'sms', 'registration-code', 'superseded', 1);
