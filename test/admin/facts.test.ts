import { readFileSync } from 'node:fs'
import { pino } from 'pino'
import t from 'tap'
import { consoleRoutes } from '../../src/admin/console/routes.ts'
import { createEventLog } from '../../src/admin/event-log.ts'
import { FACT_KINDS, type FactKind, firstLines } from '../../src/admin/facts.ts'
import { createAdminListener } from '../../src/admin/listener.ts'
import { createMetrics } from '../../src/admin/metrics/metrics.ts'
import { createReadiness } from '../../src/admin/readiness.ts'
import type { ProviderStatus } from '../../src/admin/service-health.ts'
import type { ServiceView } from '../../src/admin/service-view.ts'
import { statusRoutes } from '../../src/admin/status/routes.ts'
import { askForFacts } from '../../src/commands/check.ts'
import { find } from '../../src/commands/find.ts'
import type { PartialFault } from '../../src/delivery/circuits.ts'
import type { ChannelStatus } from '../../src/delivery/port.ts'
import { createEmitter } from '../../src/events/events.ts'
import { StoreUnavailable, type Summary } from '../../src/outbox/outbox.ts'
import { viewOf } from '../rigs/view.ts'
import { everyEvent } from './every-event.ts'

const NOW = Date.parse('2026-11-21T02:04:00Z')
const MINUTE = 60_000
const DAY = 86_400_000
/** What others say, which may be about a person. */
const SAID = 'no <ann@example.com>'

const lane: ChannelStatus = {
  channel: 'sms',
  provider: 'twilio',
  inFlight: 0,
  waiting: 0,
  awaitingReply: 0,
  limit: 1,
  limitReason: 'start',
  limitWhy: '',
  breaker: 'closed',
  breakerUntil: null,
  isSecond: false,
  partialFaults: [],
}
const mailLane: ChannelStatus = { ...lane, channel: 'email', provider: 'smtp' }
const down: ProviderStatus = {
  provider: 'twilio',
  channel: 'sms',
  up: false,
  since: NOW - MINUTE,
  lastSentAt: null,
  lastError: { at: NOW, code: '20003', reply: SAID, whose: 'later' },
}
const template: PartialFault = {
  scope: 'template',
  name: 'SMS_1',
  kind: 'login-code',
  since: NOW,
  until: null,
  code: '7',
  reply: SAID,
}
const quiet = await viewOf().queries.readSummary(0, 1)
/** A message that waits, and what it uses. */
const waiting = {
  id: 'a'.repeat(32),
  channel: 'sms',
  kind: 'login-code',
  purpose: 'code',
  maskedRecipient: '+86*******8000',
  state: 'queued',
  answer: null,
  attempts: 1,
  ambiguous: 0,
  arrivedAt: NOW,
  expiresAt: NOW,
  dueAt: null,
  finalAt: null,
  providerId: null,
  receipt: null,
  timeline: [],
}

type Given = Partial<Omit<ServiceView, 'health'>> & { readonly health?: Partial<ServiceView['health']> }

/** A service in which this is otherwise; `null`: its store does not answer. */
function serviceOf({ health, ...given }: Given, summary: Partial<Summary> | null = {}): ServiceView {
  const well = viewOf()
  return viewOf({
    now: () => NOW,
    wall: () => NOW,
    channels: ['email', 'sms'],
    channelStatus: () => [mailLane, lane],
    deviceAlerts: () => devices,
    webhooks: () => ({ ...events, waiting: 0, oldestAt: null, failing: null }),
    ...serving(15 * DAY),
    health: { ...well.health, providers: () => [{ ...down, up: true, lastError: null }], ...health },
    queries: {
      ...well.queries,
      readSummary: async () => {
        if (summary === null) throw new StoreUnavailable('no answer')
        return { ...quiet, ...summary }
      },
      listMessages: async ({ recipientHash }) => (recipientHash === 'hash of ann' ? [waiting as never] : []),
    },
    ...given,
  })
}

