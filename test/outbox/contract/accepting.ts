import type { Test } from 'tap'
import { BacklogFull } from '../../../src/outbox/outbox.ts'
import type { Create } from '../contract.ts'
import { lease, sample } from '../samples.ts'
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

  await t.test('what is handed over at once is stored as claimed, and nobody else gets it', async t => {
    const { outbox, clock, view } = await fresh(t, create)
    const held = lease(clock)
    const given = sample(clock, { lease: held })
    await outbox.accept([given])
    t.match(await view(given.message.id), { state: 'sending', attempts: 1, dueAt: null })
    t.same((await outbox.claim('email', 10, 1000)).messages, [])
    t.match(await outbox.settle(given.message.id, held, { to: 'final', state: 'sent', answer: null }), {
      state: 'sent',
    })
  })

  await t.test('what was accepted is there after the process has ended', async t => {
    const { outbox, clock, reopen } = await fresh(t, create)
    const given = sample(clock)
    await outbox.accept([given, sample(clock, { recipient: 'bob@example.com' })])
    const again = await reopen()
    const { messages } = await again.claim('email', 10, 1000)
    t.same(messages.map(each => each.recipient).toSorted(), ['ann@example.com', 'bob@example.com'])
    t.match(await again.accept([given]), [{ is: 'in-progress' }])
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

  await t.test('the duplicate of a live message waits for the same end', async t => {
    const { outbox, clock } = await fresh(t, create)
    const first = sample(clock)
    await outbox.accept([first])
    clock.advance(300_000)
    t.same(
      await outbox.accept([sample(clock)]),
      [{ is: 'in-progress', id: first.message.id }],
      'while it waits',
    )
    await outbox.claim('email', 1, 1000)
    t.same(
      await outbox.accept([sample(clock)]),
      [{ is: 'in-progress', id: first.message.id }],
      'while it is sent',
    )
    t.equal((await outbox.queries.listMessages({ limit: 10 })).length, 1)
  })

  await t.test(
    'the duplicate of a sent message gets the same answer for 45 s, and is new after that',
    async t => {
      const { outbox, clock } = await fresh(t, create)
      const first = sample(clock)
      await outbox.accept([first])
      const claimed = await claimOne(outbox)
      await outbox.settle(claimed.id, claimed.lease, { to: 'final', state: 'sent', answer: null })
      const same = [{ is: 'finished', id: first.message.id, state: 'sent', answer: null }]
      t.same(await outbox.accept([sample(clock)]), same, 'at once')
      clock.advance(45_000)
      t.same(await outbox.accept([sample(clock)]), same, 'after 45 s')
      clock.advance(1)
      t.same(kinds(await outbox.accept([sample(clock)])), ['stored'], 'after that')
    },
  )

  await t.test(
    'the duplicate of a refused message gets the same refusal for 45 s, and a new attempt after that',
    async t => {
      const { outbox, clock } = await fresh(t, create)
      const first = sample(clock)
      await outbox.accept([first])
      const claimed = await claimOne(outbox)
      await outbox.settle(claimed.id, claimed.lease, { to: 'final', state: 'refused', answer: 'recipient' })
      clock.advance(45_000)
      t.match(await outbox.accept([sample(clock)]), [
        { is: 'finished', state: 'refused', answer: 'recipient' },
      ])
      clock.advance(1)
      t.same(kinds(await outbox.accept([sample(clock)])), ['stored'])
      t.match(await claimOne(outbox), { attempts: 1 }, 'with a full life')
    },
  )

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

  await t.test(
    'of a group the one that waits is superseded, and the one that is being sent goes on',
    async t => {
      const { outbox, clock, view } = await fresh(t, create)
      const held = lease(clock)
      const sending = sample(clock, { code: '1', lease: held })
      const settled = sample(clock, { code: '0', lease: held })
      const other = sample(clock, { code: '2', kind: 'login-code' })
      await outbox.accept([settled])
      await outbox.settle(settled.message.id, held, { to: 'final', state: 'sent', answer: null })
      await outbox.accept([sending])
      const waits = sample(clock, { code: '2' })
      t.same(await outbox.accept([waits, other]), [
        { is: 'stored', superseded: [] },
        { is: 'stored', superseded: [] },
      ])
      t.same(await outbox.accept([sample(clock, { code: '3' })]), [
        { is: 'stored', superseded: [waits.message.id] },
      ])
      t.match(await view(sending.message.id), { state: 'sending' })
      t.match(await view(settled.message.id), { state: 'sent' })
      t.match(await view(other.message.id), { state: 'queued' })
      const requeued = { to: 'queued', dueAt: clock.now() } as const
      t.match(
        await outbox.settle(sending.message.id, held, requeued),
        { state: 'superseded' },
        'and no further',
      )
    },
  )

  await t.test('the duplicate of a message whose life ended unnoticed is new', async t => {
    const { outbox, clock, view } = await fresh(t, create)
    const first = sample(clock, { lifeMs: 1000 })
    const sms = sample(clock, { lifeMs: 1000, channel: 'sms' })
    await outbox.accept([first, sms])
    clock.advance(2000)
    t.same(kinds(await outbox.accept([sample(clock), sample(clock, { channel: 'sms' })])), [
      'stored',
      'stored',
    ])
    t.match(await view(first.message.id), { state: 'expired' })
    for (const [channel, { message }] of [
      ['sms', sms],
      ['email', first],
    ] as const) {
      const { settled } = await outbox.claim(channel, 10, 1000)
      t.match(settled, [{ id: message.id, state: 'expired' }], 'and its end is reported to its channel')
    }
  })

  await t.test(
    'MAX_BACKLOG: nothing of a call that does not fit is stored; what ends makes room',
    async t => {
      const { outbox, clock, view } = await fresh(t, create, { maxBacklog: 3 })
      const to = (name: string) => sample(clock, { recipient: `${name}@example.com` })
      await outbox.accept([to('a'), to('b')])
      const tooMany = [to('c'), to('d')]
      await t.rejects(outbox.accept(tooMany), BacklogFull)
      for (const each of tooMany) t.equal(await outbox.queries.findMessage(each.message.id), null)
      t.same(kinds(await outbox.accept([to('c')])), ['stored'], 'one still fits')
      await t.rejects(outbox.accept([to('d')]), BacklogFull)
      t.same(kinds(await outbox.accept([to('a')])), ['in-progress'], 'a duplicate needs no room')
      const { messages } = await outbox.claim('email', 1, 60_000)
      const [claimed] = messages
      if (claimed === undefined) throw new Error('nothing was claimed')
      await t.rejects(outbox.accept([to('d')]), BacklogFull, 'what is being sent counts')
      await outbox.settle(claimed.id, claimed.lease, { to: 'final', state: 'sent', answer: null })
      const last = to('d')
      t.same(kinds(await outbox.accept([last])), ['stored'])
      t.match(await view(last.message.id), { state: 'queued' })
    },
  )

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

  await t.test('MAX_BACKLOG counts what waited before the process began', async t => {
    const { outbox, clock, reopen } = await fresh(t, create, { maxBacklog: 2 })
    await outbox.accept([sample(clock), sample(clock, { channel: 'sms' })])
    const again = await reopen()
    await t.rejects(again.accept([sample(clock, { recipient: 'b@example.com' })]), BacklogFull)
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
