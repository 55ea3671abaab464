import t from 'tap'
import { StoreUnavailable } from '../../src/outbox/outbox.ts'
import { openRig, SENT, until } from './rig.ts'

/** A store whose calls fail while `down`. */
function failing() {
  const state = { down: false, settles: 0, claims: 0 }
  const fail = () => Promise.reject(new StoreUnavailable('the store cannot commit now'))
  return {
    state,
    between: (outbox: Parameters<NonNullable<Parameters<typeof openRig>[1]>['between'] & object>[0]) => ({
      settle: (...given: Parameters<typeof outbox.settle>) => {
        state.settles += 1
        return state.down ? fail() : outbox.settle(...given)
      },
      claim: (...given: Parameters<typeof outbox.claim>) => {
        state.claims += 1
        return state.down ? fail() : outbox.claim(...given)
      },
    }),
  }
}

t.test('while an end cannot be written nothing is claimed or begun; then all goes on', async t => {
  const { state, between } = failing()
  const { delivery, provider, accept, store, view, events, outbox } = await openRig(t, {
    concurrency: 2,
    between,
  })
  provider.respond = undefined
  delivery.start()
  const sent = await accept({ code: 'sent' })
  await until('it is being sent', () => provider.asked.length === 1)
  state.down = true
  provider.asked[0]?.answer(SENT)
  await until('writing has failed', () => events.includes('store-failed settle'))
  const claims = state.claims
  await store({ code: 'waits' })
  delivery.wake('email')
  t.equal(delivery.reservePlace('email', 'code'), undefined, 'no place: it goes to the store')
  await until('it is asked again', () => state.settles > 2)
  t.equal(provider.asked.length, 1, 'nothing is begun')
  t.equal(state.claims, claims, 'nothing is claimed')
  t.equal(events.filter(each => each === 'store-failed settle').length, 1, 'and said once')
  t.match(await view(sent.acceptance.message.id), { state: 'sending' })

  state.down = false
  provider.respond = () => SENT
  await until('all is sent', async () => (await outbox.queries.readSummary(0, 60_000)).backlog.email === 0)
  t.match(await view(sent.acceptance.message.id), { state: 'sent', attempts: 1 })
  t.equal(provider.asked.length, 2)
})

t.test('who waits hears the provider’s verdict, though it is not written yet', async t => {
  const { state, between } = failing()
  const { delivery, provider, accept, verdicts } = await openRig(t, { between })
  provider.respond = undefined
  delivery.start()
  const { acceptance } = await accept()
  await until('it is being sent', () => provider.asked.length === 1)
  state.down = true
  const heard = new Promise(resolve => verdicts.wait(acceptance.message.id, resolve))
  provider.asked[0]?.answer(SENT)
  t.match(await heard, { is: 'final', state: 'sent' })
  state.down = false
})

t.test('a claim that fails is tried again', async t => {
  const { state, between } = failing()
  const { delivery, store, view, events, clock } = await openRig(t, { between })
  const { message } = await store()
  state.down = true
  delivery.start()
  await until('claiming has failed', () => events.includes('store-failed claim'))
  state.down = false
  clock.advance(1000)
  await until('it is sent', async () => (await view(message.id)).state === 'sent')
})

t.test('ending does not wait for ever for a store that cannot write', async t => {
  const { state, between } = failing()
  const { delivery, provider, accept, view } = await openRig(t, { between })
  provider.respond = undefined
  delivery.start()
  const { acceptance } = await accept()
  await until('it is being sent', () => provider.asked.length === 1)
  state.down = true
  provider.asked[0]?.answer(SENT)
  await delivery.stop(100, 100)
  t.match(await view(acceptance.message.id), { state: 'sending' }, 'its lease is what is left')
})