const ofSms = (more: object): Given => ({
  health: {
    ofChannel: channel => ({ ...viewOf().health.ofChannel(channel), ...(channel === 'sms' && more) }),
  },
})
const carrier = (more: Partial<ChannelStatus>): Given => ({
  channelStatus: () => [mailLane, { ...lane, ...more }],
})
const serving = (left: number, more: Given = {}, flaws: readonly string[] = []): Given => ({
  certificate: () => ({ expiresAt: NOW + left, flaws, chain: 'complete', names: [] }),
  ...more,
})
const renewalRefused = () => ({ since: NOW - MINUTE, reason: SAID })
const events = {
  leads: true,
  isGone: false,
  waiting: 3,
  oldestAt: NOW - MINUTE,
  failing: { since: NOW - MINUTE, reason: 'http-500' },
}
const devices = {
  leads: true,
  subscribed: true,
  forMs: MINUTE,
  lastEnd: { is: 'unreachable', why: 'ECONNREFUSED' },
  refused: [],
  received: 0,
  malformed: 0,
} as const
const robot = { robot: 'dingtalk', since: NOW - MINUTE, lastAt: NOW, code: '310000', reply: SAID }
const mailbox = (ms: number, leads = true): Given => ({
  bounceMailbox: () => ({ leads, failing: { since: NOW - ms, reason: SAID } }),
})
const sent = (count: number, channel: 'email' | 'sms' = 'email') =>
  [{ channel, kind: 'file', state: 'sent', count }] as const

/** A kind of fact: a service with it, and what each surface says of it. What is not named stays silent. */
interface Row {
  readonly given: Given
  readonly summary?: Partial<Summary> | null
  /** The line of the console, of the status API, and of `check`. */
  readonly line?: string
  readonly isCheckedOtherwise?: true
  /** What `/readyz` says, and whether it has the same line. */
  readonly readyz?: object
  readonly isPartial?: true
  /** The samples that are otherwise, without `callback_courier_`. */
  readonly samples?: readonly string[]
  /** A counter that counts it, and the log's line of it. */
  readonly counter?: string
  readonly logged?: string
  readonly find?: string
}

