import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { createSqliteOutbox, type SqliteOutboxOptions } from '../../src/outbox/sqlite/outbox.ts'
import { enough } from '../config/settings.ts'
import { restoreTrust } from '../rigs/authorities.ts'
import { recordCalls } from '../rigs/recorder.ts'
import { serveHere } from '../rigs/serve-here.ts'
import { startSinks } from '../rigs/service.ts'
import { SECRET } from '../webhooks/receiver.ts'
import { messageOf } from '../words/rendering.ts'

const RECORD = fileURLToPath(new URL('../fixtures/wired.txt', import.meta.url))
/** What is called without end, or for each message, or with all settings. */
const UNTOLD =
  /^(?:monotonic|repeat|find\w+|sample\w+|loadConfig|describeFault|createBackoff|modulesOf|pause)$/

/** What is logged by the service itself. */
const BY_ITSELF = /"event":"(?:setting|certificate|store-loss|started|ending|ended)"/

/** Nothing is on that need not be. */
const BARE = {
  ...enough,
  STORE_SECRET: 'a-secret-of-the-tests-long-enough',
  HOST: '127.0.0.1',
  PORT: '0',
  ADMIN_PORT: '0',
  TLS: 'on',
}

/** Everything is on, and nobody is at the other ends. */
const EVERYTHING = {
  ...BARE,
  STORE_SECRET_PREVIOUS: 'another-secret-of-the-tests',
  MAIL_FROM: '"A, \\B \\C" <no-reply@mail.example.com>',
  PUBLIC_URL: 'https://[2001:db8::1]',
  ALLOWED_SOURCES: '203.0.113.0/24',
  TRUSTED_PROXIES: '198.51.100.1',
  SMTP_FALLBACK_URL: 'smtp://second:secret2@mail2.example.com',
  MAIL_REPLY_TO: 'help@example.com',
  BRAND_URL: 'https://www.example.com',
  LOCALE_BY_COUNTRY: '{"CN": "zh-CN"}',
  SMS_COUNTRIES: 'CN,US',
  SMS_GATEWAYS:
    'crew: { channel: chat, request: { url: "https://robot.example.com/", json: \'{"text": "{{ text }}"}\' } }',
  DDQ_URL: 'http://127.0.0.1:9?auth=/a&subscribe=/s&any-product=x',
  DDQ_AUTH_URL: 'http://127.0.0.1:9/',
  DDQ_APP_ID: 'app-id',
  DDQ_APP_SECRET: 'app-secret',
  ALERTS: 'alert * 0 - ann@example.com',
  EVENTS_SECRET: SECRET,
  EVENTS_URL: 'https://events.example.com/hook',
  BOUNCE_IMAP_URL: 'imap://ann:secret@127.0.0.1:9?ignoreTLS=true',
  ONLY_TO: '@example.com, +8613800138000',
  PROBE_TO: 'ann@example.com, +8613800138000',
  ANSWER_WITHIN_MS: '1500',
  RETENTION_DAYS: '13',
  ERROR_STATUS: '200',
}

/** The other way of each: replicas, a proxy in front and one behind, secrets that are being replaced, and a login without a password. */
const OTHERWISE = {
  DATABASE_URL: 'postgres://courier@127.0.0.1:9/courier?sslmode=disable',
  TLS: 'off',
  PROBE_TO: '',
  PUBLIC_URL: '',
  SMS_TOKEN_PREVIOUS: 'oLdErSqRtYpLmNhJgFdS',
  EMAIL_TOKEN_PREVIOUS: 'pReViOuSqRtYpLmNhJgF',
  CALLBACK_KEYS: 'sms:jdKw83nZqLs0vTbXm2RfYe sms-previous:qLs0vTbXm2RfYejdKw83nZ',
  HTTPS_PROXY: 'http://127.0.0.1:9',
  TRUSTED_PROXIES: '',
  SMTP_URL: 'smtp://courier@127.0.0.1:9?ignoreTLS=true',
  SMTP_FALLBACK_URL: '',
  SMTP_OAUTH2_TOKEN_URL: 'http://127.0.0.1:9/token',
  SMTP_OAUTH2_CLIENT_ID: 'client',
  SMTP_OAUTH2_CLIENT_SECRET: 'secret-of-the-client',
  BOUNCE_IMAP_URL: 'imap://ann@127.0.0.1:9?ignoreTLS=true',
  BOUNCE_REFUSE: 'off',
  POST_SIGNATURE: 'required',
  SIGNATURE_MAX_AGE_SECONDS: '77',
  SMS_ROUTES: 'CN=tencent; *=own',
  SMS_GATEWAYS:
    '{own: {request: {url: "https://own.example.com/", json: "{\\"to\\": \\"{{ to }}\\"}"}}, crew: {channel: chat, request: {url: "https://robot.example.com/", json: "{\\"text\\": \\"{{ text }}{{ secrets.x }}\\"}"}}}',
  SMS_GATEWAY_SECRETS: '{"x": "of the group"}',
  TENCENT_SECRET_ID: 'tencent-id',
  TENCENT_SECRET_KEY: 'tencent-key',
  TENCENT_SMS_APP_ID: '1400000000',
  TENCENT_SMS_SIGN_NAME: 'Example',
  LOCALE: 'es',
  WEBOTP_DOMAIN: 'app.example.com',
  PLUGIN_SENDERS: '{"p1": {"signature": "Plugin One"}}',
  SENDER_BY_COUNTRY: '{"BR": "Example"}',
  LINKS_HTTPS_ONLY: 'on',
  LINK_HOSTS: 'www.example.com',
  PLATFORM_WORDS: 'email',
  QUOTAS: 'recipient-10m=31',
  SMS_MAX_SEGMENTS: '1',
  MAX_RECIPIENTS: '2',
  MAX_BACKLOG: '4711',
  MAIL_FROM: 'no-reply@example.com',
  BRAND_NAME: 'Example',
  ANSWER_WITHIN_MS: '1900',
}

