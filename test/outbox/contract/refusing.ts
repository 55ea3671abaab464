import type { Test } from 'tap'
import type { Create } from '../contract.ts'
import { lease, record, sample } from '../samples.ts'
import { fresh } from './store.ts'

/** Half of an emoji, and NUL: Postgres refuses either in a text. */
const HALF = '\ud83d'
const NUL = '\0'

/** Values that a store cannot hold: it may hold them all the same, but nothing else may suffer from them. */
export async function refusing(t: Test, create: Create): Promise<void> {
  await t.test('an end is written without what cannot be held, and its neighbours as they are', async t => {
    const { outbox, clock, view } = await fresh(t, create)
    const given = ['a', 'b', 'c', 'd'].map(name =>
      sample(clock, { recipient: `${name}@example.com`, lease: lease(clock) }),
    )
    await outbox.accept(given)
    const replies = ['fine', `cut ${HALF}`, `NUL ${NUL}`, 'fine too']
    const providerIds = ['Q1', 'Q2', `Q${NUL}`, 'Q4']
    const settled = await Promise.all(
      given.map(({ message, lease: held }, n) =>
        outbox.settle(message.id, held ?? lease(clock), {
          to: 'final',
          state: 'sent',
          answer: null,
          providerId: providerIds[n],
          records: [record(clock, 'sent', replies[n])],
        }),
      ),
    )
    t.same(
      settled.map(({ state }) => state),
      ['sent', 'sent', 'sent', 'sent'],
    )
    const views = await Promise.all(given.map(({ message }) => view(message.id)))
    t.same(
      views.map(({ state }) => state),
      ['sent', 'sent', 'sent', 'sent'],
    )
    for (const n of [0, 3])
      t.match(views[n], { providerId: providerIds[n], timeline: [{ reply: replies[n] }] })
    t.equal(views[1]?.providerId, 'Q2', 'no more is dropped than must be')
  })

  await t.test('a retry goes back to the queue without what cannot be held', async t => {
    const { outbox, clock, view } = await fresh(t, create)
    const held = lease(clock)
    const given = sample(clock, { lease: held })
    await outbox.accept([given])
    const dueAt = clock.now() + 1000
    const records = [record(clock, 'ambiguous', HALF)]
    t.match(await outbox.settle(given.message.id, held, { to: 'queued', dueAt, ambiguous: 1, records }), {
      state: 'queued',
    })
    t.match(await view(given.message.id), { state: 'queued', ambiguous: 1, dueAt })
  })

  await t.test('a message that cannot be held is refused alone', async t => {
    const { outbox, clock, view } = await fresh(t, create)
    const [first, second, third, other] = ['a', 'b', 'c', 'd'].map(name =>
      sample(clock, { recipient: `${name}@example.com` }),
    ) as [
      ReturnType<typeof sample>,
      ReturnType<typeof sample>,
      ReturnType<typeof sample>,
      ReturnType<typeof sample>,
    ]
    const bad = { ...second, message: { ...second.message, masked: `${NUL}${HALF}***@example.com` } }
    const [callback, neighbour] = await Promise.all([
      outbox.accept([first, bad, third]),
      outbox.accept([other]),
    ])
    t.match([callback[0], callback[2], neighbour[0]], [{ is: 'stored' }, { is: 'stored' }, { is: 'stored' }])
    t.match(callback[1]?.is, /^(?:stored|refused)$/)
    for (const { message } of [first, third, other]) t.match(await view(message.id), { state: 'queued' })
  })

  await t.test('a delivery report with an id that cannot be held is of nobody', async t => {
    const { outbox, clock } = await fresh(t, create)
    t.same(
      await outbox.writeReceipt({
        channel: 'sms',
        providerId: `SM${NUL}`,
        status: 'sent',
        errorCode: null,
        at: clock.now(),
      }),
      { is: 'unknown' },
    )
  })
}
