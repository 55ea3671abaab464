import type { Test } from 'tap'
import { BacklogFull } from '../../../src/outbox/outbox.ts'
import type { Create } from '../contract.ts'
import { sample } from '../samples.ts'
import { claimOne, fresh, kinds } from './store.ts'

export async function accepting(t: Test, create: Create): Promise<void> {
  await t.test('what is accepted is claimed as it was given', async t => {
    const { outbox, clock, view } = await fresh(t, create)
    const given = sample(clock, { pluginId: '7' })
    t.same(await outbox.accept([given]), [{ is: 'stored', superseded: [] }])
    t.match(await view(given.message.id), {
      state: 'queued',
      attempts: 0,
      dueAt: clock.now(),
      maskedRecipient: 'a***@example.com',
    })
    const { lease: held, attempts, ambiguous, groupKey, ...message } = await claimOne(outbox, 5000)
    t.same(message, given.message)
    t.match({ attempts, ambiguous, groupKey }, { attempts: 1, ambiguous: 0, groupKey: given.groupKey })
    t.equal(held.until, clock.now() + 5000)
  })

  await t.test('an empty call is fine', async t => {
    const { outbox } = await fresh(t, create)
    t.same(await outbox.accept([]), [])
  })

  await t.test('calls that come together are all answered, each with its own', async t => {
    const { outbox, clock, view } = await fresh(t, create)
    const given = Array.from({ length: 300 }, (_, n) => sample(clock, { recipient: `r${n}@example.com` }))
    const answers = await Promise.all(given.map(each => outbox.accept([each])))
    t.ok(answers.every(each => each.length === 1 && each[0]?.is === 'stored'))
    t.match(await view(given[299]?.message.id ?? ''), { state: 'queued' })
    t.equal((await outbox.queries.readSummary(clock.now(), 60_000)).backlog.email, 300)
  })

  await t.test('the same message in calls that share a commit, or in one call, is stored once', async t => {
    const { outbox, clock } = await fresh(t, create)
    const other = sample(clock, { code: '2', purpose: 'link' })
    const [first, ...again] = Array.from({ length: 5 }, () => sample(clock, { purpose: 'link' }))
    if (first === undefined) throw new Error('none')
    const answers = await Promise.all([
      outbox.accept([first]),
      ...again.map(each => outbox.accept([each])),
      outbox.accept([other, sample(clock, { code: '2', purpose: 'link' })]),
    ])
    const inProgress = ({ message: { id } }: typeof first) => ({ is: 'in-progress', id })
    const stored = { is: 'stored', superseded: [] }
    t.same(answers, [[stored], ...again.map(() => [inProgress(first)]), [stored, inProgress(other)]])
    t.equal((await outbox.queries.listMessages({ limit: 10 })).length, 2)
  })

  await t.test('a backlog beyond a MAX_BACKLOG that was lowered: duplicates are answered still', async t => {
    const { outbox, clock, reopen } = await fresh(t, create, { maxBacklog: 3 })
    const given = ['a', 'b', 'c'].map(name => sample(clock, { recipient: `${name}@example.com` }))
    await outbox.accept(given)
    const again = await reopen({ maxBacklog: 2 })
    t.same(kinds(await again.accept([sample(clock, { recipient: 'a@example.com' })])), ['in-progress'])
    await t.rejects(again.accept([sample(clock, { recipient: 'd@example.com' })]), BacklogFull)
  })

  await t.test('the same dedupe key for two recipients is two messages', async t => {
    const { outbox, clock } = await fresh(t, create)
    const to = (name: string) => sample(clock, { recipient: `${name}@example.com`, dedupeKey: 'same' })
    t.same(kinds(await outbox.accept([to('a'), to('b')])), ['stored', 'stored'], 'in one callback')
    t.same(kinds(await outbox.accept([to('b'), to('c')])), ['in-progress', 'stored'], 'in two')
    t.same((await outbox.claim('email', 10, 1000)).messages.map(each => each.recipient).toSorted(), [
      'a@example.com',
      'b@example.com',
      'c@example.com',
    ])
  })

  await t.test('a full backlog fails only the calls that do not fit', async t => {
    const { outbox, clock } = await fresh(t, create, { maxBacklog: 5 })
    const calls = Array.from({ length: 20 }, (_, n) =>
      outbox.accept([sample(clock, { recipient: `r${n}@example.com` })]),
    )
    const ends = await Promise.allSettled(calls)
    t.equal(ends.filter(each => each.status === 'fulfilled').length, 5)
    t.ok(ends.every(each => each.status === 'fulfilled' || each.reason instanceof BacklogFull))
  })
}