const TABLE: Readonly<Record<string, Row>> = {
  ending: {
    given: { isDraining: () => true },
    line: 'warn ending: This process is ending: it finishes what is in flight and takes nothing new soon.',
    readyz: { reason: 'ending' },
    find: 'The service accepts no callbacks now: they are answered 503',
  },
  'store-content': {
    given: { health: { unreadable: () => ({ count: 2, lastAt: NOW - DAY }) } },
    line: 'fail store content: Messages that waited could not be read: 2 since the start, the last at 2026-11-20 02:04:00 UTC. What is stored of them was damaged or exchanged, and they were not sent. Check the disk, and who can write the store; Messages, state “Refused”, shows which. This line stays for a day.',
    counter: 'unreadable_total',
    logged: 'error unreadable',
  },
  'store-silent': {
    given: {},
    summary: null,
    line: 'fail store: The store does not answer. Callbacks are answered 503 until it does: look at its disk (space, permissions) or at the database, then at the log.',
    isCheckedOtherwise: true,
    samples: ['store_up 0'],
  },
  'store-failed': {
    given: { health: { storeFailure: () => ({ at: NOW - 59_999, doing: 'accept', message: 'no room' }) } },
    line: 'fail store: The store could not accept at 2026-11-21 02:03:00 UTC: no room. Callbacks are answered 503 meanwhile.',
    isCheckedOtherwise: true,
    counter: 'store_failures_total',
    logged: 'error store',
  },
  'store-loss': {
    given: {
      storeLoss: () => ({ messages: 3, from: NOW - MINUTE, until: NOW, noticedAt: NOW }),
    },
    line: 'fail store loss: 3 messages that were stored between 2026-11-21 02:03:00 UTC and 2026-11-21 02:04:00 UTC are gone. The store’s WAL was damaged or deleted, or an older file was put in its place; the start at 2026-11-21 02:04:00 UTC found it out. docs/operations.md says what to do (CallbackCourierStoreLoss). This line stays for a day.',
    readyz: { degraded: [], lost: { messages: 3 } },
    samples: ['store_lost_messages 3'],
    logged: 'error store-loss',
  },
  'provider-down': {
    given: { health: { providers: () => [down] } },
    line: 'fail twilio: twilio has failed for 1 min 0 s: 20003 no <ann@example.com>. Messages wait and are tried until they expire.',
    readyz: { degraded: ['sms'] },
    samples: ['provider_up{provider="twilio"} 0'],
    counter: 'attempts_total',
    logged: 'warn attempt',
  },
  'provider-rests': {
    given: carrier({ breaker: 'open', breakerUntil: Date.parse('2099-01-01') }),
    readyz: { degraded: ['sms'] },
    samples: ['breaker_open{provider="twilio"} 1'],
    logged: 'error breaker',
    find: 'twilio keeps failing and is left alone for',
  },
  'part-refused': {
    given: carrier({ partialFaults: [template] }),
    line: 'fail twilio template SMS_1: twilio refuses the template of login-code since 2026-11-21 02:04:00 UTC: 7 no <ann@example.com>.',
    isPartial: true,
    samples: [
      'partial_fault{channel="sms",provider="twilio",by="answer",scope="template",name="login-code"} 1',
    ],
    logged: 'error partial-fault',
    find: 'twilio refuses the template of login-code since',
  },
  'not-delivered': {
    given: carrier({ partialFaults: [{ ...template, scope: 'sender', name: '30034', recipients: 5 }] }),
    line: 'fail twilio sender 30034: twilio took messages that did not arrive, since 2026-11-21 02:04:00 UTC, of 5 recipients so far: 7 no <ann@example.com>. This is ours to mend: register the sender (signature, number, campaign) in the provider’s console, and look there what its review says.',
    readyz: { degraded: ['sms'] },
    isPartial: true,
    samples: ['partial_fault{channel="sms",provider="twilio",by="report",scope="sender",name="30034"} 5'],
    logged: 'error partial-fault',
  },
  'locked-out': {
    given: ofSms({ lockedOut: { count: 4, since: NOW, why: 'stale' } }),
    line: 'fail sms callbacks: Every SMS callback with the right key is refused since 2026-11-21 02:04:00 UTC: 4 so far. Their time is too far from ours: look at the clock of this machine.',
    readyz: { degraded: ['sms'] },
    samples: ['locked_out_callbacks{channel="sms"} 4'],
    counter: 'gate_refusals_total',
    logged: 'warn callback',
  },
  'messages-wait': {
    given: {},
    summary: { backlog: { email: 0, sms: 7 }, oldest: { email: null, sms: NOW - MINUTE } },
    line: 'warn sms waits: 7 SMS wait, the oldest for 1 min 0 s.',
    samples: ['backlog{channel="sms"} 7', 'oldest_seconds{channel="sms"} 60'],
  },
  'quota-used-up': {
    given: ofSms({ heldBack: [{ quota: 'sms-day', count: 2, lastAt: NOW }] }),
    line: 'warn sms sms-day: The quota sms-day holds SMS back: 2 since the start, the last at 2026-11-21 02:04:00 UTC. They were not sent, and callbacks for them are answered 429. If they are wanted, raise it in QUOTAS.',
    counter: 'over_quota_total',
    logged: 'warn over-quota',
    find: 'Held back by the quota sms-day since the start: 2',
  },
  'url-invalid': {
    given: ofSms({ validation: { at: NOW, ok: false, reason: 'key' } }),
    line: 'warn sms URL: The last validation of the SMS URL failed at 2026-11-21 02:04:00 UTC: key. Paste URL and Token again (URLs), and validate once more.',
    counter: 'callbacks_total',
    logged: 'warn callback',
    find: 'The last validation of the URL failed at',
  },
  'certificate-expired': {
    given: serving(0),
    line: 'fail certificate: The certificate expired on 2026-11-21 02:04:00 UTC: the platform refuses it. Renew it; it is picked up without a restart.',
    isCheckedOtherwise: true,
    readyz: { degraded: ['certificate'] },
    samples: ['certificate_remaining_seconds 0'],
  },
  'certificate-ends': {
    given: serving(14 * DAY - 1),
    line: 'warn certificate: The certificate expires in 13 days. Renew it; it is picked up without a restart.',
    isCheckedOtherwise: true,
    samples: ['certificate_remaining_seconds 1209600'],
  },
  'renewal-refused': {
    given: serving(15 * DAY, { renewalRefused }),
    line: 'warn renewal: The certificate’s files changed and have been refused for 1 min 0 s, since 2026-11-21 02:03:00 UTC: no <ann@example.com>. The one before is served on, and is valid until 2026-12-06 02:04:00 UTC. Put a certificate and its key into both files: they are taken within half a minute, without a restart.',
    readyz: { degraded: ['certificate'] },
    samples: ['certificate_renewal_refused 1'],
  },
  'certificate-flaw': {
    given: serving(15 * DAY, {}, ['it is for www.example.com']),
    line: 'warn certificate: Certificate: it is for www.example.com',
    isCheckedOtherwise: true,
  },
  'alerts-away': {
    given: { deviceAlerts: () => ({ ...devices, subscribed: false }) },
    line: 'fail device alerts: No device alert has come for 1 min 0 s: unreachable, ECONNREFUSED. It is tried again every 5 s: look at DDQ_URL and the network.',
    samples: ['ddq_subscribed 0'],
    counter: 'ddq_ends_total',
    logged: 'warn ddq',
  },
  'topic-refused': {
    given: { deviceAlerts: () => ({ ...devices, refused: [{ topic: '/alert', why: 'HTTP 404' }] }) },
    line: 'warn device alerts: The platform refuses the topic /alert (HTTP 404): no device alert of it comes. Look at the product in ALERTS, and at what the application may subscribe to.',
    logged: 'warn ddq',
  },
  'receiver-gone': {
    given: { webhooks: () => ({ ...events, isGone: true }) },
    line: 'warn events: Other machines are told nothing more: EVENTS_URL answered 410. Start this service again when it takes events.',
    samples: ['events_waiting 3', 'events_oldest_seconds 60'],
    counter: 'event_posts_total',
    logged: 'error webhooks',
  },
  'receiver-fails': {
    given: { webhooks: () => events },
    line: 'warn events: EVENTS_URL has taken nothing for 1 min 0 s (http-500). Events that wait: 3. Look at the receiver, and at EVENTS_URL and EVENTS_SECRET.',
    samples: ['events_waiting 3', 'events_oldest_seconds 60'],
    counter: 'event_posts_total',
    logged: 'warn webhooks',
  },
  'group-not-told': {
    given: { health: { failingRobots: () => [robot] } },
    line: 'warn dingtalk: The group of dingtalk has been told of no alarm for 1 min 0 s: 310000 no <ann@example.com>. Look at it in SMS_GATEWAYS_FILE. Mails and SMS go their own way.',
    counter: 'robot_posts_total',
    logged: 'error robot',
  },
  'bounces-unread': {
    given: mailbox(5 * MINUTE),
    line: 'warn bounces: The mailbox that mails come back to cannot be read for 5 min 0 s: no <ann@example.com>. Look at BOUNCE_IMAP_URL.',
    readyz: { degraded: ['bounces'] },
    samples: ['bounce_mailbox_failing_seconds 300'],
    logged: 'warn bounce-mailbox',
  },
  'mails-came-back': {
    given: {},
    summary: { counts: sent(20), bounced: 1 },
    line: 'warn mails that came back: Of 20 mails of the last day, 1 came back. Look at their messages for the reasons: mailbox providers refuse all mail of whoever writes to many addresses that do not exist.',
    counter: 'receipts_total',
    logged: 'info receipt',
  },
  words: {
    given: { templateProblems: () => ['zh-CN.yaml, line 7: no such kind'] },
    line: 'warn words: Words: zh-CN.yaml, line 7: no such kind; the last good ones are used.',
    isCheckedOtherwise: true,
  },
  well: { given: {}, line: 'ok all: All is well.', isCheckedOtherwise: true },
}

