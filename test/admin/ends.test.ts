import { join } from 'node:path'
import t, { type Test } from 'tap'
import { listFacts } from '../../src/admin/facts.ts'
import type { ChannelStatus } from '../../src/delivery/port.ts'
import type { FinalAnswer, FinalState, ReportFault } from '../../src/outbox/outbox.ts'
import { createSqliteOutbox } from '../../src/outbox/sqlite/outbox.ts'
import { lease, NOON, STORE, sample, testClock } from '../outbox/samples.ts'
import { serveHere } from '../rigs/serve-here.ts'
import { NO_QUOTAS, smsBody, startRig } from '../rigs/service.ts'
import { signedReport } from '../rigs/twilio-server.ts'
import { viewOf } from '../rigs/view.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const WEEK = 7 * DAY

/** How a message ends: by which carriers' answers, and what is reported of it; undefined: nothing is. */
interface End {
  readonly state: FinalState
  readonly answer?: FinalAnswer
  readonly said?: readonly (readonly [provider: string, outcome: string, code: string, ofRecipient?: true])[]
  readonly report?: ReportFault
}

const SENT: End = { state: 'sent', said: [['aliyun', 'sent', '']] }
const filtered: End = { state: 'refused', answer: 'content', said: [['aliyun', 'rejected', '30007']] }
const noNumber: End = {
  state: 'refused',
  answer: 'recipient',
  said: [['aliyun', 'rejected', 'ILLEGAL', true]],
}
/** Greylisted for as long as it lived, or its mailbox was full. */
const waitedInVain: End = { state: 'expired', said: [['aliyun', 'retry', '450 4.2.2', true]] }
const unanswered: End = { state: 'expired', said: [['aliyun', 'retry', 'ETIMEDOUT']] }
const overLimit: End = {
  state: 'refused',
  answer: 'limit',
  said: [['aliyun', 'limit', 'BUSINESS_LIMIT_CONTROL', true]],
}
const blocked: End = { ...SENT, report: { verdict: 'ours', scope: 'country', reason: 'filtered' } }
const phoneOff: End = { ...SENT, report: { verdict: 'recipient', scope: 'recipient', reason: 'off' } }
const noCountry: End = { ...SENT, report: { verdict: 'country', scope: 'country', reason: 'no' } }
const onItsWay: End = { ...SENT, report: { verdict: 'ambiguous', scope: 'recipient', reason: null } }
const noRoute: End = { state: 'expired' }
const bySecond = (outcome: string): End => ({
  state: 'sent',
  said: [
    ['aliyun', outcome, 'SIGNATURE'],
    ['tencent', 'sent', ''],
  ],
})

/** A service with an embedded store, by a clock that the test sets. */
async function startDesk(test: Test) {
  const clock = testClock(NOON)
  const path = join(test.testdir({}), 'outbox.db')
  const open = () => createSqliteOutbox({ ...STORE, path, clock, startThread: serveHere })
  let outbox = await open()
  test.teardown(() => outbox.close())
  const lanes = ['aliyun', 'tencent'].map(provider => ({ provider, channel: 'sms', breaker: 'closed' }))
  let people = 0
  return {
    clock,
    async restart() {
      await outbox.close()
      outbox = await open()
    },
    /** A message comes and ends. @param to a new person unless given. */
    async end({ state, answer = null, said = [], report }: End, to = `+86138${(people += 1)}`) {
      const held = lease(clock)
      const given = sample(clock, { channel: 'sms', recipient: to, code: String(clock.now()), lease: held })
      await outbox.accept([given])
      clock.advance(1000)
      const records = said.map(([provider, outcome, code, ofRecipient]) => ({
        at: clock.now() - 500,
        tookMs: 1,
        provider,
        outcome,
        code,
        reply: '',
        ...(ofRecipient && { ofRecipient }),
      }))
      const { id } = given.message
      await outbox.settle(id, held, { to: 'final', state, answer, providerId: id, records })
      clock.advance(1000)
      if (report === undefined) return
      const { verdict } = report
      const status = verdict === 'ambiguous' ? 'sent' : 'undelivered'
      const about = { channel: 'sms', id, providerId: id, status, errorCode: verdict } as const
      await outbox.writeReceipt({ ...about, fault: report, at: clock.now() })
    },
    /** Who is said to bring nothing to anybody: `sms` for the channel, or a carrier; of how many, and since when. */
    async silent() {
      const view = viewOf({
        now: clock.now,
        channels: ['email', 'sms'],
        channelStatus: () =>
          lanes.map(each => ({ partialFaults: [], secondIn: [], ...each }) as unknown as ChannelStatus),
      })
      const facts = listFacts(view, await outbox.queries.readSummary(clock.now()))
      return facts.flatMap(({ kind, about, count, since }) =>
        kind === 'none-arrives' ? `${about}: ${count} for ${(clock.now() - Number(since)) / 1000} s` : [],
      )
    },
  }
}

