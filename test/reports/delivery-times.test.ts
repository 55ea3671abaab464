import { readFileSync } from 'node:fs'
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
  const expiries: unknown[] = []
  const times = createDeliveryTimes({
    memos: {
      async readMemos() {
        if (!store.works) throw new StoreUnavailable('no answer')
        return memos
      },
      async writeMemo({ name, value, expiresAt }: Memo) {
        if (!store.works) throw new StoreUnavailable('no answer')
        memos.set(name, value)
        expiries.push(expiresAt)
      },
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
  return { times, report, list, told, store, expiries }
}

t.test('it is slow at four times of what is usual, which a restart does not forget', async t => {
  const time = enterVirtualTime(t)
  const clock = { now: () => DAY + time.now() }
  const memos = new Map<string, string>()
  const before = createProcess(memos, clock)
  for (const given of [
    { status: 'undelivered' },
    { result: 'stale' },
    { channel: 'email' },
    { arrivedAt: undefined } as object,
  ] as const)
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

t.test('the median counts, by carrier and country; what is usual is stored each minute', async t => {
  const time = enterVirtualTime(t)
  const memos = new Map<string, string>()
  const clock = { now: () => DAY + time.now() }
  const { times, report, told, store, expiries } = createProcess(memos, clock)
  for (let n = 0; n < 20; n += 1) await report(1, ((n * 7 + 3) % 20) + 1)
  await report(49, -1, '', { provider: 'twilio', country: null })
  const record = [told[0], told[20], ...times.list()].map(each => JSON.stringify(each))
  t.equal(
    `${record.join('\n')}\n`,
    readFileSync(new URL('../fixtures/delivery-times.txt', import.meta.url), 'utf8'),
  )
  await report(1, 0, '', { provider: 'twilio', country: null })
  t.match(times.list()[2], { usualMs: 1 })
  time.tick(59_999)
  t.equal(memos.size, 0)
  store.works = false
  await time.pass(1)
  store.works = true
  await report(1, 5)
  await time.pass(30_000)
  await report(1, 5)
  await time.pass(30_000)
  t.same(expiries, [DAY + 120_000 + 90 * DAY])
  t.match(memos.get('delivery-times'), /^\[\["twilio ",{"ms":1,"count":50}\],\["twilio -"/)
})

t.test('what took a second may take ten', async t => {
  const { times, report, list } = createProcess(new Map(), { now: () => DAY })
  await report(2000, 1)
  await report(20, 9)
  t.same(list(), ['all 9 of 1', 'CN 9 of 1'])
  t.equal(Math.round(times.list()[0]?.usualMs ?? 0), 1090, 'the last 500 count')
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
  await before.report(1, 5, 'XA', { provider: 'twilio' })
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
  t.match(await rig.page('/console'), /<dt>Delivered after<\/dt><dd>all countries: .*? \(– usual\)<br>CN: /)
})
