import t from 'tap'
import { sample } from '../outbox/samples.ts'
import { ABORTED, AMBIGUOUS, openBusy, openRig, pause, rendered, SENT, until, verdictOn } from './rig.ts'

t.test('ending gives back what has not begun and lets what is in flight finish', async t => {
  const { delivery, provider, accept, view, verdicts, first } = await openBusy(t)
  const waits = (await accept()).acceptance.message
  const told = verdictOn(verdicts, waits.id)
  const stopped = delivery.stop(10_000, 10_000)
  t.match(await told, { is: 'pending' })
  await until('it is given back', async () => (await view(waits.id)).state === 'queued')
  t.match(await view(waits.id), { attempts: 0, ambiguous: 0 }, 'as if it had never been taken')
  provider.asked[0]?.answer(SENT)
  await stopped
  t.match(await view(first.message.id), { state: 'sent' })
  t.equal(provider.asked.length, 1)
})

t.test('what is still in flight is aborted: untouched goes back, the rest is what it became', async t => {
  const { delivery, provider, accept, view } = await openRig(t, { concurrency: 3 })
  provider.respond = undefined
  provider.aborted = ({ code }) =>
    code === 'untouched'
      ? ABORTED
      : code === 'begun'
        ? { is: 'retry', whose: 'later', code: 'aborted', reply: '' }
        : AMBIGUOUS
  delivery.start()
  const ids = new Map<string, string>()
  for (const code of ['untouched', 'begun', 'dotted'])
    ids.set(code, (await accept({ code })).acceptance.message.id)
  await until('all are being sent', () => provider.asked.length === 3)
  await delivery.stop(20, 10_000)
  const after = (code: string) => view(ids.get(code) ?? '')
  t.match(await after('untouched'), { state: 'queued', attempts: 0, ambiguous: 0, timeline: [] })
  t.match(await after('begun'), {
    state: 'queued',
    attempts: 1,
    ambiguous: 0,
    timeline: [{ outcome: 'retry' }],
  })
  t.match(await after('dotted'), { state: 'queued', attempts: 1, ambiguous: 1 })
})

t.test('ending waits for a callback that is being stored, and gives its message back', async t => {
  const { delivery, provider, outbox, clock, view } = await openRig(t)
  delivery.start()
  await pause(30)
  const lease = delivery.reservePlace('email', 'code', '')
  if (lease === undefined) throw new Error('there is no place')
  let stopped = false
  const stop = delivery.stop(10_000, 10_000).then(() => {
    stopped = true
  })
  await pause(50)
  t.notOk(stopped, 'it waits')
  const acceptance = { ...sample(clock), lease }
  await outbox.accept([acceptance])
  const { message } = acceptance
  delivery.submit({ message, lease, outgoing: rendered(message) })
  await stop
  t.match(await view(message.id), { state: 'queued', attempts: 0, ambiguous: 0 })
  t.equal(provider.asked.length, 0)
})

t.test('ending waits for a claim that is under way, and gives back what it brings', async t => {
  let release: (() => void) | undefined
  const { delivery, provider, store, view } = await openRig(t, {
    between: outbox => ({
      claim: async (...given) => {
        const claimed = await outbox.claim(...given)
        if (given[0] === 'email') {
          await new Promise<void>(resolve => {
            release = resolve
          })
        }
        return claimed
      },
    }),
  })
  const { message } = await store()
  delivery.start()
  await until('it is claimed', async () => (await view(message.id)).state === 'sending')
  const stop = delivery.stop(10_000, 10_000)
  await until('the claim is back', () => release !== undefined)
  release?.()
  await stop
  t.match(await view(message.id), { state: 'queued', attempts: 0, ambiguous: 0 })
  t.equal(provider.asked.length, 0)
})

t.test('a callback that is stored while it ends waits no longer than the end', async t => {
  const { delivery, store, verdicts } = await openBusy(t)
  const stop = delivery.stop(50, 50)
  const { message } = await store()
  t.same(await verdictOn(verdicts, message.id), { is: 'pending' })
  await stop
  const { message: later } = await store()
  t.same(await verdictOn(verdicts, later.id), { is: 'pending' })
})
