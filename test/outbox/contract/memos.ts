import type { Test } from 'tap'
import type { Acceptance } from '../../../src/outbox/outbox.ts'
import type { Create } from '../contract.ts'
import { type Sample, sample } from '../samples.ts'
import { claimOne, fresh, kinds } from './store.ts'

const HOUR = 3_600_000

export async function memos(t: Test, create: Create): Promise<void> {
  const withMemo = (
    clock: { now(): number },
    value: string,
    given: Sample & { readonly name?: string; readonly expiresAt?: number } = {},
  ): Acceptance => ({
    ...sample(clock, { purpose: 'alarm', code: value, ...given }),
    memo: { name: given.name ?? 'ann', value, expiresAt: given.expiresAt ?? clock.now() + 24 * HOUR },
  })

  await t.test('a memo is written with its message, and the newest of a name counts', async t => {
    const { outbox, clock } = await fresh(t, create)
    t.same(await outbox.memos.readMemos(['ann', 'bea']), new Map())
    await outbox.accept([withMemo(clock, '1')])
    t.same(await outbox.memos.readMemos(['ann', 'bea']), new Map([['ann', '1']]))
    await outbox.accept([
      withMemo(clock, '2'),
      withMemo(clock, '3'),
      withMemo(clock, '4', { recipient: 'bea@example.com', name: 'bea' }),
    ])
    t.same(
      await outbox.memos.readMemos(['bea', 'ann']),
      new Map([
        ['ann', '3'],
        ['bea', '4'],
      ]),
    )
    t.same(await outbox.memos.readMemos([]), new Map())
  })

  await t.test('a memo may be written alone, in the place of the one of its name', async t => {
    const { outbox, clock, peer, reopen } = await fresh(t, create)
    const expiresAt = clock.now() + HOUR
    await outbox.memos.writeMemo({ name: 'ann', value: '1', expiresAt })
    await outbox.memos.writeMemo({ name: 'ann', value: '2', expiresAt })
    t.same(await (await peer()).memos.readMemos(['ann']), new Map([['ann', '2']]))
    t.same(await (await reopen()).memos.readMemos(['ann']), new Map([['ann', '2']]))
  })

  await t.test('no memo is written without its message', async t => {
    const { outbox, clock } = await fresh(t, create)
    const [charge] = [{ quota: 'q', bucket: 'b', windowMs: HOUR, limit: 1 }]
    await outbox.accept([withMemo(clock, '1', { charges: [charge] })])
    const answers = await outbox.accept([
      { ...withMemo(clock, '1'), memo: { name: 'ann', value: 'duplicate', expiresAt: clock.now() + HOUR } },
      withMemo(clock, '2', { charges: [charge] }),
    ])
    t.same(kinds(answers), ['in-progress', 'over-quota'])
    t.same(await outbox.memos.readMemos(['ann']), new Map([['ann', '1']]))
  })

  await t.test('a message may answer for its duplicates for longer than others do', async t => {
    const { outbox, clock } = await fresh(t, create)
    const alarm = () => ({ ...sample(clock, { purpose: 'alarm', code: '1' }), dedupeWindowMs: 24 * HOUR })
    t.same(kinds(await outbox.accept([alarm()])), ['stored'])
    const { id, lease } = await claimOne(outbox)
    await outbox.settle(id, lease, { to: 'final', state: 'sent', answer: null })
    clock.advance(23 * HOUR)
    t.match(await outbox.accept([alarm()]), [{ is: 'finished', id, state: 'sent' }])
    clock.advance(HOUR + 1)
    t.same(kinds(await outbox.accept([alarm()])), ['stored'], 'its window is over')
    t.same(kinds(await outbox.accept([alarm()])), ['in-progress'], 'the newest one answers')
    const ask = (code: string) => outbox.accept([sample(clock, { code, lifeMs: 4 * HOUR })])
    await ask('2')
    await ask('3')
    clock.advance(3 * HOUR)
    t.match(await ask('2'), [{ is: 'finished', state: 'superseded' }], 'all its life')
  })

  await t.test(
    'only one of several processes has a leader lease, until it gives it up or does not renew it',
    async t => {
      const { outbox, peer } = await fresh(t, create)
      const other = await peer()
      const { takeLeaderLease } = outbox.memos
      if (takeLeaderLease === undefined || other.memos.takeLeaderLease === undefined) {
        t.pass('one process holds this store')
        return
      }
      t.equal(await takeLeaderLease('alerts', 'a', 60_000), true)
      t.equal(await other.memos.takeLeaderLease('alerts', 'b', 60_000), false)
      t.equal(await takeLeaderLease('alerts', 'a', 60_000), true, 'kept')
      t.equal(await other.memos.takeLeaderLease('other', 'b', 60_000), true, 'another lease is another')
      await other.memos.takeLeaderLease('alerts', 'b', 0)
      t.equal(await other.memos.takeLeaderLease('alerts', 'b', 60_000), false, 'nobody gives up another’s')
      await takeLeaderLease('alerts', 'a', 0)
      t.equal(await other.memos.takeLeaderLease('alerts', 'b', 200), true)
      t.equal(await takeLeaderLease('alerts', 'a', 60_000), false)
      await new Promise(resolve => setTimeout(resolve, 300))
      t.equal(await takeLeaderLease('alerts', 'a', 60_000), true, 'b did not renew it')
      const both = await Promise.all([
        outbox.memos.takeLeaderLease?.('c', 'a', 60_000),
        other.memos.takeLeaderLease('c', 'b', 60_000),
      ])
      t.equal(both.filter(Boolean).length, 1, 'asked at once, one gets it')
    },
  )
}
