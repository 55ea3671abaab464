import t from 'tap'
import { type AlertsOptions, createAlerts } from '../../src/devices/alerts.ts'
import type { ServiceEvent } from '../../src/events/events.ts'
import { quote } from '../../src/language/sentence.ts'
import { StoreUnavailable } from '../../src/outbox/outbox.ts'
import { inEnglish } from '../language/english.ts'
import { connecting, device, large, quick, second, subscribed } from './line.ts'
import { bob, row } from './rig.ts'

t.test('the client authenticates, subscribes to each topic, and hands on the messages', async t => {
  const { server, reporter, messages, contract, until, client } = await subscribed(t)
  t.same([...server.statistics().topics].sort(), [
    '/device-biz/state/product',
    '/device/alert/product/+',
    'thing/event/+/event_report',
  ])
  server.publish(reporter.online(device, false))
  server.publish(reporter.alert(large, true))
  server.publish(reporter.event(second, 'door', { open: 1 }))
  server.publish(reporter.attributes(device, { temperature: 4 }))
  await until(() => messages.length === 3)
  const kinds = messages.map(({ kind }) => kind).sort()
  t.same(kinds, ['alert', 'event', 'online-state'], 'not what was not asked for')
  t.same(contract.violations(), [])
  t.match(client.status(), { subscribed: true, received: 3, malformed: 0, lastEnd: null })
})

t.test('messages arrive cut at any byte, without separators, under msgId, on either stream', async t => {
  for (const on of ['subscription', 'authentication'] as const) {
    const { server, reporter, ids, malformed, until, client } = await connecting(t)
    client.stop()
    Object.assign(server.variant, { idKey: 'msgId', on, separator: '' })
    server.setFault('chunks', true)
    client.start()
    await until(() => client.status().subscribed)
    const sent = Array.from({ length: 50 }, (_, n) => {
      const publication = reporter.online(n % 2 ? device : large, n % 3 === 0)
      server.publish(publication)
      return publication.id
    })
    await until(() => ids().length === 50)
    t.same(ids(), sent, on)
    t.same(malformed, [])
  }
})

t.test('a message that cannot be used is reported by its shape, and those around it come', async t => {
  const { server, reporter, ids, malformed, until, client, ends } = await subscribed(t)
  const sent = [reporter.alert(device, true), reporter.alert(device, true)] as const
  server.publish(sent[0])
  server.publish({ topic: sent[0].topic, id: 'x', payload: { alert: 'none' } })
  server.publish(sent[1])
  await until(() => ids().length === 2)
  t.same(ids(), [sent[0].id, sent[1].id])
  t.match(malformed, [{ topic: 'alert', shape: /"topic":"string".*"payload":\{"alert":"string"\}/ }])
  t.match(client.status(), { malformed: 1 })
  t.same(ends, [])
})

t.test('what breaks the stream ends the connection, and the next one is heard', async t => {
  const { server, reporter, ids, malformed, ready, until, ends } = await subscribed(t)
  server.setFault('garbage', true)
  server.setFault('chunks', true)
  server.publish(reporter.alert(device, true))
  await until(() => ends.length === 1)
  t.same(ends, ['closed: the server sends an object that is not JSON'])
  t.same(malformed, [{ topic: '', fault: 'an object that is not JSON', shape: '' }])
  server.setFault('garbage', false)
  await ready()
  const publication = reporter.alert(device, true)
  server.publish(publication)
  await until(() => ids().includes(String(publication.id)))
})

t.test('a connection whose bytes come slowly stays open', async t => {
  const { server, reporter, ids, until, ends } = await subscribed(t)
  server.setFault('slow', true)
  for (let n = 0; n < 3; n += 1) server.publish(reporter.online(device, true))
  await until(() => ids().length === 3)
  t.same(ends, [])
})

