import t from 'tap'
import type { EventOf, ServiceEvent } from '../../src/events/events.ts'
import { type Memo, StoreUnavailable } from '../../src/outbox/outbox.ts'
import { createDeliveryTimes } from '../../src/reports/delivery-times.ts'
import { smsBody, startRig, until } from '../rigs/service.ts'
import { signedReport } from '../rigs/twilio-server.ts'
import { enterVirtualTime } from '../rigs/virtual-time.ts'

const SECOND = 1000
const DAY = 86_400 * SECOND

/** A process on a store that stays. */
function createProcess(memos: Map<string, string>, clock: { readonly now: () => number }) {
  const told: ServiceEvent[] = []
  const store = { works: true }
  const times = createDeliveryTimes({
    memos: {
      async readMemos() {
        if (!store.works) throw new StoreUnavailable('no answer')
        return memos
      },
      writeMemo: async ({ name, value }: Memo) => void memos.set(name, value),
    },
    clock,
    emit: event => void told.push(event),
  })
  async function report(
    count: number,
    seconds: number,
    country = 'CN',
    more: Partial<EventOf<'receipt'>> = {},
  ): Promise<void> {
    for (let n = 0; n < count; n += 1)
      await times.note({
        type: 'receipt',
        channel: 'sms',
        provider: 'aliyun',
        providerId: '1',
        status: 'delivered',
        errorCode: null,
        result: 'recorded',
        country,
        arrivedAt: clock.now() - seconds * SECOND,
        ...more,
      })
  }
  const list = () =>
    times
      .list()
      .map(
        ({ country, latestMs, usualMs, isSlow }) =>
          `${country || 'all'} ${latestMs / SECOND} of ${Math.round((usualMs ?? 0) / SECOND)}${isSlow ? ', slow' : ''}`,
      )
  return { times, report, list, told, store }
}

t.test('it is slow at four times of what is usual, which a restart does not forget', async t => {
  const time = enterVirtualTime(t)
  const clock = { now: () => DAY + time.now() }
  const memos = new Map<string, string>()
  const before = createProcess(memos, clock)
  for (const given of [{ status: 'undelivered' }, { result: 'stale' }, { channel: 'email' }] as const)
    await before.report(30, 5, 'CN', given)
  await before.report(19, 5)
  t.same(before.list(), [], 'too few, or of no SMS that arrived')
  await before.report(1, 5)
  t.same(before.list(), ['all 5 of 0', 'CN 5 of 0'], 'nobody knows yet what is usual')
  await before.report(100, 5)
  await before.report(40, 5, 'US')
  await before.report(9, 7200)
  t.same(before.list(), ['all 5 of 7', 'CN 5 of 8', 'US 5 of 0'], 'some phones are off')
  await before.times.close()
  // One of which nothing was reported.
  await createProcess(memos, clock).times.close()

  const after = createProcess(memos, clock)
  after.store.works = false
  await after.report(1, 60)
  after.store.works = true
  await after.report(20, 20)
  t.same(after.list(), ['all 20 of 8', 'CN 20 of 9'], 'what the store could not say then is left out')
  await after.report(20, 40)
  t.same(after.list(), ['all 40 of 10, slow', 'CN 40 of 11'])
  time.tick(DAY)
  t.same(after.list(), ['all 40 of 10, slow', 'CN 40 of 11'])
  time.tick(1)
  t.same(after.list(), [], 'of a day ago nothing is said')
})

t.test('what took a second may take ten', async t => {
  const { report, list } = createProcess(new Map(), { now: () => DAY })
  await report(2000, 1)
  await report(20, 9)
  t.same(list(), ['all 9 of 1', 'CN 9 of 1'])
  await report(20, 10)
  t.same(list(), ['all 10 of 1, slow', 'CN 10 of 1, slow'])
})

t.test('metrics name ten countries of a carrier, the busiest that the store knows', async t => {
  const memos = new Map<string, string>()
  const clock = { now: () => DAY }
  const countries = Array.from('ABCDEFGHIJKL', letter => `X${letter}`)
  const named = (events: readonly ServiceEvent[]) =>
    events.flatMap(event => (event.type === 'delivered' ? event.country : []))
  const before = createProcess(memos, clock)
  for (const [at, country] of countries.entries()) await before.report(3 * at + 1, 5, country)
  t.same([...new Set(named(before.told))], [...countries.slice(0, 10), 'other'])
  await before.times.close()
  const after = createProcess(memos, clock)
  for (const country of countries) await after.report(1, 5, country)
  t.same(named(after.told), ['other', 'other', ...countries.slice(2)])
})

t.test('metrics and console have the time from the callback to the report', async t => {
  const PUBLIC_URL = 'https://courier.example.com'
  const clock = { now: () => Date.now() + later }
  let later = 0
  const rig = await startRig(t, { PUBLIC_URL, QUOTAS: 'sms-prefix-10m=off' }, { clock })
  const sids = () => rig.twilio.messages.map(({ sid }) => sid)
  for (let n = 0; n < 20; n += 1) await rig.post('sms', smsBody({ to: `138001380${10 + n}` }))
  await until(() => sids().length === 20, 'all are sent')
  later = 25_000
  for (const MessageSid of sids()) {
    const fields = { MessageSid, MessageStatus: 'delivered' }
    await rig.ask('/receipt/twilio', signedReport(PUBLIC_URL, fields))
  }
  await until(
    async () =>
      /delivered_seconds_count\{provider="twilio",country="CN"\} 20\n/.test(await rig.page('/metrics')),
    'all are counted',
  )
  t.match(await rig.page('/metrics'), 'delivered_seconds_bucket{le="20",provider="twilio",country="CN"} 0\n')
  t.match(await rig.page('/console'), /<dt>Delivered after<\/dt><dd>all countries: .*? \(– usual\)<br>CN: /)
})