async function serve(view: ServiceView) {
  const app = createAdminListener(
    createReadiness(view, () => 0),
    { host: '127.0.0.1', tokens: new Map(), names: [], now: () => 0 },
  )
  const options = {
    view,
    hashOf: (typed: string) => `hash of ${typed}`,
    rotating: [],
  } as never
  await app.register(statusRoutes, options)
  await app.register(consoleRoutes, options)
  await app.listen({ host: '127.0.0.1', port: 0 })
  let said = ''
  const io = {
    stdout: { write: (text: string) => (said += text) },
    stderr: { write: (text: string) => (said += text) },
    env: { ADMIN_PORT: String((app.server.address() as { port: number }).port) },
    readFile: (path: string) => readFileSync(path, 'utf8'),
    dotenvPath: '/nowhere/.env',
  }
  return { app, io, said: () => said }
}

/** What each surface of a service says. */
async function surfaces(view: ServiceView) {
  const { app, io, said } = await serve(view)
  const console = (await app.inject('/console')).body
  const [, list = ''] = /<ul class="causes"[^>]*>(.*?)<\/ul>/s.exec(console) ?? []
  const { causes } = (await app.inject('/api/v1/causes')).json() as {
    readonly causes: readonly Record<'kind' | 'level' | 'about' | 'text', string>[]
  }
  const { status: _ready, ...readyz } = (await app.inject('/readyz')).json() as Record<string, unknown>
  const checked = await askForFacts(io, 'en')
  for (const recipient of ['ann', 'bob']) await find([recipient], io)
  await app.close()
  const metrics = createMetrics({ deviceAlerts: true, webhooks: true, reporting: [] })
  return {
    console: [...list.matchAll(/<li[^>]*>(.*?)<\/li>/gs)].map(([, item = '']) =>
      item
        .replaceAll(/<[^>]+>/g, '')
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>'),
    ),
    api: causes.map(({ kind, level, about, text }) => `${kind} ${level} ${about}: ${text}`),
    readyz,
    check: checked.map(({ is, about, what }) => `${is} ${about}: ${String(what)}`),
    find: said().replaceAll(/is tried again .*?, until/g, ''),
    samples: (await metrics.scrape(view))
      .split('\n')
      .flatMap(line => /^callback_courier_(.*)$/.exec(line)?.[1] ?? []),
  }
}

