import type { Test } from 'tap'
import type { DeliveryReport, EventQueue, Outbox } from '../../../src/outbox/outbox.ts'
import type { Create } from '../contract.ts'
import { lease, record, sample } from '../samples.ts'
import { claimOne, fresh } from './store.ts'

const DAY = 24 * 3_600_000

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

  await t.test('whatever ends a message leaves its event, in the same commit and once', async t => {
    const { outbox, clock, view } = await fresh(t, create, { keepsEvents: true })
    const ours = lease(clock)
    const sent = sample(clock, { lease: ours, recipient: 'sent@example.com' })
    const older = sample(clock, { recipient: 'two@example.com', code: '1' })
    await outbox.accept([sent, older])
    t.same(await waiting(outbox), [], 'nothing has ended')
    const settlement = {
      to: 'final',
      state: 'sent',
      answer: null,
      providerId: 'Q1',
      records: [record(clock, 'sent')],
    } as const
    await outbox.settle(sent.message.id, ours, settlement)
    t.same(await outbox.settle(sent.message.id, ours, settlement), { state: 'lost' }, 'settled once')
    const newer = sample(clock, { recipient: 'two@example.com', code: '2', lifeMs: 1000 })
    await outbox.accept([newer])
    const cancelled = sample(clock, { recipient: 'three@example.com' })
    await outbox.accept([cancelled])
    await outbox.actions.cancelMessage(cancelled.message.id)
    clock.advance(2000)
    await outbox.claim('email', 10, 60_000)
    t.same(await waiting(outbox), [
      `message.ended ${sent.message.id}`,
      `message.ended ${older.message.id}`,
      `message.ended ${cancelled.message.id}`,
      `message.ended ${newer.message.id}`,
    ])
    const { events: read } = await queueOf(outbox).readEvents(9)
    t.same(read[0]?.message, await view(sent.message.id), 'with the message as it is')
    t.same(
      read.map(({ at }) => clock.now() - at),
      [2000, 2000, 2000, 0],
      'when it ended, not when it came',
    )
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
    t.match(await outbox.writeReceipt(report), { is: 'recorded' })
    t.same(await outbox.writeReceipt(report), { is: 'stale' })
    const { events: read } = await queueOf(outbox).readEvents(100)
    t.same(
      read.map(({ type, message }) => [type, message?.id]),
      [
        ['message.ended', id],
        ['message.reported', id],
      ],
    )
    const { status, errorCode, fault } = report
    t.same(read[1]?.data, { status, errorCode, fault, at: clock.now() })
  })

  await t.test('a report that ends a message comes before its end', async t => {
    const { outbox, clock } = await fresh(t, create, { keepsEvents: true })
    const [waits, sent] = ['waits', 'sent'].map(name => {
      const held = lease(clock)
      return { held, given: sample(clock, { recipient: `${name}@example.com`, lease: held }) }
    })
    if (waits === undefined || sent === undefined) throw new Error('two')
    await outbox.accept([waits.given, sent.given])
    const [id, other] = [waits.given.message.id, sent.given.message.id]
    await outbox.settle(id, waits.held, { to: 'queued', dueAt: clock.now() + 5000, ambiguous: 1 })
    await outbox.settle(other, sent.held, { to: 'final', state: 'sent', answer: null, providerId: 'Q2' })
    const report = { channel: 'email', status: 'delivered', errorCode: null, at: clock.now() } as const
    await outbox.writeReceipt({ ...report, providerId: 'Q1', id })
    await outbox.writeReceipt({ ...report, providerId: 'Q2' })
    t.same(await waiting(outbox), [
      `message.ended ${other}`,
      `message.reported ${id}`,
      `message.ended ${id}`,
      `message.reported ${other}`,
    ])
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

  await t.test('the event of a message that was pruned has none', async t => {
    const { outbox, clock, reopen } = await fresh(t, create, { keepsEvents: true, retentionDays: 1 })
    const ours = lease(clock)
    const acceptance = sample(clock, { lease: ours })
    await outbox.accept([acceptance])
    await outbox.settle(acceptance.message.id, ours, { to: 'final', state: 'sent', answer: null })
    clock.advance(3 * DAY)
    const again = await reopen()
    for (let n = 0; n < 3; n += 1) await again.claim('email', 1, 1000)
    const { events: read } = await queueOf(again).readEvents(10)
    t.equal(read.length, 1)
    t.equal(read[0]?.message, null)
    t.equal(await again.queries.findMessage(acceptance.message.id), read[0]?.message)
  })
}