t.test('after a cut the client connects and subscribes again', async t => {
  const { server, reporter, ids, ready, until, client, logins, ends } = await connecting(t)
  for (let times = 1; times <= 3; times += 1) {
    await until(() => ends.length === times - 1 && client.status().subscribed)
    server.publish(reporter.online(device, true))
    await until(() => ids().length === times)
    server.proxy.cut()
    await until(() => ends.length === times)
  }
  await ready()
  t.equal(logins(), 1, 'the credential is still good')
})

t.test('the client tries to connect until it succeeds', async t => {
  const drawn = [0, 1]
  const random = () => drawn.shift() ?? 0.5
  const { server, reporter, ids, ready, until, client, ends, waits } = await subscribed(t, { random })
  server.proxy.setDown(true)
  await until(() => ends.length >= 4)
  t.same(waits.slice(0, 3), [40, 60, 50], 'a fifth to either side')
  t.notOk(client.status().subscribed)
  server.proxy.setDown(false)
  await ready()
  server.publish(reporter.online(device, true))
  await until(() => ids().length === 1)
})

t.test('the time without a subscription counts over all the tries that fail meanwhile', async t => {
  let now = 0
  const { server, until, ends, client } = await subscribed(t, { now: () => now })
  now += 700
  t.match(client.status(), { subscribed: true, forMs: 700, lastEnd: null })
  server.proxy.setDown(true)
  await until(() => ends.length > 0)
  now += 5000
  await until(() => ends.length > 2)
  t.match(client.status(), { subscribed: false, forMs: 5000, lastEnd: { is: 'closed' } })
  client.stop()
  now += 100
  const nothing = { subscribed: false, forMs: 100, lastEnd: null, refused: [] }
  t.match(client.status(), nothing, 'another process watches meanwhile: its troubles are not this one’s')
})

t.test('a silent connection is ended though it stays open', async t => {
  const { server, ready, until, ends } = await subscribed(t)
  server.proxy.setSilent(true)
  await until(() => ends.length === 1)
  t.equal(ends[0], `silent: nothing was heard for ${quick.silenceMs} ms`)
  server.proxy.setSilent(false)
  await ready()
})

t.test('a connection without messages stays open while heartbeats are answered', async t => {
  for (const heartbeat of ['ping', 'settings', 'post:/auth'] as const) {
    const { ends } = await subscribed(t, { heartbeat })
    await new Promise(resolve => setTimeout(resolve, quick.silenceMs * 2))
    t.equal(ends.length, 0, heartbeat)
  }
})

t.test('a refused credential is replaced at once', async t => {
  const { server, tokens, ready, until, logins, ends, waits } = await subscribed(t)
  tokens.revoke()
  server.proxy.cut()
  await until(() => ends.length === 2)
  await ready()
  t.equal(waits[1], 0, 'without waiting for the next try')
  t.equal(logins(), 2)
  t.match(ends[1], /^refused: authenticate: refused: HTTP 403, code 4031003/)
})

t.test('an application that stays refused logs in at once only once', async t => {
  const { logins, until, ends, waits } = await connecting(t, { appId: 'somebody-else' })
  await until(() => ends.length >= 6)
  const atOnce = waits.slice(0, 6).map(ms => ms === 0)
  t.same(atOnce, [true, false, true, false, true, false])
  t.ok(ends.every(end => end.startsWith('refused: authenticate')))
  t.equal(logins(), ends.length, 'one login a try, none more')
})

t.test('a wrong path is told and tried again, with another token when it may have ended', async t => {
  let now = 0
  const { until, ends, logins } = await connecting(t, { paths: ['/auth', '/wrong'], tokensNow: () => now })
  await until(() => ends.length >= 3)
  t.match(ends[0], /^refused: subscribe to .*: refused: HTTP 404, code 4041001/)
  t.equal(logins(), 1)
  now = 5 * 60_000
  const before = ends.length
  await until(() => ends.length >= before + 3)
  t.equal(logins(), 2, 'one that has ended may be refused by any code')
})

