import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { overviewPages } from '../../src/admin/console/overview.ts'
import type { ConsoleOptions, PageRequest } from '../../src/admin/console/page.ts'
import { todayPages } from '../../src/admin/console/today.ts'
import type { ChannelHealth } from '../../src/admin/service-health.ts'
import type { ServiceView } from '../../src/admin/service-view.ts'
import type { Asked } from '../../src/callback/asked.ts'
import { quote } from '../../src/language/sentence.ts'
import type { Channel } from '../../src/messages/message.ts'
import { StoreUnavailable } from '../../src/outbox/outbox.ts'
import { inZone } from '../rigs/in-zone.ts'
import { idleCarrier, viewOf } from '../rigs/view.ts'
import { view as seen } from './every-event.ts'

const NOW = Date.parse('2026-11-21T02:04:30Z')
const DAY = 86_400_000
const [email = idleCarrier, sms = idleCarrier] = seen.channelStatus()

async function show([shown]: typeof overviewPages, given: Partial<ServiceView> = {}, query = {}) {
  const options = {
    view: viewOf({ now: () => NOW, ...given }),
    rotating: ['email'],
    postSignature: 'observe',
    quotas: { 'sms-day': 9 },
  } as unknown as ConsoleOptions
  const page = await shown?.handle({ query } as unknown as PageRequest, options)
  return page?.is === 'page' ? page.content.in('en') : ''
}

const overview = (given: Partial<ServiceView>, query = {}) => show(overviewPages, given, query)
const { health, queries } = viewOf()
const rests = { until: NOW + 8000, reply: quote('mail to b.test is slow') }
const destinations = [
  { destination: 'a.test', place: 'a.test', inFlight: 2, waiting: 0, rest: null },
  { destination: 'b.test', place: 'b.test', inFlight: 0, waiting: 0, rest: rests },
  { destination: 'c.test', place: null, inFlight: 4, waiting: 3, rest: { ...rests, until: NOW } },
]
const ofChannels: Readonly<Record<Channel, Partial<ChannelHealth>>> = {
  email: {
    validation: { at: NOW - 1000, ok: true, reason: '' },
    refusals: { count: 11, last: { at: NOW - 2000, reason: quote('no such key') } },
    outdatedAt: NOW - 3000,
    newcomers: new Map([['1', 99]]),
  },
  sms: {
    validation: { at: NOW - 4000, ok: false, reason: quote('<i>wrong</i>') },
    heldBack: [
      { quota: 'sms-minute', to: '', count: 6, lastAt: NOW - 5000 },
      { quota: 'sms-day', to: '', count: 8, lastAt: NOW - 60_000 },
    ],
    outdatedAt: NOW - 6000,
    newcomers: new Map([
      ['49', 3],
      ['86', 12],
      ...Array.from({ length: 9 }, (_, n) => [`3${n}`, 2] as const),
    ]),
  },
}

const ended = (kind: string, carrier: string, country: string, today: number, dayBefore: number) =>
  ({
    channel: 'sms',
    kind,
    carrier,
    country,
    outcome: carrier === '-' ? 'expired' : 'sent',
    today,
    dayBefore,
  }) as const
const asked = (name: string, since: number) => {
  const [channel, about] = name.split(' ') as [Channel, Asked['about']]
  const held = { 'sms-day': 2, 'email-day': 1 }
  return { channel, about, name, count: (NOW - since) / 60_000, missed: 0, held, recipients: ['a'] }
}

const provider = {
  provider: 'twilio',
  channel: 'sms',
  up: true,
  since: NOW - 90_000,
  lastSentAt: null,
  lastError: null,
} as const
const lastError = { at: NOW - 10_000, code: '421', reply: quote('<b>not</b> now'), whose: 'later' }
const devices = {
  leads: true,
  subscribed: true,
  forMs: 7_200_000,
  lastEnd: null,
  refused: [],
  received: 42,
  malformed: 1,
}
const certificate = { names: ['a.example', 'b.example'], expiresAt: NOW + 864e7, flaws: [] }