/** What log and counters say when these events happen. */
async function told(type: string | undefined) {
  const log: string[] = []
  const metrics = createMetrics({ deviceAlerts: true, webhooks: true, reporting: [] })
  const logger = pino({ base: null, level: 'info' }, { write: line => log.push(line) })
  const emit = createEmitter([createEventLog(logger, () => 0), ...metrics.sinks])
  for (const event of everyEvent) if (event.type === type) emit(event)
  const levels: Record<number, string> = { 30: 'info', 40: 'warn', 50: 'error' }
  return {
    log: log
      .map(line => JSON.parse(line) as { readonly level: number; readonly event: string })
      .map(({ level, event }) => `${levels[level]} ${event}`),
    counted: (await metrics.scrape(viewOf()))
      .split('\n')
      .flatMap(line => /^callback_courier_(\w+_total)(?:\{.*\})? [1-9]/.exec(line)?.[1] ?? []),
  }
}

t.test('every kind of fact is told on each surface that it is for, and on no other', async t => {
  t.same(Object.keys(TABLE).sort(), Object.keys(FACT_KINDS).sort())
  const rows = await Promise.all(
    Object.entries(TABLE).map(
      async ([kind, row]) => [kind, row, await surfaces(serviceOf(row.given, row.summary))] as const,
    ),
  )
  const well = await surfaces(serviceOf({}))
  for (const [kind, row, said] of rows) {
    const line = row.line ?? 'ok all: All is well.'
    const [, level = '', text = ''] = /^(\w+) .*?: (.*)$/.exec(line) ?? []
    t.same(said.api, [`${row.line === undefined ? 'well' : kind} ${line}`])
    t.same(said.console, [`${{ fail: 'Failing: ', warn: 'Look: ' }[level] ?? ''}${text}`], `${kind}: console`)
    t.same(said.check, row.isCheckedOtherwise || row.line === undefined ? [] : [line], `${kind}: check`)
    const readyz = { degraded: [], ...row.readyz, ...(row.isPartial && { partial: [text] }) }
    t.same(said.readyz, 'reason' in readyz ? row.readyz : readyz, `${kind}: /readyz`)
    t.same(
      said.samples.filter(each => !well.samples.includes(each)),
      row.samples ?? [],
      `${kind}: metrics`,
    )
    if (row.find === undefined) t.equal(said.find, well.find, `${kind}: find`)
    else t.match(said.find, row.find, `${kind}: find`)
    const { log, counted } = await told(FACT_KINDS[kind as FactKind].event)
    t.ok(row.logged === undefined ? log.length === 0 : log.includes(row.logged), `${kind}: ${log.join()}`)
    t.ok(row.counter === undefined || counted.includes(row.counter), `${kind}: ${counted.join()}`)
  }
})

