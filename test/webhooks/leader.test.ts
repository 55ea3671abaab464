import timers from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { ServiceEvent } from '../../src/events/events.ts'
import type { EventQueue } from '../../src/outbox/outbox.ts'
import type { PostResult } from '../../src/webhooks/post.ts'
import { createWebhooks, type WebhooksOptions } from '../../src/webhooks/webhooks.ts'
import { until } from '../rigs/service.ts'
import { createQueue } from './queue.ts'
import { SECRET } from './receiver.ts'

const BREAKER = { type: 'breaker', channel: 'email', provider: 'smtp', reason: '' } as const

function create(t: Test, queue: EventQueue, more: Partial<WebhooksOptions> = {}) {
  const emitted: ServiceEvent[] = []
  const bodies: string[] = []
  const results: PostResult[] = []
  const webhooks = createWebhooks({
    events: queue,
    poster: {
      async post(_headers, body) {
        bodies.push(body)
        return results.shift() ?? { is: 'delivered' }
      },
      close: async () => {},
    },
    keys: [Buffer.from(SECRET)],
    mostWaiting: 1000,
    takeLease: undefined,
    providers: () => [{ provider: 'smtp', channel: 'email', breaker: 'open' }],
    clock: { now: () => Date.now() },
    wall: Date.now,
    random: () => 0,
    emit: event => void emitted.push(event),
    ...more,
  })
  t.teardown(() => webhooks.stop())
  webhooks.start()
  return { webhooks, emitted, bodies, results }
}

t.test('of several replicas the leader tells, and another one once it is gone', async t => {
  const { queue, fill, rows } = createQueue()
  let holder: string | null = null
  const pauses = t.capture(timers, 'setTimeout', timers.setTimeout)
  const asked = new Set<number>()
  const leaseOf = (name: string) => async (ttlMs: number) => {
    asked.add(ttlMs)
    if (holder === null || holder === name) holder = ttlMs === 0 ? null : name
    return holder === name
  }
  const one = create(t, queue, { takeLease: leaseOf('one') })
  await until(() => one.webhooks.status().leads, 'one leads')
  const other = create(t, queue, { takeLease: leaseOf('other') })
  other.webhooks.noteBreaker({ ...BREAKER, channel: 'sms', provider: 'twilio', state: 'open' })
  await fill(3)
  await until(() => rows().length === 0, 'all told')
  t.match(one.bodies.join(), 'provider.down', 'as its providers are: smtp is left alone')
  t.same(other.bodies, [])
  await one.webhooks.stop()
  await fill(1)
  await until(() => rows().length === 0, 'told by the other')
  t.ok(other.bodies.length > 0)
  t.notMatch(other.bodies.join(), 'twilio', 'what it saw before it led is not told late')
  t.same([...asked], [15_000, 0])
  t.same(new Set(pauses().map(({ args }) => args[0])), new Set([500, 5000]))
})

t.test('while a receiver is away, what is beyond the bounds is dropped and said', async t => {
  const { queue, fill, rows } = createQueue()
  await fill(30)
  const { emitted, bodies, results, webhooks } = create(t, queue, { mostWaiting: 10 })
  results.push({ is: 'failed', reason: 'http-503', retryAfterMs: 600_000 })
  await until(() => bodies.length === 1, 'asked once')
  await fill(30)
  await until(() => rows().length === 10, 'the newest stay')
  const dropped = emitted.flatMap(event => (event.type === 'webhooks-dropped' ? [event.count] : []))
  t.equal(dropped.reduce((sum, count) => sum + count, 0) + rows().length, 61)
  t.match(webhooks.status(), { failing: { reason: 'http-503' }, waiting: Number })
  t.equal(bodies.length, 1, 'its Retry-After is kept')
})

t.test('a store that fails is asked again, and a change of a provider is not forgotten', async t => {
  const { queue, state, rows } = createQueue()
  const pauses = t.capture(timers, 'setTimeout', timers.setTimeout)
  const { webhooks, emitted, bodies } = create(t, queue)
  await until(() => bodies.length === 1, 'how smtp is at the start')
  state.fails = true
  webhooks.noteBreaker({ ...BREAKER, state: 'closed' })
  await until(() => emitted.some(({ type }) => type === 'store-failed'), 'it failed')
  await until(() => pauses().some(({ args }) => args[0] === 1000), 'it rests')
  t.match(emitted.at(-1), { doing: 'webhooks', error: { message: 'no room' } })
  state.fails = false
  await until(() => bodies.length === 2, 'told after all')
  t.match(bodies[1], 'provider.up')
  await until(() => rows().length === 0, 'and removed')
})

t.test('a change of a provider that comes while the one before is stored is told, too', async t => {
  const { queue } = createQueue()
  let isFirst = true
  const { webhooks, bodies } = create(t, {
    ...queue,
    async addEvent(event) {
      await queue.addEvent(event)
      if (isFirst) webhooks.noteBreaker({ ...BREAKER, state: 'closed' })
      isFirst = false
    },
  })
  await until(() => bodies.join().includes('provider.up'), 'that it is back')
})

t.test('a provider that is being tried again is not up, and the end waits a second for a POST', async t => {
  const { queue, rows } = createQueue()
  let posted = ''
  const { webhooks } = create(t, queue, {
    providers: () => [{ provider: 'smtp', channel: 'email', breaker: 'half-open' }],
    poster: {
      post(_headers, body, signal) {
        posted = body
        const { promise, resolve } = Promise.withResolvers<PostResult>()
        signal.addEventListener('abort', () => resolve({ is: 'failed', reason: 'aborted' }))
        return promise
      },
      close: async () => void (posted = 'closed'),
    },
  })
  await until(() => posted !== '', 'how smtp is at the start')
  t.match(posted, /"type":"provider.down".*"data":{"provider":"smtp","channel":"email","at":\d{13}}/)
  const timers = t.capture(globalThis, 'setTimeout', setTimeout)
  await webhooks.stop()
  t.equal(posted, 'closed')
  t.equal(timers()[0]?.args[1], 1000)
  t.equal(webhooks.status().failing, null, 'that the end aborted it is no failure')
  t.equal(rows().length, 1, 'and its event is told after the next start')
})
