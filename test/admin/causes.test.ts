import t from 'tap'
import { causesOf, DAY } from '../../src/admin/console/causes.ts'
import type { ServiceView } from '../../src/admin/service-view.ts'
import type { Summary } from '../../src/outbox/outbox.ts'
import { viewOf } from '../rigs/view.ts'

const NOW = Date.parse('2026-11-21T02:04:00Z')
const MINUTE = 60_000
const quiet = await viewOf().queries.readSummary(0, 1)

/** The lines of a service in which this is otherwise, without what all have in common. */
function lines(given: Partial<ServiceView>, summary: Partial<Summary> | null = {}): readonly string[] {
  const view = viewOf({ now: () => NOW, wall: () => NOW, ...given })
  return causesOf(view, summary && { ...quiet, ...summary }).map(
    ({ level, about, text }) => `${level} ${about}: ${String(text)}`,
  )
}

const healthy = ['ok all: All is well.']

/** A service whose health is otherwise. */
function withHealth(more: Partial<ServiceView['health']>): Partial<ServiceView> {
  return { health: { ...viewOf().health, ...more } }
}

t.test('mails that come back are a line from one in twenty on, of twenty at least', async t => {
  const back = (sent: number, bounced: number, channel: 'email' | 'sms' = 'email') =>
    lines({}, { counts: [{ channel, kind: 'file', state: 'sent', count: sent }], bounced })
  t.same(back(19, 19), healthy, 'of few nobody knows')
  t.match(back(20, 1), [/^warn mails that came back: Of 20 mails of the last day, 1 came back\./])
  t.same(back(21, 1), healthy)
  t.same(back(1000, 49), healthy)
  t.match(back(1000, 50), [/Of 1000 mails/])
  t.same(back(20, 1, 'sms'), healthy, 'SMS are not counted')
  const counts = (['sent', 'expired'] as const).map(
    state => ({ channel: 'email', kind: 'file', state, count: 10 }) as const,
  )
  t.same(lines({}, { counts, bounced: 1 }), healthy, 'nor what was not sent')
})

t.test('what comes back by itself within a minute is no line', async t => {
  const failing = (ms: number) => ({ since: NOW - ms, reason: 'http-500' })
  const mailbox = (ms: number) => lines({ bounceMailbox: () => ({ leads: true, failing: failing(ms) }) })
  t.same(mailbox(MINUTE - 1), healthy)
  t.match(mailbox(MINUTE), [/^warn bounces: .* for 1 min 0 s: /])
  const told = (ms: number, more: object = {}) =>
    lines({
      webhooks: () => ({
        leads: true,
        isGone: false,
        waiting: 3,
        oldestAt: 0,
        failing: failing(ms),
        ...more,
      }),
    })
  t.same(told(MINUTE - 1), healthy)
  t.match(told(MINUTE), [/^warn events: EVENTS_URL has taken nothing for 1 min 0 s .* Events that wait: 3\./])
  t.match(told(0, { isGone: true }), [/^warn events: .* answered 410\./], 'that does not come back')
  t.same(told(MINUTE, { leads: false }), healthy, 'another replica tells')
  t.same(told(MINUTE, { failing: null }), healthy)
})

t.test('the store: what fails now, what failed just now, and what stays for a day', async t => {
  t.match(lines({}, null), [/^fail store: The store does not answer\./])
  const failed = (ms: number) =>
    lines(withHealth({ storeFailure: () => ({ at: NOW - ms, doing: 'accept', message: 'no room' }) }))
  t.match(failed(MINUTE - 1), [
    /^fail store: The store could not accept at 2026-11-21 02:03:00 UTC: no room\./,
  ])
  t.same(failed(MINUTE), healthy)
  const unread = (ms: number) => lines(withHealth({ unreadable: () => ({ count: 2, lastAt: NOW - ms }) }))
  t.match(unread(DAY), [/^fail store content: .* 2 since the start, the last at 2026-11-20 02:04:00 UTC\./])
  t.same(unread(DAY + 1), healthy)
  const lost = (messages: number, from: number | null) =>
    lines({ storeLoss: () => ({ messages, from, until: NOW - MINUTE, noticedAt: NOW }) })
  t.match(lost(3, NOW - 2 * MINUTE), [
    /^fail store loss: 3 messages that were stored between .* 02:02:00 UTC and .* 02:03:00 UTC are gone\. The store/,
  ])
  t.match(lost(3, null), [
    /stored until 2026-11-21 02:03:00 UTC are gone.*; the start at 2026-11-21 02:04:00 UTC/,
  ])
  t.match(lost(0, null), [/^fail store loss: Ends of messages that were written until .* are gone/])
})

