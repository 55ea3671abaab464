import type { Test } from 'tap'
import type { DeliveryReport } from '../../../src/outbox/outbox.ts'
import type { Create } from '../contract.ts'
import { lease, record, sample } from '../samples.ts'
import { type Fresh, fresh } from './store.ts'

/** A store with one SMS that is being sent, and what a test does to it. */
async function sending({ outbox, clock, view }: Fresh) {
  const held = { ...lease(clock), begins: true }
  const given = sample(clock, { channel: 'sms', lease: held })
  const { id } = given.message
  await outbox.accept([given])
  return {
    id,
    report: async (status: string, more: Partial<DeliveryReport> = {}) => {
      const kept = await outbox.writeReceipt({
        channel: 'sms',
        providerId: 'SM1',
        id,
        status,
        errorCode: null,
        at: clock.now(),
        ...more,
      })
      return kept.is
    },
    /** The end of an attempt of which nobody knows whether it was sent. */
    settleAmbiguous: () =>
      outbox.settle(id, held, {
        to: 'queued',
        dueAt: clock.now() + 5000,
        ambiguous: 1,
        records: [record(clock, 'ambiguous')],
      }),
    view: () => view(id),
  }
}

/** Delivery reports that name our id: they come before, while and after the store knows the provider's. */
export async function reporting(t: Test, create: Create): Promise<void> {
  await t.test('an id that is not ours, or of the other channel, is of nobody', async t => {
    const store = await fresh(t, create)
    const { report, view, id } = await sending(store)
    t.equal(await report('sent', { id: '0'.repeat(32) }), 'unknown')
    t.equal(await report('sent', { id: undefined }), 'unknown')
    const at = store.clock.now()
    const mail = { channel: 'email', providerId: 'SM1', id, status: 'sent', errorCode: null, at } as const
    t.same(await store.outbox.writeReceipt(mail), { is: 'unknown' })
    t.match(await view(), { state: 'sending', providerId: null, receipt: null })
  })

  await t.test('a report that comes days after the end finds its message, by either id', async t => {
    const { outbox, clock, view } = await fresh(t, create)
    const given = ['+8613800138000', '+8613800138001'].map(recipient =>
      sample(clock, { channel: 'sms', recipient, lease: lease(clock) }),
    )
    await outbox.accept(given)
    for (const [n, { message, lease: held = lease(clock) }] of given.entries())
      await outbox.settle(message.id, held, {
        to: 'final',
        state: 'sent',
        answer: null,
        ...(n === 0 && { providerId: 'SM0' }),
      })
    clock.advance(4 * 86_400_000)
    const about = { channel: 'sms', status: 'sent', errorCode: null, at: clock.now() } as const
    const by = [{ providerId: 'SM0' }, { id: given[1]?.message.id ?? '', providerId: 'SM2' }]
    const kept = await Promise.all(by.map(id => outbox.writeReceipt({ ...about, ...id })))
    t.match(kept, [{ is: 'recorded', country: 'CN' }, { is: 'recorded' }])
    const first = { receipt: { at: clock.now() } }
    for (const { message } of given) t.match(await view(message.id), first)
    const later = { ...about, status: 'delivered', providerId: 'SM2' }
    t.match(await outbox.writeReceipt(later), { is: 'recorded' }, 'by the id that a report has brought')
    await outbox.writeReceipt({ ...about, ...by[1], status: 'read', providerId: 'SM3' })
    t.match(await view(by[1]?.id ?? ''), { providerId: 'SM2', receipt: { status: 'read' } })
  })

  await t.test("of two messages under one provider's id, the report is on the later one", async t => {
    const { outbox, clock, view } = await fresh(t, create)
    const given = ['+8613800138000', '+8613800138001'].map(recipient =>
      sample(clock, { channel: 'sms', recipient, lease: lease(clock) }),
    )
    await outbox.accept(given)
    for (const { message, lease: held = lease(clock) } of given) {
      clock.advance(1000)
      await outbox.settle(message.id, held, { to: 'final', state: 'sent', answer: null, providerId: 'SM1' })
    }
    const about = { status: 'delivered', errorCode: null, at: clock.now() }
    t.match(await outbox.writeReceipt({ channel: 'sms', providerId: 'SM1', ...about }), { is: 'recorded' })
    const views = await Promise.all(given.map(({ message }) => view(message.id)))
    t.same(
      views.map(({ receipt }) => receipt?.status),
      [undefined, 'delivered'],
    )
  })

  await t.test('reports that come together, in any order, are judged one after the other', async t => {
    const store = await fresh(t, create)
    const { report, settleAmbiguous, view } = await sending(store)
    await settleAmbiguous()
    store.clock.advance(1000)
    const answers = await Promise.all(['sent', 'queued', 'delivered', 'sent'].map(status => report(status)))
    t.same(answers, ['recorded', 'stale', 'recorded', 'stale'])
    const at = store.clock.now()
    t.match(await view(), { state: 'sent', finalAt: at, receipt: { status: 'delivered', at } })
    t.equal((await store.outbox.claim('sms', 10, 1000)).settled.length, 1)
  })

  await t.test(
    'what was undelivered and is delivered later, by the times of its carrier, ends as delivered',
    async t => {
      const { report, view } = await sending(await fresh(t, create))
      const failed = { errorCode: 'MK:0001', reply: '手机关机', happenedAt: 1000 }
      t.equal(await report('undelivered', failed), 'recorded')
      t.match(await view(), { receipt: { status: 'undelivered', ...failed } })
      t.equal(await report('delivered', { happenedAt: 1000 }), 'stale')
      t.equal(await report('delivered'), 'stale', 'nobody says which came about first')
      t.equal(await report('delivered', { happenedAt: 1001, providerId: 'SM2' }), 'recorded')
      t.match(await view(), {
        providerId: 'SM1',
        receipt: { status: 'delivered', errorCode: null, reply: undefined, happenedAt: 1001 },
      })
      t.equal(await report('undelivered', { ...failed, happenedAt: 2000 }), 'stale', 'it has arrived')
    },
  )

  await t.test("the provider's id that one brings finds the message for those that come with it", async t => {
    const { report, view } = await sending(await fresh(t, create))
    const answers = await Promise.all([
      report('queued'),
      report('sent', { id: undefined }),
      report('delivered', { providerId: undefined }),
      report('read', { id: undefined }),
    ])
    t.same(answers, ['recorded', 'recorded', 'recorded', 'recorded'])
    t.match(await view(), { providerId: 'SM1', receipt: { status: 'read' } })
  })
}