/** The first lines of a service in which this is otherwise. */
function lines(given: Given, summary: Partial<Summary> = {}): readonly string[] {
  return firstLines(serviceOf(given), { ...quiet, ...summary }).map(
    ({ level, about, text }) => `${level} ${about}: ${String(text)}`,
  )
}

t.test(
  'what mends itself within a minute, what is over, and what is another’s to tell is no line',
  async t => {
    const telling = (more: object): Given => ({ webhooks: () => ({ ...events, ...more }) })
    const since = NOW - MINUTE + 1
    const held = (ms: number, quota = 'sms-day') =>
      ofSms({ heldBack: [{ quota, count: 2, lastAt: NOW - ms }] })
    const away = { ...devices, subscribed: false }
    const unsent = { channel: 'email', kind: 'file', state: 'expired', count: 10 } as const
    const silent: readonly (readonly [Given, Partial<Summary>?])[] = [
      [mailbox(MINUTE - 1)],
      [mailbox(MINUTE, false)],
      [telling({ failing: { ...events.failing, since } })],
      [telling({ leads: false })],
      [telling({ isGone: true, leads: false })],
      [{ health: { failingRobots: () => [{ ...robot, since }] } }],
      [{ health: { failingRobots: () => [{ ...robot, lastAt: NOW - DAY - 1 }] } }],
      [{ deviceAlerts: () => ({ ...away, forMs: MINUTE - 1 }) }],
      [{ deviceAlerts: () => ({ ...away, leads: false }) }],
      [{ deviceAlerts: () => null }],
      [{ health: { storeFailure: () => ({ at: NOW - MINUTE, doing: 'accept', message: '' }) } }],
      [{ health: { unreadable: () => ({ count: 2, lastAt: NOW - DAY - 1 }) } }],
      [{}, { backlog: { email: 0, sms: 1 }, oldest: { email: null, sms: since } }],
      [held(15 * MINUTE)],
      [held(0, 'recipient-10m')],
      [held(0, 'recipient-day')],
      [ofSms({ validation: { at: NOW, ok: true, reason: '' } })],
      [serving(14 * DAY)],
      [{ certificate: () => null, renewalRefused }],
      [{}, { counts: sent(19), bounced: 19 }],
      [{}, { counts: sent(21), bounced: 1 }],
      [{}, { counts: sent(1000), bounced: 49 }],
      [{}, { counts: sent(20, 'sms'), bounced: 1 }],
      [{}, { counts: [...sent(10), unsent], bounced: 1 }],
    ]
    for (const [at, [given, summary]] of silent.entries())
      t.same(lines(given, summary), ['ok all: All is well.'], `case ${at}`)
    t.match(lines(mailbox(MINUTE)), [/^warn bounces/])
    t.match(lines(held(15 * MINUTE - 1)), [/^warn sms sms-day/])
    t.match(lines(telling({ isGone: true, failing: { since: NOW, reason: '' } })), [/410/], 'at once')
    t.match(lines({}, { counts: sent(1000), bounced: 50 }), [/^warn mails that came back: Of 1000 mails/])
  },
)