// `WRITE=1 node test/service/wired.test.ts` writes the record anew; its diff is then read as the change of the wiring that it is.
t.test('who is given what, and is started and ended in which order, with everything on', async t => {
  restoreTrust(t)
  const { settings, directory } = await startSinks(t)
  const { TLS_CERT_FILE, TLS_KEY_FILE } = settings
  const limits = [4096]
  const recorder = recordCalls(t, {
    folder: 'service',
    untold: UNTOLD,
    instead: {
      openFileLimit: () => limits.pop(),
      async createPostgresOutbox(given: Omit<SqliteOutboxOptions, 'path'>) {
        const path = `${directory}/shared.db`
        const outbox = await createSqliteOutbox({ ...given, path, startThread: serveHere })
        const memos = { ...outbox.memos, takeLeaderLease: async (...asked: unknown[]) => asked }
        const loss = () => ({ messages: 7, from: null, until: 1000, noticedAt: 2000 })
        return { ...outbox, memos, loss, sharedLeases: { newLeaseToken: () => 'token', isHeld: () => true } }
      },
    },
  })
  const { lines, label, describe, given, poke } = recorder
  const { startService } = (await recorder.load(
    'service.ts',
  )) as typeof import('../../src/service/service.ts')
  const options = {
    wall: () => Date.UTC(2026, 10, 20),
    clock: { now: () => 1000 },
    limits: {},
    repeatPausesMs: [7],
    startStoreThread: serveHere,
    log: {
      write(line: string) {
        const said = line.trim().replace(/,"(?:time|pid|version)":[^,]*/g, '')
        // The start warns of the machine, too.
        if (BY_ITSELF.test(said) && !/the store is on |may be open at once/.test(said)) lines.push(said)
        else recorder.say(said)
      },
    },
  }
  for (const [name, value] of Object.entries({ ...options, random: Math.random })) label(value, name)
  const words = t.testdir()
  const SMS_TEMPLATES_FILE = `${directory}/sms.yaml`
  writeFileSync(SMS_TEMPLATES_FILE, 'tencent: { login-code: { mainland: { template: 1, params: [code] } } }')
  const pair = { TLS_CERT_FILE, TLS_KEY_FILE, DATABASE_URL: `file:${directory}/messages.db` }
  const files = { ...pair, TEMPLATES_DIR: words }
  const running = await startService({ ...EVERYTHING, ...files }, options)
  await pokeAll()
  const isDraining = given('openAdmin')['view']?.['isDraining']
  // It says so while it still listens.
  await Promise.all([running.close(), poke('view.isDraining', isDraining), running.close()])
  const usual = new Set(lines)
  const first = lines.splice(0)
  const other = await startService(
    { ...EVERYTHING, ...files, ...OTHERWISE, TLS_CA_FILE: TLS_CERT_FILE, SMS_TEMPLATES_FILE },
    options,
  )
  for (const name of ['createWebhooks', 'createAlerts', 'createBounceMailbox'])
    await poke(`${name}: takeLease`, given(name)['takeLease'], 30_000)
  const { channels } = given('createAuthentication')
  const { postSignature, signatureMaxAgeSeconds } = given('createAuthentication')
  const { callbackUrls } = await import('../../src/service/callback-urls.ts')
  const { urls, reportUrls } = given('openAdmin')
  const toPaste = callbackUrls(other.config, 'https://b.example')
  await poke('URLs', () => JSON.stringify({ toPaste, urls, reportUrls }))
  await poke('authentication', () => JSON.stringify({ channels, postSignature, signatureMaxAgeSeconds }))
  await other.close()
  const { openOutbox } = (await recorder.load(
    'factories.ts',
  )) as typeof import('../../src/service/factories.ts')
  for (const ANSWER_WITHIN_MS of [900, 2100]) {
    const config = { ...other.config, ANSWER_WITHIN_MS }
    const keys = given('openOutbox', 2) as never
    await (await openOutbox(config, options.clock, keys, other.log, { formerly: 'before' })).close()
  }
  const second = lines.splice(0).filter(line => !usual.has(line))
  await (await startService({ ...BARE, ...pair }, options)).close()
  const third = lines.filter(line => !usual.has(line) && !second.includes(line))
  const text = [...first, '', 'otherwise:', ...second, '', 'with nothing on:', ...third]
    .join('\n')
    .replaceAll(directory, 'DIR')
    .replaceAll(words, 'WORDS')
    .replace(/-----BEGIN ([A-Z ]+)[^"]*/g, '$1')
    .replace(/(?<=forMs: )\d*\.\d+|(?<=127\.0\.0\.1:)\d{4,}/g, 'N')
    .replace(/"[0-9a-f]{32}"/g, 'LEADER')
    .replace(/"[0-9a-f]{16}"/g, 'OWNER')
  if (process.env['WRITE']) writeFileSync(RECORD, `${text}\n`)
  t.equal(`${text}\n`, readFileSync(RECORD, 'utf8'))

  /** Calls what the parts were given without a name. */
  async function pokeAll(): Promise<void> {
    const { view, testSend } = given('openAdmin')
    const { onNotHttp, onBadUrl } = given('createPublicListener')
    const { log, onCommit } = given('createSqliteOutbox')
    const { parseRecipient, canonicalLocale } = given('parseAlertTable', 1)
    const reply: unknown = new Proxy({}, { get: () => () => reply })
    label(reply, 'reply', 0)
    const heard = Object.values(given('createEmitter')).slice(-2)
    const hash = given('createBounceReader', 1)
    const fault = { is: 'begun', fault: { domain: 'example.com' } }
    const content = { params: { device: '1144502133' } }
    const alarms = (['sms', 'email'] as const).map(channel => messageOf(channel, 'device-offline', content))
    alarms.push(messageOf('sms', 'an-alarm-without-words'))
    for (const alarm of alarms) label(alarm, `${alarm.kind} by ${alarm.channel}`, 0)
    for (const [name, call, ...args] of [
      ...Object.entries(view ?? {}).filter(([, call]) => describe(call) === 'ƒ'),
      ['testSend', testSend, 'email', { to: 'ann@example.com' }],
      ['onNotHttp', onNotHttp],
      ['onBadUrl', onBadUrl, reply],
      ['callbackRoutes: isDraining', given('callbackRoutes', 1)['isDraining']],
      ['openSmsTemplates: onRead', given('openSmsTemplates', 2), 'sms'],
      ...heard.flatMap(each => Object.entries(each).map(([type, hear]) => [type, hear, { type }] as const)),
      ['createCarrierReports: onChange', given('createCarrierReports')['onChange'], { country: 'CN' }],
      ['onFault', given('createReportedFaults')['onFault'], 'email', 'smtp', fault],
      ['store: log', log, { doing: 'sweep', message: 'no' }],
      ['onCommit', onCommit, { ms: 5, calls: 2 }],
      ['onPost', given('createRobots')['onPost'], { robot: 'crew', outcome: { is: 'sent', id: 'x' } }],
      ...alarms.map(alarm => ['textOf', given('createRobots')['textOf'], alarm] as const),
      ['createLeaseTokens: owner', given('createLeaseTokens')],
      ['parseRecipient', parseRecipient, 'email', 'ann@example.com'],
      ['parseRecipient', parseRecipient, 'email', 'x'],
      ['parseRecipient', parseRecipient, 'sms', 'x'],
      ['parseRecipient', parseRecipient, 'sms', '+4915112345678'],
      ['canonicalLocale', canonicalLocale, 'zh-cn'],
      ['canonicalLocale', canonicalLocale, 'xx'],
      ['take', given('createBounceMailbox')['take'], Buffer.from('')],
      ['mailboxHash', hash, 'Ann@Example.com'],
      ['mailboxHash', hash, 'nobody'],
      ['recipientHash', given('createReceiver')['keys']?.['recipientHash'], 'sms', 'Ann@x'],
      ['ownUrl', given('createProbePost', 1)['ownUrl']],
    ] as const)
      await poke(name, call, ...args)
  }
})