const times = (n: number, end: End): readonly End[] => Array.from({ length: n }, () => end)
const EACH: readonly (readonly [what: string, ends: readonly End[], said: readonly string[]])[] = [
  ['seven are refused for what they say', times(7, filtered), ['sms ends: 7 for 13 s']],
  ['four are', times(4, filtered), []],
  ['one of five is for more than its recipient', [...times(4, noNumber), filtered], ['sms ends: 5 for 9 s']],
  ['it is the sixth', [filtered, ...times(5, noNumber)], []],
  ['somebody invents numbers', times(9, noNumber), []],
  ['numbers without a route, and numbers that had too many', [...times(4, noRoute), overLimit], []],
  ['full mailboxes', times(5, waitedInVain), []],
  [
    'what nobody answered, and what is reported',
    [...times(3, unanswered), blocked, phoneOff],
    ['sms ends: 5 for 9 s'],
  ],
  ['phones that are off, and a country that is not served', [...times(5, phoneOff), noCountry], []],
  ['one is sent between them', [filtered, filtered, filtered, SENT, filtered, filtered], []],
  ['one on its way between them', [filtered, filtered, filtered, onItsWay, filtered, filtered], []],
  ['a newer one that is not known yet to arrive', [...times(5, blocked), SENT], ['sms ends: 5 for 11 s']],
  ['of carriers without reports it has arrived', [...times(5, filtered), SENT], []],
  [
    'what may have arrived, and what a newer one replaced',
    [filtered, { state: 'unknown' }, filtered, { state: 'superseded' }, filtered, filtered, filtered],
    ['sms ends: 5 for 13 s'],
  ],
  [
    'the second carrier sends what the first refuses',
    ['rejected', 'limit', 'retry', 'limit', 'retry'].map(bySecond),
    ['aliyun ends: 5 for 9 s'],
  ],
]

t.test('five people in a row who got nothing are told, unless it may be their numbers', async t => {
  for (const [what, ends, said] of EACH)
    await t.test(what, async t => {
      const desk = await startDesk(t)
      for (const end of ends) await desk.end(end)
      t.same(await desk.silent(), said)
    })
  const late = await startDesk(t)
  for (const end of [...times(5, blocked), SENT]) await late.end(end)
  late.clock.advance(598_999)
  t.same(await late.silent(), ['sms ends: 5 for 609.999 s'])
  late.clock.advance(1)
  t.same(await late.silent(), [], 'ten minutes after it was sent it counts as arrived')
  const one = await startDesk(t)
  for (let n = 0; n < 20; n += 1) await one.end(filtered, '+8613800138000')
  t.same(await one.silent(), [], 'one person is no outage')
})

t.test('without a window, over restarts, until one is sent', async t => {
  const desk = await startDesk(t)
  await desk.end(SENT)
  for (let n = 0; n < 5; n += 1) {
    t.same(await desk.silent(), [])
    desk.clock.advance(20 * HOUR)
    await desk.end(filtered)
  }
  await desk.restart()
  desk.clock.advance(WEEK)
  t.same(await desk.silent(), ['sms ends: 5 for 892809 s'])
  await desk.end(SENT)
  t.same(await desk.silent(), [])
})

t.test('a quiet week by a carrier that is well has no false word', async t => {
  const desk = await startDesk(t)
  // Beside twenty that arrive each day: invented numbers at night, phones that are off, full ones, and in daytime what is filtered.
  const nights = [noNumber, noNumber, phoneOff, noNumber, waitedInVain, noRoute, overLimit, noNumber]
  for (let day = 0; day < 7; day += 1) {
    for (let n = 0; n < 20; n += 1) {
      await desk.end(n === 10 ? filtered : n % 5 === 0 ? phoneOff : n % 3 === 0 ? onItsWay : SENT)
      t.same(await desk.silent(), [], `day ${day}, ${n}`)
      desk.clock.advance(30 * MINUTE)
    }
    for (const end of nights) {
      await desk.end(end)
      t.same(await desk.silent(), [], `night ${day}`)
      desk.clock.advance(15 * MINUTE)
    }
  }
})

t.test('the service says so: first line, body of `/readyz`, metric', async t => {
  const PUBLIC_URL = 'https://courier.example.com'
  const rig = await startRig(t, { ...NO_QUOTAS, PUBLIC_URL })
  for (let n = 0; n < 5; n += 1) {
    t.match(await rig.page('/metrics'), 'none_arrives{channel="sms",provider=""} 0\n')
    await rig.post('sms', smsBody({ to: `1380013800${n}` }, { type: 4 }))
    const fields = {
      MessageSid: rig.twilio.messages.at(-1)?.sid ?? '',
      MessageStatus: 'undelivered',
      ErrorCode: n === 2 ? '30008' : '30003',
    }
    await rig.ask('/receipt/twilio', signedReport(PUBLIC_URL, fields))
  }
  await rig.restart({})
  const said = /The last 5 SMS messages by any carrier all failed, to five people or more, since .*: 30008/
  t.match(await rig.page('/console'), said)
  t.match(JSON.parse(await rig.page('/readyz')), { status: 'ready', degraded: ['sms'], partial: [said] })
  t.match(await rig.page('/metrics'), 'callback_courier_none_arrives{channel="sms",provider=""} 5\n')
})