t.test('a topic that is refused does not end the others', async t => {
  const { ddq, server, reporter, client, until } = await connecting(t)
  client.stop()
  const told: ServiceEvent[] = []
  // One message for all of them fills the notifier.
  const recipients = Array.from({ length: 500 }, (_, n) => ({ ...bob, to: `+${n}` }))
  const alerts = createAlerts({
    ddq: { ...ddq, topics: ['/device-biz/state/product', ''] },
    rows: [row({ source: 'state', product: large.productId, recipients })],
    storeKeys: { bucketHash: (...of: readonly string[]) => of.join() },
    outbox: { memos: { readMemos: () => Promise.reject(new StoreUnavailable(quote('full'))) } },
    emit: (event: ServiceEvent) => told.push(event),
  } as unknown as AlertsOptions)
  alerts.start()
  await until(() => alerts.status().subscribed)
  server.publish(reporter.online(device, true))
  server.publish({ topic: '/device-biz/state/product', id: 'x', payload: {} })
  await until(() => alerts.status().malformed === 1)
  t.match(alerts.status(), { leads: true, received: 1, refused: [{ topic: '' }] })
  server.proxy.cut()
  await until(() => told.some(({ type }) => type === 'ddq-ended') && alerts.status().subscribed)
  t.equal(alerts.status().refused.length, 1, 'by this connection')
  for (let n = 0; n < 9; n += 1) server.publish(reporter.online(large, n % 2 > 0))
  await until(() => told.some(({ type }) => type === 'store-failed'))
  await alerts.stop()
  const begun = [
    { type: 'ddq-topic-refused', topic: '', why: /^refused: HTTP 400/ },
    { type: 'ddq-subscribed', topics: 1 },
  ]
  t.match(inEnglish(told), [
    { type: 'ddq-leader', leads: true },
    ...begun,
    { type: 'ddq-message', topic: 'online-state' },
    { type: 'ddq-malformed', topic: 'online-state', fault: /product_id/, shape: /^\{"topic":"string"/ },
    { type: 'ddq-ended', is: 'closed', why: /./, waitMs: 50 },
    ...begun,
    { type: 'ddq-message', topic: 'online-state' },
    { type: 'store-failed', doing: 'alerts' },
    { type: 'ddq-leader', leads: false },
  ])
})

t.test('a failed login ends the connection, and is tried again', async t => {
  const credential = {
    getToken: async () => ({ is: 'unreachable', message: quote('ECONNREFUSED') }) as const,
    refused: () => {},
  }
  const { until, ends } = await connecting(t, { credential })
  await until(() => ends.length >= 2)
  t.equal(ends[0], 'refused: log in: ECONNREFUSED')
})

t.test('a stopped client does not connect again', async t => {
  const { client, server, until } = await subscribed(t)
  client.stop()
  await until(() => server.statistics().connections === 0)
  await new Promise(resolve => setTimeout(resolve, quick.reconnectMs * 3))
  t.equal(server.statistics().connections, 0)
  t.notOk(client.status().subscribed)
})

t.test('a slow consumer slows the stream down, and memory stays bounded', async t => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  let handled = 0
  const { server, reporter, until, messages, client, ends } = await subscribed(t, {
    onMessage: async () => {
      handled += 1
      if (handled === 10) await gate
    },
  })
  const total = 20_000
  let at = 0
  for (; at < total; at += 1) {
    server.publish(reporter.online(device, true))
    if (at % 100 === 0) await new Promise(resolve => setImmediate(resolve))
  }
  await new Promise(resolve => setTimeout(resolve, quick.silenceMs * 2))
  t.equal(handled, 10, 'nothing more is handled while one waits')
  t.ok(client.status().subscribed, 'and the connection does not count as dead')
  t.same(ends, [])
  open()
  await until(() => messages.length === total)
  t.equal(server.statistics().overruns, 0)
})
