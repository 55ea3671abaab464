import t from 'tap'
import { failFour, openBusy, openRig, rendered, SENT, until, verdictOn } from './rig.ts'

const GROUP = { recipient: 'ann@example.com' }

t.test('a code that waits in memory is superseded by a newer one, and who waits for it is told', async t => {
  const { provider, accept, view, verdicts } = await openBusy(t)
  const a = (await accept({ ...GROUP, code: '111111' })).acceptance.message
  const told = verdictOn(verdicts, a.id)
  const b = (await accept({ ...GROUP, code: '222222' })).acceptance.message
  t.same(await told, { is: 'final', state: 'superseded', answer: null }, 'at once')
  t.match(await view(a.id), { state: 'superseded' })
  provider.respond = () => SENT
  provider.asked[0]?.answer(SENT)
  await until('B is sent', async () => (await view(b.id)).state === 'sent')
  t.notOk(provider.asked.some(each => each.id === a.id))
})

t.test('the same when the newer one had no place in memory', async t => {
  const { delivery, provider, accept, view, clock } = await openBusy(t)
  const a = (await accept({ ...GROUP, code: '111111' })).acceptance.message
  let places = 0
  while (delivery.reservePlace('email', 'code', `${places}`) !== undefined) places += 1
  clock.advance(1)
  const b = (await accept({ ...GROUP, code: '222222' })).acceptance
  t.equal(b.lease, undefined)
  await until('A is superseded', async () => (await view(a.id)).state === 'superseded')
  provider.respond = () => SENT
  for (; places > 0; places -= 1) delivery.releasePlace('email')
  provider.asked[0]?.answer(SENT)
  await until('B is sent', async () => (await view(b.message.id)).state === 'sent')
  t.notOk(provider.asked.some(each => each.id === a.id))
})

t.test('a code that was claimed before the delivery hears of it is not superseded by itself', async t => {
  const { delivery, provider, store, view } = await openBusy(t)
  const { message, groupKey } = await store()
  await until('it waits in memory', () => delivery.status()[0]?.waiting === 1)
  delivery.submit({ message, groupKey, outgoing: rendered(message) })
  provider.respond = () => SENT
  provider.asked[0]?.answer(SENT)
  await until('it has ended', async () => !['queued', 'sending'].includes((await view(message.id)).state))
  t.match(await view(message.id), { state: 'sent' })
})

t.test('a message given back for want of a provider is superseded when a newer one came', async t => {
  const rig = await openRig(t, { concurrency: 1 })
  const { delivery, provider, accept, view, clock } = rig
  delivery.start()
  await failFour(rig)
  await accept()
  await until('the only connection is busy', () => provider.asked.length === 5)
  const a = (await accept({ ...GROUP, code: '111111' })).acceptance.message
  const refused = { is: 'retry', whose: 'later', code: 'ECONNREFUSED', reply: '', untouched: true } as const
  provider.asked[4]?.answer(refused)
  await until('A is back in the store', async () => (await view(a.id)).state === 'queued')
  const b = (await accept({ ...GROUP, code: '222222' })).acceptance
  t.equal(b.lease, undefined, 'the provider is left alone')
  t.match(await view(a.id), { state: 'superseded' })
  provider.respond = () => SENT
  clock.advance(5000)
  await until('B is sent', async () => (await view(b.message.id)).state === 'sent')
  t.notOk(provider.asked.some(each => each.id === a.id))
})