t.test('a channel: what waits, what quotas hold back, and a URL that is not valid', async t => {
  const channels = ['sms'] as const
  const waiting = (ms: number) => lines({ channels }, { oldest: { email: 0, sms: NOW - ms } })
  t.same(waiting(MINUTE), healthy)
  t.match(waiting(MINUTE + 1), [/^warn sms waits: 0 SMS wait, the oldest for 1 min 0 s\.$/])
  const { ofChannel } = viewOf().health
  const has = (more: object) =>
    lines({ channels, ...withHealth({ ofChannel: channel => ({ ...ofChannel(channel), ...more }) }) })
  const held = (ms: number, quota = 'sms-day') => has({ heldBack: [{ quota, count: 2, lastAt: NOW - ms }] })
  t.match(held(15 * MINUTE - 1), [/^warn sms sms-day: The quota sms-day holds SMS back: 2 since the start/])
  t.same(held(15 * MINUTE), healthy)
  for (const quota of ['recipient-10m', 'recipient-day']) t.same(held(0, quota), healthy, 'one person’s')
  t.same(has({ validation: { at: NOW, ok: true, reason: '' } }), healthy)
  t.match(has({ validation: { at: NOW, ok: false, reason: 'key' } }), [
    /^warn sms URL: The last validation of the SMS URL failed at 2026-11-21 02:04:00 UTC: key\./,
  ])
  for (const [why, remedy] of [
    ['source', 'TRUSTED_PROXIES'],
    ['signature', 'POST_SIGNATURE=observe'],
    ['stale', 'clock of this machine'],
  ] as const)
    t.match(has({ lockedOut: { count: 4, since: NOW, why } }), [
      new RegExp(
        `^fail sms callbacks: Every SMS callback .* since 2026-11-21 02:04:00 UTC: 4 so far\\. .*${remedy}`,
      ),
    ])
})

t.test('a certificate is a line from two weeks before its end on', async t => {
  const serving = (left: number, more: Partial<ServiceView> = {}) =>
    lines({
      certificate: () => ({ expiresAt: NOW + left, flaws: [], chain: 'complete', names: [] }),
      ...more,
    })
  t.same(serving(14 * DAY), healthy)
  t.match(serving(14 * DAY - 1), [/^warn certificate: The certificate expires in 13 days\./])
  t.match(serving(0), [/^warn certificate: The certificate expires in 0 ms\./])
  t.match(serving(-1), [/^fail certificate: The certificate expired on 2026-11-21 02:03:59 UTC/])
  const renewalRefused = () => ({ since: NOW - MINUTE, reason: 'a reason' })
  t.match(serving(15 * DAY, { renewalRefused }), [
    /^warn renewal: .* refused for 1 min 0 s, since 2026-11-21 02:03:00 UTC: a reason\. .* valid until 2026-12-06/,
  ])
  t.match(serving(-1, { renewalRefused })[1], /^warn renewal: .* served on, and has expired\./)
  t.same(lines({ renewalRefused }), healthy, 'TLS ends in front of this service')
})

t.test('a provider that is down: whose fault it is, and whether another one takes its messages', async t => {
  const down = {
    provider: 'twilio',
    channel: 'sms',
    up: false,
    since: NOW - MINUTE,
    lastSentAt: null,
  } as const
  const lane = {
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
    channel: 'sms',
    provider: 'twilio',
  } as const
  const said = (whose: string, ...status: ReturnType<ServiceView['channelStatus']>) =>
    lines({
      ...withHealth({
        providers: () => [{ ...down, lastError: { at: NOW, code: '20003', reply: 'no', whose } }],
      }),
      channelStatus: () => status,
    }).join()
  const wait = 'Messages wait and are tried until they expire.'
  t.equal(said('later', lane), `fail twilio: twilio has failed for 1 min 0 s: 20003 no. ${wait}`)
  t.match(said('ours', lane), /20003 no\. This is ours to mend: [^.]*\.$/)
  const aliyun = { ...lane, provider: 'aliyun' }
  t.match(said('later', lane, aliyun), 'Messages go to another carrier of their route')
  t.match(said('later', lane, { ...aliyun, breaker: 'open' }), wait, 'which is left alone, too')
  t.match(said('later', lane, { ...aliyun, channel: 'email' }), wait)
  t.match(said('later', { ...lane, breaker: 'half-open' }), 'It is tried by one message at a time.')
  t.notMatch(said('later', lane, { ...aliyun, breaker: 'open' }), 'one message at a time')
})