t.test('a line says what is known: whose fault it is, what goes on, and what to look at', async t => {
  const wait = 'Messages wait and are tried until they expire.'
  const downBy = (whose: string, ...channelStatus: readonly ChannelStatus[]) =>
    lines({
      channelStatus: () => channelStatus,
      health: { providers: () => [{ ...down, lastError: { at: NOW, code: '1', reply: '', whose } }] },
    }).join()
  const aliyun = { ...lane, provider: 'aliyun' }
  t.match(downBy('ours', lane), /: 1\. This is ours to mend: [^.]*\.$/)
  t.match(downBy('later', lane, aliyun), 'Messages go to another carrier of their route')
  t.match(downBy('later', lane, { ...aliyun, breaker: 'open' }), wait, 'which is left alone, too')
  t.match(downBy('later', lane, { ...aliyun, channel: 'email' }), wait)
  t.match(downBy('later', { ...lane, breaker: 'half-open' }), 'It is tried by one message at a time.')
  t.notMatch(downBy('later', lane, { ...aliyun, breaker: 'open' }), 'one message at a time')
  t.match(lines({ health: { providers: () => [{ ...down, lastError: null }] } }), [/: it does not answer\./])

  const part = (more: Partial<PartialFault>) =>
    lines(carrier({ partialFaults: [{ ...template, name: 'N', reply: 'no', ...more }] }))[0]?.replace(
      /^.*?: /,
      '',
    )
  const since = 'since 2026-11-21 02:04:00 UTC: 7 no.'
  t.equal(part({ scope: 'sender' }), `twilio refuses the sender N ${since}`)
  t.equal(part({ scope: 'sender', name: '' }), `twilio refuses the sender of all messages ${since}`)
  t.equal(part({ scope: 'country' }), `twilio refuses the country N ${since}`)
  t.equal(
    part({ scope: 'carrier' }),
    `twilio refuses many different messages ${since} The fault may be the account’s.`,
  )
  t.match(part({ scope: 'carrier', recipients: 3 }), 'This is ours to mend: look at the account')

  const loss = { messages: 0, from: null, until: NOW, noticedAt: NOW }
  t.match(lines({ storeLoss: () => loss }), [
    /: Ends of messages that were written until 2026-11-21 02:04:00 UTC are gone/,
  ])
  for (const [why, remedy] of [
    ['source', /TRUSTED_PROXIES/],
    ['signature', /POST_SIGNATURE=observe/],
  ] as const)
    t.match(lines(ofSms({ lockedOut: { count: 4, since: NOW, why } })), [remedy])
  t.match(lines(serving(-1, { renewalRefused })), [/^fail/, /served on, and has expired\./])
  const unsubscribed = (lastEnd: object | null) =>
    lines({ deviceAlerts: () => ({ ...devices, subscribed: false, lastEnd }) as never })
  t.match(unsubscribed({ is: 'refused', why: 'HTTP 401' }), [
    /HTTP 401\. This is ours to mend: look at DDQ_APP_ID/,
  ])
  t.match(unsubscribed(null), [/the platform has not answered yet/])

  const lastError = { at: NOW - 1000, code: 'no-carrier-fits', reply: 'no template for file', whose: 'ours' }
  const waits = (error: object) =>
    lines(
      { health: { providers: () => [{ ...down, up: true, lastError: { ...lastError, ...error } }] } },
      { backlog: { email: 1, sms: 1 }, oldest: { email: NOW - MINUTE, sms: NOW - MINUTE } },
    )
  t.same(waits({}), [
    'warn email waits: 1 mail has waited for 1 min 0 s.',
    'warn sms waits: 1 SMS has waited for 1 min 0 s. The last error is ours to mend: no-carrier-fits: no template for file.',
  ])
  for (const other of [{ at: NOW - 2 * MINUTE }, { whose: 'later' }])
    t.match(waits(other), [/./, /for 1 min 0 s\.$/], 'it says nothing of what waits')
})

t.test(
  'what fails is said first; `/readyz` names channels first, and the mailbox after five minutes',
  async t => {
    const given: Given = { ...mailbox(5 * MINUTE - 1), ...serving(0), health: { providers: () => [down] } }
    t.match(lines({ ...given, isDraining: () => true }), [
      /^fail twilio/,
      /^fail cert/,
      /^warn ending/,
      /^warn b/,
    ])
    const degraded = async (more: Given) =>
      (await createReadiness(serviceOf({ ...given, ...more }), () => 0)()) as object
    t.match(await degraded({}), { degraded: ['sms', 'certificate'] })
    t.same(await degraded(mailbox(5 * MINUTE)), { ready: true, degraded: ['sms', 'bounces', 'certificate'] })
  },
)
