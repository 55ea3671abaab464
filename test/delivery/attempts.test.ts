import t from 'tap'
import { AMBIGUOUS, openBusy, openRig, pause, SENT, until } from './rig.ts'

t.test('what may have been sent, and waits in memory when its life ends, is unknown', async t => {
  const given = { lifeMs: 60_000, recipient: 'a@x.test' }
  const { provider, accept, view, clock, first } = await openBusy(t, {}, given)
  const isIn = (state: string) => async () => (await view(first.message.id)).state === state
  provider.asked[0]?.answer(AMBIGUOUS)
  await until('it waits in the store', isIn('queued'))
  await accept({ lifeMs: 600_000, recipient: 'b@x.test' })
  await until('another one is being sent', () => provider.asked.length === 2)
  clock.advance(6000)
  await until('it waits in memory', isIn('sending'))
  clock.advance(60_000)
  await until('it has ended', isIn('unknown'))
  t.equal(provider.asked.length, 2)
})

t.test('what waits in memory goes back to the store before its lease runs out', async t => {
  const given: string[] = []
  const { provider, accept, view, clock } = await openBusy(t, {
    attemptWithinMs: 60_000,
    leaseMs: 60_100,
    between: outbox => ({
      settle: (id, lease, settlement) => {
        if (settlement.to === 'queued' && settlement.uncounted === true) given.push(id)
        return outbox.settle(id, lease, settlement)
      },
    }),
  })
  const { acceptance } = await accept()
  const { id } = acceptance.message
  clock.advance(100)
  await pause(250)
  t.same(given, [], 'its lease outlives an attempt')
  clock.advance(1)
  await until('it is given back', () => given.includes(id))
  provider.respond = () => SENT
  provider.asked[0]?.answer(SENT)
  await until('it is sent', async () => (await view(id)).state === 'sent')
  t.match(await view(id), { attempts: 1, ambiguous: 0 }, 'as if it had never been taken')
})

t.test('a provider that loses a call is given up on within the limit', async t => {
  const { delivery, provider, accept, view } = await openRig(t, { attemptWithinMs: 50, leaseMs: 100_000 })
  provider.respond = undefined
  provider.aborted = () => undefined
  delivery.start()
  const { acceptance } = await accept()
  const { id } = acceptance.message
  await until('it is back in the queue', async () => (await view(id)).state === 'queued')
  t.match(await view(id), { ambiguous: 1, timeline: [{ code: 'attempt-limit' }] })
  t.ok(provider.asked[0]?.signal.aborted)
})
