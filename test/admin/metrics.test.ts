import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import t from 'tap'
import { createMetrics } from '../../src/admin/metrics/metrics.ts'
import { COUNTERS, HISTOGRAMS } from '../../src/admin/metrics/table.ts'
import type { ServiceView } from '../../src/admin/service-view.ts'
import type { PartialFault } from '../../src/events/events.ts'
import { createEmitter, type ServiceEvent } from '../../src/events/events.ts'
import { StoreUnavailable } from '../../src/outbox/outbox.ts'
import { until } from '../rigs/until.ts'
import { idleCarrier, viewOf } from '../rigs/view.ts'
import { everyEvent, view } from './every-event.ts'

/** Our own lines of a scrape: the names of the library's default metrics have another prefix. */
async function scrape(
  events: readonly ServiceEvent[],
  given: Partial<ServiceView> = {},
): Promise<readonly string[]> {
  const metrics = createMetrics(['twilio'])
  const emit = createEmitter(metrics.sinks)
  for (const event of events) emit(event)
  return (await metrics.scrape({ ...view, ...given }))
    .split('\n')
    .filter(line => line.includes('callback_courier_'))
}

t.test('every event leaves exactly its samples: names, labels, values and units', async t => {
  const expected = readFileSync(join(import.meta.dirname, '../fixtures/scrape.txt'), 'utf8')
  const well = viewOf({
    channelStatus: () => [idleCarrier, { ...idleCarrier, channel: 'email', provider: 'smtp' }],
  })
  const gauges = (await scrape([], well)).filter(line => !/^#|_(?:total|bucket|sum|count)\b/.test(line))
  t.same([...(await scrape(everyEvent)), '= all is well', ...gauges], expected.trimEnd().split('\n'))
})

t.test('an event adds no series to a metric whose series are there from the start', async t => {
  const names = [...COUNTERS, ...HISTOGRAMS].filter(({ initial }) => initial).map(({ name }) => name)
  const seriesOf = (lines: readonly string[]) =>
    lines
      .filter(line =>
        names.some(name => new RegExp(`^callback_courier_${name}(?:_bucket|_sum|_count)?[ {]`).test(line)),
      )
      .map(line => line.replace(/ \S+$/, ''))
  const before = seriesOf(await scrape([]))
  t.ok(before.length > 200, `${before.length} series`)
  t.same(seriesOf(await scrape(everyEvent)), before)
})

t.test('a store that does not answer is down, and what is not known has no sample', async t => {
  const lines = await scrape([], {
    queries: {
      ...view.queries,
      readSummary: () => Promise.reject(new StoreUnavailable('no answer')),
    },
    certificate: () => null,
    renewalRefused: () => null,
  })
  t.ok(lines.includes('callback_courier_store_up 0'))
  const unknown =
    /^callback_courier_(?:store_bytes|backlog|oldest_seconds|waiting_recipients|certificate_remaining_seconds|certificate_renewal_refused)[ {]/
  t.same(
    lines.filter(line => unknown.test(line)),
    [],
  )
})

t.test('while the store does not answer, its figures stay, and a fault that is over is over', async t => {
  const metrics = createMetrics([])
  const summary = await view.queries.readSummary(0)
  const seen = async (given: Partial<ServiceView>) =>
    (await metrics.scrape({ ...view, ...given }))
      .split('\n')
      .filter(line => /^callback_courier_(?:partial_fault|backlog\{channel="sms"\}|store_up)/.test(line))
      .map(line => line.replace(/\{.*\}/, ''))
  const refusing = (...partialFaults: readonly PartialFault[]) => ({
    channelStatus: () =>
      view
        .channelStatus()
        .slice(0, 1)
        .map(each => ({ ...each, partialFaults })),
  })
  const fault = {
    scope: 'country',
    name: 'US',
    kind: 'k',
    since: 0,
    until: null,
    code: '1',
    reply: '',
  } as const
  t.same(
    await seen({
      ...refusing(fault),
      queries: { ...view.queries, readSummary: async () => ({ ...summary, backlog: { email: 0, sms: 7 } }) },
    }),
    ['callback_courier_backlog 7', 'callback_courier_store_up 1', 'callback_courier_partial_fault 1'],
  )
  t.same(
    await seen({
      ...refusing(),
      queries: { ...view.queries, readSummary: () => Promise.reject(new StoreUnavailable('no answer')) },
    }),
    ['callback_courier_backlog 7', 'callback_courier_store_up 0'],
  )
})

t.test('codes that servers invent are sixty labels, and one for all others', async t => {
  const [attempt] = everyEvent.filter(event => event.type === 'attempt')
  if (attempt === undefined) throw new Error('no attempt')
  const coded = (code: string) => ({ ...attempt, outcome: { is: 'ambiguous', code, reply: '' } }) as const
  const events = [...Array.from({ length: 62 }, (_, n) => coded(`E${n}`)), coded('E0'), coded('E59')]
  const lines = (await scrape(events)).filter(line => line.startsWith('callback_courier_attempts_total{'))
  t.equal(lines.length, 61)
  t.same(
    lines.filter(line => !line.endsWith(' 1')).map(line => line.replace(/.*reason=/, '')),
    ['"E0"} 2', '"E59"} 2', '"other"} 2'],
  )
})

t.test('only the replica that tells says how many events wait; a backlog is asked for since now', async t => {
  const waiting = async (leads: boolean) =>
    (
      await scrape([], {
        webhooks: () => ({ leads, isGone: false, failing: null, waiting: 7, oldestAt: view.now() + 1000 }),
      })
    ).filter(line => /_events_(?:waiting|oldest_seconds) /.test(line) && !line.startsWith('#'))
  t.same(await waiting(true), [
    'callback_courier_events_waiting 7',
    'callback_courier_events_oldest_seconds 0',
  ])
  t.same(await waiting(false), [])
  let since = 0
  const readSummary: ServiceView['queries']['readSummary'] = at => {
    since = at
    return view.queries.readSummary(at)
  }
  await scrape([], { queries: { ...view.queries, readSummary } })
  t.equal(since, view.now(), 'what ended is not counted again at each scrape')
})

t.test('no timer looks at the event loop; a scrape tells of the turns since the one before', async t => {
  const library = createRequire(import.meta.url)('node:perf_hooks')
  const monitors = t.capture(library, 'monitorEventLoopDelay', library.monitorEventLoopDelay)
  const timers = t.capture(globalThis, 'setInterval', setInterval)
  const metrics = createMetrics([])
  t.match(
    [...monitors(), ...timers()].map(({ args }) => args),
    [[{ resolution: 2_147_483_647 }], [Function, 1000]],
  )
  const longest = async () =>
    Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(await metrics.scrape(view))?.[1])
  await longest()
  const began = performance.now()
  while (performance.now() - began < 300);
  await new Promise(resolve => setImmediate(resolve))
  const first = await longest()
  t.ok(first >= 0.3 && first < 300, `${first} s`)
  await until(async () => (await longest()) < first, 'it is forgotten')
})
