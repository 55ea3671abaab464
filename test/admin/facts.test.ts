import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { consoleRoutes } from '../../src/admin/console/routes.ts'
import { createEventLog } from '../../src/admin/event-log.ts'
import { createFactWatch, FACT_KINDS, type FactKind, firstLines } from '../../src/admin/facts.ts'
import { createAdminListener } from '../../src/admin/listener.ts'
import { createMetrics } from '../../src/admin/metrics/metrics.ts'
import { createReadiness } from '../../src/admin/readiness.ts'
import type { ProviderStatus } from '../../src/admin/service-health.ts'
import type { ServiceView } from '../../src/admin/service-view.ts'
import { statusRoutes } from '../../src/admin/status/routes.ts'
import { askForFacts } from '../../src/commands/check.ts'
import { find } from '../../src/commands/find.ts'
import type { ChannelStatus } from '../../src/delivery/port.ts'
import type { PartialFault } from '../../src/events/events.ts'
import { createEmitter } from '../../src/events/events.ts'
import { quote, type Sentence } from '../../src/language/sentence.ts'
import { type EndedMessage, StoreUnavailable, type Summary } from '../../src/outbox/outbox.ts'
import { idleCarrier, sentMessage, viewOf } from '../rigs/view.ts'

const NOW = Date.parse('2026-11-21T02:04:00Z')
const MINUTE = 60_000
const DAY = 86_400_000
/** What others say, which may be about a person. */
const SAID = quote('no <ann@example.com>')

const mailLane: ChannelStatus = { ...idleCarrier, channel: 'email', provider: 'smtp' }
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
const quiet = await viewOf().queries.readSummary(0)
/** A message that waits. */
const waiting = { ...sentMessage, state: 'queued', arrivedAt: NOW, expiresAt: NOW, finalAt: null }

type Given = Partial<Omit<ServiceView, 'health'>> & { readonly health?: Partial<ServiceView['health']> }

