import t, { type Test } from 'tap'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { openBusy, openRig, pause, rendered, SENT, until } from './rig.ts'

t.test('behind a slow provider a code that had no place in memory still comes next but a few', async t => {
  const { delivery, provider, accept, clock } = await openRig(t, { concurrency: 1 })
  provider.respond = undefined
  delivery.start()
  await pause(50)
  for (let n = 0; n < 300; n += 1) await accept({ code: `old ${n}` })
  // The first answer tells that the provider takes half a second for each.
  clock.advance(500)
  provider.asked[0]?.answer(SENT)
  await until('the second one is asked for', () => provider.asked.length > 1)
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

t.test('a code that comes during a claim is sent before what the claim took', async t => {
  const answer = Promise.withResolvers<void>()
  let claims = 0
  const { delivery, provider, store } = await openRig(t, {
    concurrency: 1,
    between: outbox => ({
      async claim(channel, limit, leaseMs, ...which) {
        const claimed = await outbox.claim(channel, limit, leaseMs, ...which)
        if (claimed.messages.length > 0) claims += 1
        if (claims === 1) await answer.promise
        return claimed
      },
    }),
  })
  for (let n = 1; n <= 3; n += 1) await store({ purpose: 'alarm', code: `alarm ${n}` })
  delivery.start()
  await until('the alarms are claimed', () => claims === 1)
  const { message, groupKey } = await store({ purpose: 'code', code: 'code' })
  delivery.submit({ message, groupKey, outgoing: rendered(message) })
  answer.resolve()
  await until('all are sent', () => provider.asked.length === 4)
  t.same(
    provider.asked.map(each => each.code),
    ['code', 'alarm 1', 'alarm 2', 'alarm 3'],
  )
})

t.test('while codes are due in the store, nothing else takes a place in memory before them', async t => {
  const { delivery, provider, store } = await openBusy(t, {}, { purpose: 'alarm', code: 'alarm 0' })
  const places = []
  for (;;) {
    const lease = delivery.reservePlace('email', 'code', `${places.length}`)
    if (lease === undefined) break
    places.push(lease)
  }
  t.ok(places.length > 0, 'memory is full')
  await store({ code: 'code 1' })
  delivery.wake('email')
  delivery.releasePlace('email')
  t.equal(delivery.reservePlace('email', 'alarm', ''), undefined, 'an alarm waits behind the code')
  t.not(delivery.reservePlace('email', 'code', ''), undefined, 'a newer code does not')
  t.equal(delivery.reservePlace('email', 'code', 'x'), undefined, 'there was room for one')
  provider.respond = () => SENT
  for (const _ of places.slice(1)) delivery.releasePlace('email')
  provider.asked[0]?.answer(SENT)
  await until('the code is sent', () => provider.asked.length === 2)
  t.equal(provider.asked[1]?.code, 'code 1')
})

/** A loop over a store whose claims take as long as the test says. */
async function slowToClaim(t: Test, concurrency: number) {
  let wait: Promise<void> | undefined
  let held = 0
  const between = (outbox: Outbox): Partial<Outbox> => ({
    async claim(...args) {
      if (wait !== undefined) {
        held += 1
        await wait
      }
      return outbox.claim(...args)
    },
  })
  const rig = await openRig(t, { concurrency, between })
  return {
    ...rig,
    /** How many claims were held up. */
    held: () => held,
    /** Holds up claims from now on. @returns lets go of them. */
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>()
      wait = promise
      t.teardown(resolve)
      return () => {
        wait = undefined
        resolve()
      }
    },
  }
}

t.test('what comes while codes are being claimed waits behind them', async t => {
  const { delivery, provider, store, accept, hold, held } = await slowToClaim(t, 1)
  for (let n = 0; n < 300; n += 1) await store({ code: `code ${n}` })
  provider.respond = undefined
  delivery.start()
  await until('the first is asked for', () => provider.asked.length === 1)
  const release = hold()
  provider.respond = () => SENT
  provider.asked[0]?.answer(SENT)
  await until('the rest is being claimed', () => held() > 0)
  await accept({ purpose: 'alarm', code: 'alarm' })
  await pause(50)
  release()
  await until('all are sent', () => provider.asked.length === 301)
  t.equal(provider.asked.at(-1)?.code, 'alarm')
})

t.test('what waits in memory waits on while codes that had no place there are fetched', async t => {
  const { delivery, provider, accept, hold, held } = await slowToClaim(t, 1)
  provider.respond = undefined
  delivery.start()
  await pause(50)
  for (let n = 0; n < 5; n += 1) await accept({ purpose: 'alarm', code: `alarm ${n}` })
  await until('the first is asked for', () => provider.asked.length === 1)
  const release = hold()
  for (let n = 0; n < 300; n += 1) await accept({ code: `code ${n}` })
  provider.respond = () => SENT
  provider.asked[0]?.answer(SENT)
  await until('the rest is being claimed', () => held() > 0)
  await until('memory is worked off', () => provider.asked.length > 180)
  await pause(50)
  t.notOk(
    provider.asked.slice(1).some(each => each.code.startsWith('alarm')),
    'memory has no codes left, and the store has',
  )
  release()
  await until('all are sent', () => provider.asked.length === 305)
  const order = provider.asked.map(each => each.code)
  t.ok(order.slice(1, 301).every(each => each.startsWith('code')))
})
