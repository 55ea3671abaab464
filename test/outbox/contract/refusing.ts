import type { Test } from 'tap'
import type { Acceptance } from '../../../src/outbox/outbox.ts'
import type { Create } from '../contract.ts'
import { lease, record, sample } from '../samples.ts'
import { fresh } from './store.ts'

/** Half of an emoji, and NUL: Postgres refuses either in a text. */
const HALF = '\ud83d'
const NUL = '\0'

/** Values that a store cannot hold: it may hold them all the same, but nothing else may suffer from them. */
export async function refusing(t: Test, create: Create): Promise<void> {
  await t.test('an end that cannot be held is lost alone: its neighbours are written', async t => {
    const { outbox, clock, view } = await fresh(t, create)
    const given = ['a', 'b', 'c', 'd'].map(name =>
      sample(clock, { recipient: `${name}@example.com`, lease: lease(clock) }),
    )
    await outbox.accept(given)
    const replies = ['fine', `cut ${HALF}`, `NUL ${NUL}`, 'fine too']
    const settled = await Promise.all(
      given.map(({ message, lease: held }, n) =>
        outbox.settle(message.id, held ?? lease(clock), {
          to: 'final',
          state: 'sent',
          answer: null,
          providerId: `Q${n}`,
          records: [record(clock, 'sent', replies[n])],
        }),
      ),
    )
    for (const n of [0, 3]) {
      t.equal(settled[n]?.state, 'sent')
      t.match(await view(given[n]?.message.id ?? ''), {
        state: 'sent',
        providerId: `Q${n}`,
        timeline: [{ reply: replies[n] }],
      })
    }
    for (const n of [1, 2]) t.match(settled[n]?.state, /^(?:sent|lost)$/)
  })

  await t.test('a message that cannot be held is refused alone', async t => {
    const { outbox, clock, view } = await fresh(t, create)
    const [first, second, third, other] = ['a', 'b', 'c', 'd'].map(name =>
      sample(clock, { recipient: `${name}@example.com` }),
    ) as [Acceptance, Acceptance, Acceptance, Acceptance]
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