/** A service in which this is otherwise; `null`: its store does not answer. */
function serviceOf({ health, ...given }: Given, summary: Partial<Summary> | null = {}): ServiceView {
  const well = viewOf()
  return viewOf({
    now: () => NOW,
    wall: () => NOW + MINUTE,
    channels: ['email', 'sms'],
    channelStatus: () => [mailLane, idleCarrier],
    deviceAlerts: () => devices,
    webhooks: () => ({ ...events, waiting: 0, oldestAt: null, failing: null }),
    ...serving(15 * DAY),
    health: { ...well.health, providers: () => [{ ...down, up: true, lastError: null }], ...health },
    queries: {
      ...well.queries,
      readSummary: async since => {
        if (summary === null) throw new StoreUnavailable('no answer')
        return { ...quiet, ...summary, ...(since !== NOW - DAY && { counts: [] }) }
      },
      listMessages: async ({ recipientHash }) => ({
        messages: recipientHash === 'hash of ann' ? [waiting as never] : [],
        lookedFrom: null,
      }),
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
  channelStatus: () => [mailLane, { ...idleCarrier, ...more }],
})
const serving = (
  left: number,
  more: Given = {},
  flaws: readonly { readonly sentence: Sentence; readonly remedy: Sentence }[] = [],
): Given => ({
  certificate: () => ({ expiresAt: NOW + MINUTE + left, flaws, chain: 'complete', names: [] }),
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
  lastEnd: { is: 'unreachable', why: quote('ECONNREFUSED') },
  refused: [],
  received: 0,
  malformed: 0,
} as const
const robot = (fault: object, until = NOW) => ({
  robots: () => [
    {
      robot: 'dingtalk',
      fault: { since: NOW - MINUTE, isRefused: false, code: '310000', reply: SAID, ...fault },
      until,
      rests: 1,
    },
  ],
})
const mailbox = (ms: number, leads = true): Given => ({
  bounceMailbox: () => ({ leads, failing: { since: NOW - ms, reason: SAID } }),
})
const sent = (count: number, channel: 'email' | 'sms' = 'email') =>
  [{ channel, kind: 'file', state: 'sent', count }] as const

/** A service with each kind of fact, and what its store tells; null: it does not answer. */
const EACH: Readonly<Record<FactKind, readonly [Given, (Partial<Summary> | null)?]>> = {
  'only-to': [{ onlyTo: 2 }],
  'probe-missing': [
    { probeFailures: () => [{ channel: 'sms', since: NOW - MINUTE, why: quote('expired') }] },
  ],
  ending: [{ isDraining: () => true }],
  'store-content': [{ health: { unreadable: () => ({ count: 2, lastAt: NOW - DAY }) } }],
  'store-silent': [{}, null],
  'store-failed': [
    { health: { storeFailure: () => ({ at: NOW - 59_999, doing: 'accept', message: quote('no room') }) } },
  ],
  'store-loss': [{ storeLoss: () => ({ messages: 3, from: NOW - MINUTE, until: NOW, noticedAt: NOW }) }],
  'provider-down': [{ health: { providers: () => [down] } }],
  'provider-rests': [
    carrier({ breaker: 'open', breakerUntil: NOW + 5000, fault: { ...template, since: NOW - MINUTE } }),
  ],
  'asked-second': [carrier({ secondIn: ['', 'CN'] })],
  'part-refused': [carrier({ partialFaults: [template] })],
  'not-delivered': [
    carrier({
      partialFaults: [
        { ...template, scope: 'sender', name: '30034', recipients: 5 },
        { ...template, recipients: 6 },
      ],
    }),
  ],
  'delivered-late': [
    {
      deliveryTimes: () => [
        { provider: 'twilio', country: 'US', latestMs: 40_000, usualMs: 10_000, isSlow: true },
        { provider: 'twilio', country: '', latestMs: 30_000, usualMs: 7000, isSlow: true },
        { provider: 'twilio', country: 'DE', latestMs: 20_000, usualMs: null, isSlow: false },
      ],
    },
  ],
  'none-arrives': [
    carrier({}),
    {
      ended: ['ann', 'bob', 'cat', 'dan', 'eve'].map((recipient, at) => ({
        ...(waiting as unknown as EndedMessage),
        recipient,
        state: 'refused',
        finalAt: NOW - at * MINUTE,
        timeline: [
          { at: NOW, tookMs: 1, provider: 'twilio', outcome: 'rejected', code: '30007', reply: SAID.text },
        ],
      })),
    },
  ],
  'locked-out': [ofSms({ lockedOut: { count: 4, since: NOW, why: quote('stale') } })],
  'messages-wait': [{}, { backlog: { email: 0, sms: 7 }, oldest: { email: null, sms: NOW - MINUTE } }],
  'quota-near': [ofSms({ nearing: [{ quota: 'sms-day', count: 2, lastAt: NOW }] })],
  'quota-used-up': [ofSms({ heldBack: [{ quota: 'sms-day', count: 2, lastAt: NOW }] })],
  'url-invalid': [ofSms({ validation: { at: NOW, ok: false, reason: quote('key') } })],
  'certificate-expired': [serving(0)],
  'certificate-ends': [serving(14 * DAY - 1)],
  'renewal-refused': [serving(15 * DAY, { renewalRefused })],
  'certificate-flaw': [
    serving(15 * DAY, {}, [{ sentence: quote('it is for www.example.com'), remedy: quote('get one') }]),
  ],
  'alerts-away': [{ deviceAlerts: () => ({ ...devices, subscribed: false }) }],
  'topic-refused': [
    { deviceAlerts: () => ({ ...devices, refused: [{ topic: '/alert', why: quote('HTTP 404') }] }) },
  ],
  'receiver-gone': [{ webhooks: () => ({ ...events, isGone: true }) }],
  'receiver-fails': [{ webhooks: () => events }],
  'group-not-told': [robot({}, NOW - DAY)],
  'bounces-unread': [mailbox(5 * MINUTE)],
  'mails-came-back': [{}, { counts: sent(20), bounced: 1 }],
  words: [{ templateProblems: () => [quote('zh-CN.yaml, line 7: no such kind')] }],
  well: [{}],
}
// `find` shows moments in the zone of its process.
process.env['TZ'] = 'UTC'

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

/** What each surface of a service says, a line each; `{text}` where it is the fact's sentence. */
async function surfaces(view: ServiceView): Promise<readonly string[]> {
  const { app, io, said } = await serve(view)
  const page = (await app.inject('/console')).body
  const shown = [/<ul class="causes".*?<\/ul>/s, /<h2>Providers<\/h2>.*?<\/section>/s].flatMap(part =>
    (part.exec(page)?.[0] ?? '').split(/<\/(?:li|p|dd)>/),
  )
  const { causes } = (await app.inject('/api/v1/causes')).json() as {
    readonly causes: readonly [Record<string, unknown> & { readonly text: string }]
  }
  const [{ text, ...fact }] = causes
  const checked = await askForFacts(io, 'en')
  for (const recipient of ['ann', 'bob']) await find([recipient], io)
  const metrics = createMetrics([])
  const scraped = (await metrics.scrape(view)).split('\n')
  const lines = [
    ...shown.map(line => `console: ${textOf(line)}`),
    ...checked.map(({ is, about, what }) => `check: ${is} ${String(about)}: ${String(what)}`),
    `/readyz: ${(await app.inject('/readyz')).body}`,
    ...scraped
      .flatMap(line => /^callback_courier_(.*)$/.exec(line)?.[1] ?? [])
      .map(sample => `metrics: ${sample}`),
    ...said()
      .split('\n')
      .map(line => `find: ${line.trim()}`),
  ].map(line => line.replaceAll(text, '{text}'))
  await app.close()
  return [`api: ${text} ${JSON.stringify(fact)}`, ...lines]
}

function textOf(html: string): string {
  const text = html
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
  return text.trim()
}

/** What the log says when a fact begins, and when it is over. */
async function hear(view: ServiceView): Promise<readonly string[]> {
  const log: string[] = []
  const logger = pino({ base: null, level: 'info' }, { write: line => log.push(line) })
  const emit = createEmitter([createEventLog(logger, () => 0)])
  let isSo = true
  const watched = new Proxy(view, {
    get: (_, name) => Reflect.get(isSo ? view : serviceOf({}), name) as unknown,
  })
  const look = createFactWatch(watched, emit)
  await look()
  await look(false)
  await look()
  isSo = false
  await look()
  return log.map(line => {
    const { level, event, is, about } = JSON.parse(line) as Record<string, string>
    return `log: ${logger.levels.labels[Number(level)]} ${event} ${is} ${about}`
  })
}

t.test('every kind of fact is told on each surface that it is for, and on no other', async t => {
  t.same(Object.keys(EACH).sort(), Object.keys(FACT_KINDS).sort())
  const well = await surfaces(serviceOf({}))
  const written = await Promise.all(
    Object.entries(EACH).map(async ([kind, [given, summary]]) => {
      const said = await surfaces(serviceOf(given, summary))
      const own = said.filter(line => !well.includes(line))
      return [kind, ...own, ...(await hear(serviceOf(given, summary)))].join('\n  ')
    }),
  )
  const expected = readFileSync(join(import.meta.dirname, '../fixtures/facts.txt'), 'utf8')
  t.same(written.join('\n').split('\n'), expected.trimEnd().split('\n'))
  t.notMatch(expected, /(metrics|log): .*ann@/, 'what others say may be about a person')
  t.match(well.join('\n'), 'api: All is well. {"kind":"well","level":"ok","about":"all"')
})

/** The first lines of a service in which this is otherwise. */
function lines(given: Given, summary: Partial<Summary> = {}): readonly string[] {
  return firstLines(serviceOf(given), { ...quiet, ...summary }).map(
    ({ level, about, text }) => `${level} ${about}: ${String(text)}`,
  )
}

t.test('half of the quota of sign-ups names the last address, masked, and what lifts it', async t => {
  const near = { quota: 'signup-domain-hour', to: 'a***@x.example', count: 2, lastAt: NOW }
  t.match(lines(ofSms({ nearing: [near] })), [
    /signup-domain-hour is used up.* for a\*\*\*@x\.example: .*raise it in QUOTAS for that day\.$/,
  ])
})

t.test(
  'what mends itself within a minute, what is over, and what is another’s to tell is no line',
  async t => {
    const telling = (more: object): Given => ({ webhooks: () => ({ ...events, ...more }) })
    const since = NOW - MINUTE + 1
    const held = (ms: number, quota = 'sms-day') => {
      const one = { quota, count: 2, to: '', lastAt: NOW - ms }
      return ofSms({ heldBack: [one], nearing: [one] })
    }
    const away = { ...devices, subscribed: false }
    const unsent = { channel: 'email', kind: 'file', state: 'expired', count: 10 } as const
    const silent: readonly (readonly [Given, Partial<Summary>?])[] = [
      [mailbox(MINUTE - 1)],
      [mailbox(MINUTE, false)],
      [telling({ failing: { ...events.failing, since } })],
      [telling({ leads: false })],
      [telling({ isGone: true, leads: false })],
      [robot({ since })],
      [robot({ isRefused: true }, NOW - DAY - 1)],
      [{ deviceAlerts: () => ({ ...away, forMs: MINUTE - 1 }) }],
      [{ deviceAlerts: () => ({ ...away, leads: false }) }],
      [{ deviceAlerts: () => null }],
      [{ health: { storeFailure: () => ({ at: NOW - MINUTE, doing: 'accept', message: '' }) } }],
      [{ health: { unreadable: () => ({ count: 2, lastAt: NOW - DAY - 1 }) } }],
      [{}, { backlog: { email: 0, sms: 1 }, oldest: { email: null, sms: since } }],
      [held(15 * MINUTE)],
      [held(0, 'recipient-10m')],
      [held(0, 'recipient-day')],
      [ofSms({ nearing: [{ quota: 'sms-day', count: 2, lastAt: NOW - 15 * MINUTE }] })],
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
    t.match(lines(held(15 * MINUTE - 1)).join('\n'), /^warn sms sms-day: The quota sms-day holds.*$/)
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
  const aliyun = { ...idleCarrier, provider: 'aliyun' }
  t.match(downBy('ours', idleCarrier), /: 1\. This is ours to mend: [^.]*\.$/)
  t.match(downBy('later', idleCarrier, aliyun), 'Messages go to another carrier of their route')
  t.match(downBy('later', idleCarrier, { ...aliyun, breaker: 'open' }), wait, 'which is left alone, too')
  t.match(downBy('later', idleCarrier, { ...aliyun, channel: 'email' }), wait)
  t.match(downBy('later', { ...idleCarrier, breaker: 'half-open' }), 'It is tried by one message at a time.')
  t.notMatch(downBy('later', idleCarrier, { ...aliyun, breaker: 'open' }), 'one message at a time')
  t.match(lines({ health: { providers: () => [{ ...down, lastError: null }] } }), [/: it does not answer\./])

  const refusing = { ...idleCarrier, partialFaults: [template] }
  const refusedBeside = (other: Partial<ChannelStatus>) =>
    lines({
      channelStatus: () => [
        refusing,
        ...['aliyun', 'tencent'].map(provider => ({ ...aliyun, provider, ...other })),
      ],
    })[0]
  const instead =
    'The template’s code is SMS_1. Instead they go by aliyun, tencent, where the route names it.'
  const nobody = 'No other carrier sends instead: these messages wait, and expire.'
  t.match(refusedBeside({}), instead)
  t.match(
    refusedBeside({
      partialFaults: [
        { ...template, kind: 'registration-code' },
        { ...template, scope: 'sender' },
      ],
    }),
    instead,
  )
  t.match(
    refusedBeside({ partialFaults: [{ ...template, name: 'SMS_9' }] }),
    nobody,
    'it refuses that kind, too',
  )
  t.match(refusedBeside({ breaker: 'open' }), nobody)
  t.match(refusedBeside({ channel: 'email' }), nobody)

  const part = (more: Partial<PartialFault>) =>
    lines(carrier({ partialFaults: [{ ...template, name: 'N', reply: quote('no'), ...more }] }))[0]?.replace(
      /^.*?: /,
      '',
    )
  const since = 'since 2026-11-21 02:04:00 UTC: 7 no.'
  t.equal(part({ scope: 'sender' }), `twilio refuses the sender N ${since}`)
  t.equal(part({ scope: 'sender', name: '' }), `twilio refuses the sender of all messages ${since}`)
  t.equal(part({ scope: 'country' }), `twilio refuses the country N ${since}`)
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
  t.match(lines(serving(0, { renewalRefused })), [/^fail/, /served on, and has expired\./])
  const unsubscribed = (lastEnd: object | null) =>
    lines({ deviceAlerts: () => ({ ...devices, subscribed: false, lastEnd }) as never })
  t.match(unsubscribed({ is: 'refused', why: quote('HTTP 401') }), [
    /HTTP 401\. This is ours to mend: look at DDQ_APP_ID/,
  ])
  t.match(unsubscribed(null), [/the platform has not answered yet/])

  const lastError = {
    at: NOW - MINUTE,
    code: 'no-carrier-fits',
    reply: quote('no template for file'),
    whose: 'ours',
  }
  const waits = ({ up = true, ...error }: { up?: boolean } & object) =>
    lines(
      { health: { providers: () => [{ ...down, up, lastError: { ...lastError, ...error } }] } },
      { backlog: { email: 1, sms: 1 }, oldest: { email: NOW - MINUTE, sms: NOW - MINUTE } },
    )
  t.same(waits({}), [
    'warn email waits: Messages by e-mail that wait: 1, the oldest for 1 min 0 s.',
    'warn sms waits: Messages by SMS that wait: 1, the oldest for 1 min 0 s. The last error is ours to mend: no-carrier-fits: no template for file.',
  ])
  t.match(lines(robot({ since: NOW, isRefused: true })), [/^warn dingtalk: .*310000/], 'at once')
  for (const other of [{ at: NOW - 2 * MINUTE }, { whose: 'later' }, { up: false }])
    t.match(waits(other).join('\n'), /for 1 min 0 s\.$/, 'it says nothing of what waits')
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
