import type { Test } from 'tap'
import type { Create } from '../contract.ts'
import { FINAL_STATES, lease, record, sample } from '../samples.ts'
import { claimOne, fresh } from './store.ts'

export async function settling(t: Test, create: Create): Promise<void> {
  await t.test('four copies of a mail and two of an SMS may go out, then it is unknown', async t => {
    const { clock, reopen, ...opened } = await fresh(t, create)
    let { outbox } = opened
    for (const [channel, most] of [
      ['email', 4],
      ['sms', 2],
    ] as const) {
      const given = Array.from({ length: 3 }, (_, n) =>
        sample(clock, { channel, code: `${n}`, pluginId: `${n}` }),
      )
      const [noAnswer, asked, died] = given.map(({ message }) => message.id)
      await outbox.accept(given)
      for (let copies = 1; copies <= most; copies += 1) {
        const isLast = copies === most
        const { messages } = await outbox.claim(channel, 10, 1000)
        t.equal(messages.length, 3, `${channel}: copy ${copies} may go out`)
        for (const { id, lease: held } of messages) {
          await outbox.beginAttempt(id, held)
          if (id === died) continue
          const canBeAsked = id === asked
          const settlement = {
            to: 'queued',
            dueAt: clock.now() + 5000,
            ambiguous: copies,
            canBeAsked,
          } as const
          const state = isLast && id === noAnswer ? 'unknown' : 'queued'
          t.same(await outbox.settle(id, held, settlement), { state, answer: null })
          t.equal(
            await outbox.beginAttempt(id, held),
            'outdated',
            'nothing begins under a lease that is over',
          )
        }
        outbox = await reopen()
        clock.advance(1000)
        const { settled } = await outbox.claim(channel, 0, 1000)
        // The carrier of an SMS may know what became of it.
        t.match(settled, isLast && channel === 'email' ? [{ id: died, state: 'unknown' }] : [])
        clock.advance(5000)
      }
      const { messages } = await outbox.claim(channel, 10, 1000)
      const ids = messages.map(({ id }) => id)
      t.same(new Set(ids), new Set(channel === 'sms' ? [asked, died] : [asked]), 'only to be asked about')
      for (const { id, lease: held } of messages)
        t.match(
          await outbox.settle(id, held, { to: 'queued', dueAt: clock.now() + 5000, ambiguous: most }),
          { state: 'queued' },
          'while its provider cannot be reached it waits',
        )
    }
  })

  await t.test('those that are sent together end once each, and are counted', async t => {
    const { outbox, clock, view } = await fresh(t, create)
    const given = Array.from({ length: 5 }, (_, n) =>
      sample(clock, { recipient: `sent${n}@example.com`, lease: lease(clock) }),
    )
    await outbox.accept(given)
    const sent = { to: 'final', state: 'sent', answer: null } as const
    const settle = (n: number, providerId?: string, records = [record(clock, 'sent')]) => {
      const { message, lease: held = lease(clock) } = given[n] ?? sample(clock)
      return outbox.settle(message.id, held, { ...sent, ...(providerId && { providerId }), records })
    }
    const ended = { state: 'sent', answer: null }
    clock.advance(999)
    const lost = settle(9)
    clock.advance(1)
    t.same(await Promise.all([lost, settle(0, 'P0'), settle(1, undefined, [])]), [
      { state: 'lost' },
      ended,
      ended,
    ])
    t.same((await Promise.all([settle(2), settle(2)])).map(({ state }) => state).toSorted(), ['lost', 'sent'])
    t.same(await Promise.all([settle(0), settle(3)]), [{ state: 'lost' }, ended])
    const views = await Promise.all(given.map(({ message }) => view(message.id)))
    t.same(
      views.map(({ state, providerId, finalAt, timeline }) => [state, providerId, finalAt, timeline.length]),
      [
        ['sent', 'P0', clock.now(), 1],
        ['sent', null, clock.now(), 0],
        ['sent', null, clock.now(), 1],
        ['sent', null, clock.now(), 1],
        ['sending', null, null, 0],
      ],
    )
  })

  await t.test('whatever ends a message removes its payload and its destination from its row', async t => {
    const { outbox, clock, rows, view } = await fresh(t, create)
    const states: string[] = []
    const { destination } = sample(clock).message
    const stored = async () =>
      (await rows()).map(({ payload, row }) => [(payload?.length ?? 0) > 0, row.includes(destination)])
    for (const state of FINAL_STATES) {
      const given = sample(clock, { recipient: `${state}@example.com`, lease: lease(clock) })
      await outbox.accept([given])
      t.same((await stored()).at(-1), [true, true], 'while it lives')
      await outbox.settle(given.message.id, given.lease ?? lease(clock), { to: 'final', state, answer: null })
      states.push((await view(given.message.id)).state)
    }
    t.same(states, FINAL_STATES)
    const [cancelled, superseding, lost] = [
      sample(clock, { code: '1', lifeMs: 1000 }),
      sample(clock, { code: '2', lifeMs: 1000 }),
      sample(clock, { recipient: 'lost@example.com', lifeMs: 1000, lease: lease(clock, 1000) }),
    ]
    await outbox.accept([sample(clock, { code: '0', lifeMs: 1000 })])
    await outbox.accept([cancelled])
    await outbox.actions.cancelMessage(cancelled.message.id)
    // The second one supersedes the first within their own callback.
    await outbox.accept([superseding, sample(clock, { code: '3', lifeMs: 1000 }), lost])
    clock.advance(1000)
    await outbox.claim('email', 10, 1000)
    t.same(
      await stored(),
      [...FINAL_STATES, 'superseded', 'cancelled', 'superseded', 'expired', 'lost'].map(() => [false, false]),
    )
    const charge = { quota: 'q', bucket: 'b', windowMs: 60_000, limit: 9, newcomersOnly: true } as const
    const again = FINAL_STATES.map(state =>
      sample(clock, { recipient: `${state}@example.com`, code: '4', charges: [charge] }),
    )
    const newcomers = (await outbox.accept(again)).map(each => each.is === 'stored' && each.newcomers)
    t.same(newcomers, [undefined, 1, 2, 3, 4, 5], 'only one that was sent makes its recipient known')
  })

  await t.test(
    'content and recipient are gone from the disk with the final state, and unreadable before',
    async t => {
      const { outbox, clock, bytes } = await fresh(t, create)
      const given = sample(clock, { recipient: 'canary@example.com', code: 'canary-817263' })
      const traces = ['canary@example.com', 'canary-817263', 'activate#!canary', 'canary']
      await outbox.accept([given])
      const found = async () => {
        const disk = await bytes()
        return traces.filter(each => disk.includes(each))
      }
      t.same(await found(), [], 'while it waits')
      const claimed = await claimOne(outbox)
      t.equal(claimed.recipient, 'canary@example.com')
      await outbox.settle(claimed.id, claimed.lease, { to: 'final', state: 'sent', answer: null })
      t.same(await found(), [], 'when it is sent')
      t.ok((await bytes()).includes(given.recipientHash), 'its hash stays')
    },
  )
}
