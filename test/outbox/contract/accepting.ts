import type { Test } from 'tap'
import { BacklogFull } from '../../../src/outbox/outbox.ts'
import type { Create } from '../contract.ts'
import { sample } from '../samples.ts'
import { claimOne, fresh, kinds } from './store.ts'

export async function accepting(t: Test, create: Create): Promise<void> {
  await t.test('what is accepted is claimed as it was given', async t => {
    const { outbox, clock, view, end } = await fresh(t, create)
    const given = sample(clock, { pluginId: '7', arrivedAt: clock.now() - 700 })
    t.same(await outbox.accept([given]), [{ is: 'stored', superseded: [] }])
    t.same(await view(given.message.id), {
      id: given.message.id,
      channel: 'email',
      kind: 'activation-code',
      purpose: 'code',
      maskedRecipient: 'a***@example.com',
      state: 'queued',
      answer: null,
      attempts: 0,
      ambiguous: 0,
      arrivedAt: clock.now() - 700,
      expiresAt: clock.now() + 599_300,
      dueAt: clock.now(),
      finalAt: null,
      providerId: null,
      receipt: null,
      timeline: [],
    })
    const { lease: held, attempts, ambiguous, groupKey, ...message } = await claimOne(outbox, 5000)
    t.same(message, given.message)
    t.match({ attempts, ambiguous, groupKey }, { attempts: 1, ambiguous: 0, groupKey: given.groupKey })
    t.equal(held.until, clock.now() + 5000)
    const late = Array.from({ length: 500 }, (_, n) => outbox.accept([sample(clock, { recipient: `${n}` })]))
    await end()
    t.same(new Set((await Promise.all(late)).flatMap(kinds)), new Set(['stored']), 'an end lets calls end')
  })

  await t.test('the same message in calls that share a commit, or in one call, is stored once', async t => {
    const { outbox, clock } = await fresh(t, create)
    const other = sample(clock, { code: '2', purpose: 'link' })
    const [first, ...again] = Array.from({ length: 5 }, () => sample(clock, { purpose: 'link' }))
    if (first === undefined) throw new Error('none')
    const early = [first, ...again].map(each => outbox.accept([each]))
    clock.advance(1)
    const answers = await Promise.all([
      ...early,
      outbox.accept([other, sample(clock, { code: '2', purpose: 'link' })]),
    ])
    const inProgress = ({ message: { id } }: typeof first) => ({ is: 'in-progress', id })
    const stored = { is: 'stored', superseded: [] }
    t.same(answers, [[stored], ...again.map(() => [inProgress(first)]), [stored, inProgress(other)]])
    const { messages } = await outbox.queries.listMessages({ limit: 10 })
    const now = clock.now()
    t.match(messages, [{ id: other.message.id, dueAt: now }, { id: first.message.id }], 'the newest first')
    t.equal(messages.length, 2)
  })

  await t.test('a backlog beyond a MAX_BACKLOG that was lowered: duplicates are answered still', async t => {
    for (const channel of ['email', 'sms'] as const) {
      const { outbox, clock, reopen } = await fresh(t, create, { maxBacklog: 5 })
      const to = (n: number) => [sample(clock, { channel, recipient: `${n}` })]
      for (let n = 0; n < 5; n += 1) t.same(kinds(await outbox.accept(to(n))), ['stored'])
      await t.rejects(outbox.accept(to(5)), BacklogFull, 'one after the other')
      const again = await reopen({ maxBacklog: 2 })
      t.same(kinds(await again.accept(to(0))), ['in-progress'])
      await t.rejects(again.accept(to(5)), BacklogFull)
    }
  })

  await t.test('what is held ends at once, without content, and against no limit', async t => {
    const { outbox, clock, rows, peer } = await fresh(t, create, { maxBacklog: 2 })
    await outbox.accept([sample(clock)])
    const held = (code: string) => sample(clock, { recipient: 'eve@example.com', code, held: true })
    const [one, other] = [held('1'), held('2')]
    t.same(await outbox.accept([one, other, held('1')]), [
      { is: 'held' },
      { is: 'held' },
      { is: 'finished', id: one.message.id, state: 'held', answer: null },
    ])
    t.same((await rows()).filter(each => each.payload !== null).length, 1, 'no content of theirs is kept')
    clock.advance(45_000)
    t.match(
      await (await peer()).accept([held('1')]),
      [{ is: 'finished', state: 'held' }],
      'its duplicate, for 45 s',
    )
    await outbox.actions.cancelMessage(
      (await outbox.queries.listMessages({ state: 'queued', limit: 1 })).messages[0]?.id ?? '',
    )
    const charges = [{ quota: 'recipient-day', bucket: 'eve', windowMs: 86_400_000, limit: 1 }]
    const eve = (code: string) => sample(clock, { recipient: 'eve@example.com', code, charges })
    t.same(
      kinds(await outbox.accept([{ ...eve('3'), held: true }, eve('1'), { ...held('1') }, eve('4')])),
      ['held', 'stored', 'in-progress', 'over-quota'],
      'it counts in no quota, and answers for nothing that may be sent',
    )
  })
}