/** Pages with all that the overview may say, by what they show; test/fixtures/overview.txt has them. */
const PAGES: Readonly<Record<string, Partial<ServiceView>>> = {
  'all has happened': {
    channels: ['email', 'sms'],
    channelStatus: () => [
      { ...email, partialFaults: [], destinations, breakerUntil: NOW + 5000 },
      sms,
      { ...idleCarrier, provider: 'aliyun', waiting: 6, limit: 7, limitWhy: quote('all that it may') },
      { ...idleCarrier, provider: 'tencent', limitWhy: quote('not measured yet') },
    ],
    health: {
      ...health,
      providers: () => [
        { ...provider, provider: 'smtp', channel: 'email', up: false, lastSentAt: NOW - 100_000, lastError },
        { ...provider, since: NOW - 80_000 },
        { ...provider, provider: 'tencent', since: NOW - 70_000, lastSentAt: NOW - 20_000 },
      ],
      ofChannel: channel => ({
        ...health.ofChannel(channel),
        ...ofChannels[channel],
        signatures: { right: 1, stale: 4, wrong: 2, absent: 3 },
      }),
    },
    deliveryTimes: () => [
      { provider: 'twilio', country: '', latestMs: 4000, usualMs: null, isSlow: false },
      { provider: 'twilio', country: 'DE', latestMs: 7000, usualMs: 5000, isSlow: false },
    ],
    queries: {
      ...queries,
      readEnded: async (before, today) => [
        ended('login-code', 'twilio', 'US', 1, (today - before) / 3_600_000),
        ended('binding', 'aliyun', 'CN', 0, 4),
        ended('login-code', '-', '-', 8, 0),
      ],
      readWaiting: async () => [
        { destination: 'b.test', count: 1, dueAt: NOW + 1 },
        { destination: 'c.test', count: 5, dueAt: NOW - 65_000 },
      ],
      readSummary: async () => ({
        ...(await queries.readSummary(0)),
        counts: [
          { channel: 'sms', kind: 'phone-update', state: 'sending', count: 2 },
          { channel: 'sms', kind: 'login-code', state: 'sent', count: 3 },
          { channel: 'sms', kind: 'login-code', state: 'queued', count: 4 },
          { channel: 'email', kind: 'file', state: 'expired', count: 50 },
        ],
        backlog: { email: 7, sms: 5 },
        leftOut: 4,
        bytes: 3 * 1_048_576,
      }),
    },
    readAsked: async since =>
      ['email kind', 'email domain', 'sms kind', 'sms country', 'sms prefix'].map(name => asked(name, since)),
    countLeftOut: ({ leftOut }) => leftOut,
    startedAt: NOW - 3_600_000,
    webhooks: () => ({ leads: true, isGone: false, failing: null, waiting: 9, oldestAt: NOW }),
    certificate: () => ({ ...certificate, chain: 'self-signed' }),
    deviceAlerts: () => ({ ...devices, refused: [{ topic: '/x', why: quote('HTTP 404') }] }),
  },
  'nothing has happened': {
    channels: ['email', 'sms'],
    channelStatus: () => [idleCarrier],
    deviceAlerts: () => ({
      ...devices,
      subscribed: false,
      lastEnd: { is: 'refused', why: quote('<b>no</b>') },
    }),
  },
  'nothing is known': {
    channels: ['sms'],
    queries: { ...queries, readSummary: () => Promise.reject(new StoreUnavailable(quote('gone'))) },
    webhooks: () => ({ leads: false, isGone: false, failing: null, waiting: 9, oldestAt: NOW }),
    certificate: () => ({ ...certificate, names: [], chain: 'complete' }),
    deviceAlerts: () => ({ ...devices, leads: false }),
  },
}

t.test('the page says what there is of each provider, the platform, the service and the devices', async t => {
  const pages: string[] = []
  for (const [name, view] of Object.entries(PAGES)) pages.push(`= ${name}`, await overview(view))
  inZone(t, 'Asia/Shanghai')
  pages.push('= today', await show(todayPages, PAGES['all has happened']))
  const expected = readFileSync(join(import.meta.dirname, '../fixtures/overview.txt'), 'utf8')
  t.same(pages.join('\n').split('\n'), expected.trimEnd().split('\n'))
})

t.test('what is wrong is judged by the last day, whatever period the figures cover', async t => {
  const asked: number[] = []
  const queries = {
    ...viewOf().queries,
    readSummary: async (since: number) => {
      asked.push((NOW - since) / 60_000)
      const counts =
        NOW - since < DAY ? [] : [{ channel: 'email', kind: 'file', state: 'sent', count: 20 } as const]
      return { ...(await viewOf().queries.readSummary(0)), counts, bounced: counts.length }
    },
  }
  t.match(await overview({ queries }), 'Of 20 mails of the last day, 1 came back.')
  t.match(await overview({ queries }, { period: 'day' }), 'Of 20 mails of the last day, 1 came back.')
  t.same(asked, [60, 1440, 1440, 60], 'minutes')
  const other = await overview({ ...PAGES['all has happened'], channels: ['sms'] }, { period: 'year' })
  t.match(other, 'period=hour#figures" aria-current="true"')
  t.notMatch(other, 'E-mail: file', 'a channel that is off')
})
