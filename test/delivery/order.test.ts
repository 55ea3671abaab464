import t from 'tap'
import { openRig, pause, SENT, until } from './rig.ts'

t.test('codes come first, newest first, then the rest, newest first', async t => {
  const { delivery, provider, store, clock } = await openRig(t, { concurrency: 1 })
  for (const [purpose, code] of [
    ['alarm', 'alarm 1'],
    ['code', 'code 1'],
    ['alarm', 'alarm 2'],
    ['code', 'code 2'],
    ['link', 'link 3'],
    ['code', 'code 3'],
  ] as const) {
    await store({ purpose, code })
    clock.advance(1)
  }
  delivery.start()
  await until('all are sent', () => provider.asked.length === 6)
  t.same(
    provider.asked.map(each => each.code),
    ['code 3', 'code 2', 'code 1', 'link 3', 'alarm 2', 'alarm 1'],
  )
})

t.test('the same in memory', async t => {
  const { delivery, provider, accept, clock } = await openRig(t, { concurrency: 1 })
  provider.respond = undefined
  delivery.start()
  await pause(50)
  await accept({ purpose: 'alarm', code: 'first' })
  for (const [purpose, code] of [
    ['code', 'code 1'],
    ['alarm', 'alarm 1'],
    ['code', 'code 2'],
    ['alarm', 'alarm 2'],
  ] as const) {
    clock.advance(1)
    await accept({ purpose, code })
  }
  provider.respond = () => SENT
  provider.asked[0]?.answer(SENT)
  await until('all are sent', () => provider.asked.length === 5)
  t.same(
    provider.asked.map(each => each.code),
    ['first', 'code 2', 'code 1', 'alarm 2', 'alarm 1'],
  )
})

t.test('behind a slow provider a code that had no place in memory still comes next but a few', async t => {
  const { delivery, provider, accept, clock } = await openRig(t, { concurrency: 1 })
  provider.respond = undefined
  delivery.start()
  await pause(50)
  for (let n = 0; n < 300; n += 1) await accept({ code: `old ${n}` })
  // The first answer tells that the provider takes half a second for each.
  clock.advance(500)
  provider.asked[0]?.answer(SENT)
  await until('the rest has gone to the store', () => (delivery.status()[0]?.waiting ?? 0) <= 2)
  clock.advance(1)
  await accept({ code: 'new' })
  for (let n = 1; n < 5; n += 1) {
    await until('the next one is asked for', () => provider.asked.length > n)
    clock.advance(500)
    provider.asked[n]?.answer(SENT)
  }
  const order = provider.asked.map(each => each.code)
  t.ok(order.indexOf('new') <= 3 && order.includes('new'), order.join())
})

t.test('while codes are due in the store, nothing else takes a place in memory before them', async t => {
  const { delivery, provider, store, accept } = await openRig(t, { concurrency: 1 })
  provider.respond = undefined
  delivery.start()
  await pause(50)
  await accept({ purpose: 'alarm', code: 'alarm 0' })
  await until('it is being sent', () => provider.asked.length === 1)
  const places = []
  for (;;) {
    const lease = delivery.reserve('email', 'code')
    if (lease === undefined) break
    places.push(lease)
  }
  t.ok(places.length > 0, 'memory is full')
  await store({ code: 'code 1' })
  delivery.nudge('email')
  delivery.unreserve('email')
  t.equal(delivery.reserve('email', 'alarm'), undefined, 'an alarm waits behind the code')
  t.not(delivery.reserve('email', 'code'), undefined, 'a newer code does not')
  provider.respond = () => SENT
  for (const _ of places) delivery.unreserve('email')
  provider.asked[0]?.answer(SENT)
  await until('the code is sent', () => provider.asked.length === 2)
  t.equal(provider.asked[1]?.code, 'code 1')
})

t.test('memory holds a bounded number, whatever comes', async t => {
  const { delivery, provider, accept, outbox } = await openRig(t, { concurrency: 2 })
  provider.respond = undefined
  delivery.start()
  await Promise.all(Array.from({ length: 1000 }, (_, n) => accept({ code: `c${n}` })))
  const [lane] = delivery.status()
  t.ok((lane?.waiting ?? 0) + (lane?.inFlight ?? 0) <= 258, `${lane?.waiting} wait`)
  provider.respond = () => SENT
  for (const asked of provider.asked) asked.answer(SENT)
  await until('all are sent', async () => (await outbox.desk.summary(0, 60_000)).backlog.email === 0)
  t.equal(provider.asked.length, 1000)
  t.equal(new Set(provider.asked.map(each => each.id)).size, 1000, 'each once')
})

t.test('while a backlog is worked off, a code that comes has a place in memory and is next', async t => {
  const { delivery, provider, store, accept, clock } = await openRig(t, { concurrency: 4 })
  for (let n = 0; n < 100; n += 1) await store({ purpose: 'link', code: `link ${n}` })
  provider.respond = undefined
  delivery.start()
  await until('all connections are busy', () => provider.asked.length === 4)
  // Half a second each: few have a place in memory.
  clock.advance(500)
  for (const asked of provider.asked.slice(0, 4)) asked.answer(SENT)
  await until('the next are asked for', () => provider.asked.length === 8)
  // What has no place any more goes back to the store: until nothing has moved for a while.
  let seen = { held: -1, at: 0 }
  await until('memory has come to rest', () => {
    const [lane] = delivery.status()
    const held = (lane?.waiting ?? 0) + (lane?.inFlight ?? 0)
    if (held !== seen.held) seen = { held, at: performance.now() }
    return performance.now() - seen.at > 300
  })
  const { acceptance } = await accept({ code: 'code' })
  t.not(acceptance.lease, undefined, 'it need not go round by the store')
  provider.asked[4]?.answer(SENT)
  await until('the next is asked for', () => provider.asked.length === 9)
  t.equal(provider.asked[8]?.code, 'code')
})
