import type { Test } from 'tap'
import type { DeliveryReport, EventQueue, Outbox } from '../../../src/outbox/outbox.ts'
import type { Create } from '../contract.ts'
import { lease, sample } from '../samples.ts'
import { claimOne, fresh } from './store.ts'

function queueOf(outbox: Outbox): EventQueue {
  if (outbox.events === undefined) throw new Error('the store keeps no events')
  return outbox.events
}

/** What waits, as `type id`. */
async function waiting(outbox: Outbox): Promise<readonly string[]> {
  const { events } = await queueOf(outbox).readEvents(100)
  return events.map(({ type, message }) => `${type} ${message?.id ?? ''}`)
}

export async function events(t: Test, create: Create): Promise<void> {
  await t.test('a store that nobody wants to be told of keeps no events', async t => {
    const { outbox, clock, reopen } = await fresh(t, create)
    t.equal(outbox.events, undefined)
    const ours = lease(clock)
    const acceptance = sample(clock, { lease: ours })
    await outbox.accept([acceptance])
    await outbox.settle(acceptance.message.id, ours, { to: 'final', state: 'sent', answer: null })
    t.same(await waiting(await reopen({ keepsEvents: true })), [])
  })

  await t.test('a retry is no end, and a delivery report is told with what it says', async t => {
    const { outbox, clock } = await fresh(t, create, { keepsEvents: true })
    const acceptance = sample(clock, { channel: 'email', purpose: 'alarm' })
    await outbox.accept([acceptance])
    const { id, lease: ours } = await claimOne(outbox)
    await outbox.settle(id, ours, { to: 'queued', dueAt: clock.now() })
    t.same(await waiting(outbox), [])
    const again = await claimOne(outbox)
    await outbox.settle(id, again.lease, { to: 'final', state: 'sent', answer: null, providerId: 'Q7' })
    const report: DeliveryReport = {
      channel: 'email',
      providerId: 'Q7',
      status: 'undelivered',
      errorCode: '30003',
      fault: { verdict: 'recipient', scope: 'recipient', reason: 'it is off' },
      at: clock.now(),
    }
    const { kind, masked, arrivedAt } = acceptance.message
    const whose = { kind, masked, recipient: acceptance.recipientHash, country: null, arrivedAt }
    t.same(await outbox.writeReceipt(report), { is: 'recorded', ...whose })
    t.same(await outbox.writeReceipt(report), { is: 'stale' })
    const { events: read } = await queueOf(outbox).readEvents(100)
    const { status, errorCode, fault } = report
    t.same(read[1]?.data, { status, errorCode, fault, at: clock.now() })
  })

  await t.test('events stay until they are removed, in their order, through a restart', async t => {
    const { outbox, clock, reopen } = await fresh(t, create, { keepsEvents: true })
    const queue = queueOf(outbox)
    for (let n = 0; n < 5; n += 1)
      await queue.addEvent({ type: 'provider.down', at: clock.now() + n, data: { provider: `p${n}` } })
    const first = await queue.readEvents(2)
    t.equal(first.waiting, 5)
    await queue.removeEvents(first.events.map(({ seq }) => seq))
    await queue.removeEvents([])
    const { events: rest, waiting: left } = await queueOf(await reopen()).readEvents(100)
    t.equal(left, 3)
    t.same(
      rest.map(({ type, message, data }) => [type, message, data]),
      ['p2', 'p3', 'p4'].map(provider => ['provider.down', null, { provider }]),
    )
  })

  await t.test('the oldest are dropped beyond a number, and what is too old', async t => {
    const { outbox, clock } = await fresh(t, create, { keepsEvents: true })
    const queue = queueOf(outbox)
    const at = clock.now()
    for (let n = 0; n < 6; n += 1) await queue.addEvent({ type: 'provider.up', at: at + n, data: { n } })
    t.equal(await queue.dropEvents(100, at), 0)
    t.equal(await queue.dropEvents(4, at), 2, 'the oldest two of six')
    t.equal(await queue.dropEvents(100, at + 3), 1, 'and one of before')
    const { events: rest } = await queue.readEvents(100)
    t.same(
      rest.map(({ data }) => data?.['n']),
      [3, 4, 5],
    )
    t.equal(await queue.dropEvents(0, at), 3)
    t.same(await queue.readEvents(100), { events: [], waiting: 0 })
  })
}
