import type { Test } from 'tap'
import type { DeliveryReport, Settlement } from '../../../src/outbox/outbox.ts'
import type { Create } from '../contract.ts'
import { FINAL_STATES, lease, record, sample } from '../samples.ts'
import { type Fresh, fresh } from './store.ts'

/** A store with one SMS that is being sent, and what a test does to it. */
async function sending({ outbox, clock, view }: Fresh) {
  const held = { ...lease(clock), begins: true }
  const given = sample(clock, { channel: 'sms', lease: held })
  const { id } = given.message
  await outbox.accept([given])
  return {
    id,
    report: async (status: string, more: Partial<Pick<DeliveryReport, 'id' | 'providerId'>> = {}) => {
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
    settle: (settlement: Settlement) => outbox.settle(id, held, settlement),
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
  await t.test('one that comes while the message is being sent is kept with it', async t => {
    const { report, settle, view } = await sending(await fresh(t, create))
    t.equal(await report('queued'), 'recorded')
    t.match(await view(), { state: 'sending', providerId: 'SM1', receipt: { status: 'queued' } })
    t.equal(await report('queued'), 'stale', 'once')
    t.match(await settle({ to: 'final', state: 'sent', answer: null, providerId: 'SM1' }), { state: 'sent' })
    t.equal(await report('delivered', { id: undefined }), 'recorded')
    t.match(await view(), { state: 'sent', providerId: 'SM1', receipt: { status: 'delivered' } })
    t.equal(await report('read', { providerId: 'SM2' }), 'recorded', 'by our id')
    t.match(await view(), { providerId: 'SM1', receipt: { status: 'read' } })
  })

  await t.test('a message that was reported on is sent when its attempt ends ambiguous', async t => {
    for (const end of ['ambiguous', 'unknown', 'sent'] as const) {
      const { report, settle, settleAmbiguous, view } = await sending(await fresh(t, create))
      await report('sent')
      const settled =
        end === 'ambiguous'
          ? await settleAmbiguous()
          : await settle({ to: 'final', state: end, answer: null })
      t.same(settled, { state: 'sent', answer: null })
      t.match(await view(), { state: 'sent', providerId: 'SM1', receipt: { status: 'sent' } })
    }
  })

  await t.test(
    'one that waits after an ambiguous attempt is sent by it, and told with the next claim',
    async t => {
      const store = await fresh(t, create)
      const { id, report, settleAmbiguous, view } = await sending(store)
      await settleAmbiguous()
      t.equal(await report('undelivered'), 'recorded', 'whatever it says: the provider took it')
      t.match(await view(), {
        state: 'sent',
        providerId: 'SM1',
        receipt: { status: 'undelivered' },
        timeline: [{ outcome: 'ambiguous' }, { outcome: 'reported' }],
      })
      t.equal(await report('delivered'), 'stale', 'and no more by a second one')
      store.clock.advance(60_000)
      const claimed = await store.outbox.claim('sms', 10, 1000)
      t.same(claimed.messages, [], 'it does not go out again')
      t.same(claimed.settled, [{ id, state: 'sent', channel: 'sms', kind: 'activation-code' }])
      t.same((await store.outbox.claim('sms', 10, 1000)).settled, [])
      const { backlog } = await store.outbox.queries.readSummary(0, 60_000)
      t.equal(backlog.sms, 0)
    },
  )

  await t.test('one that waits, and surely was not sent, goes on waiting', async t => {
    const store = await fresh(t, create)
    const { id, report, settle, view } = await sending(store)
    await settle({ to: 'queued', dueAt: store.clock.now() + 1000 })
    t.equal(await report('queued'), 'recorded')
    t.match(await view(), { state: 'queued', dueAt: store.clock.now() + 1000, providerId: 'SM1' })
    store.clock.advance(1000)
    t.match((await store.outbox.claim('sms', 10, 60_000)).messages, [{ id, attempts: 2 }])
  })

  await t.test('a message that was reported on, whose process died, is sent', async t => {
    const store = await fresh(t, create)
    const { id, report, view } = await sending(store)
    await report('sent')
    store.clock.advance(120_000)
    t.match((await store.outbox.claim('sms', 10, 1000)).settled, [{ id, state: 'sent' }])
    store.clock.advance(5000)
    t.same((await store.outbox.claim('sms', 10, 1000)).messages, [])
    t.match(await view(), { state: 'sent', ambiguous: 1 })
  })

  await t.test('nothing leaves a final state, and the report is kept beside it', async t => {
    for (const state of FINAL_STATES) {
      const { report, settle, view } = await sending(await fresh(t, create))
      await settle({ to: 'final', state, answer: null })
      t.equal(await report('delivered'), 'recorded')
      t.match(await view(), { state, providerId: 'SM1', receipt: { status: 'delivered' } })
    }
  })

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
    const answers = await Promise.all(['sent', 'queued', 'delivered', 'sent'].map(status => report(status)))
    t.same(answers, ['recorded', 'stale', 'recorded', 'stale'])
    t.match(await view(), { state: 'sent', receipt: { status: 'delivered' } })
    t.equal((await store.outbox.claim('sms', 10, 1000)).settled.length, 1)
  })

  await t.test("the provider's id that one brings finds the message for those that come with it", async t => {
    const { report, view } = await sending(await fresh(t, create))
    const answers = await Promise.all([
      report('queued'),
      report('sent', { id: undefined }),
      report('delivered', { providerId: undefined }),
    ])
    t.same(answers, ['recorded', 'recorded', 'recorded'])
    t.match(await view(), { providerId: 'SM1', receipt: { status: 'delivered' } })
  })
}
