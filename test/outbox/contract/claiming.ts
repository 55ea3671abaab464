import type { Test } from 'tap'
import type { Create } from '../contract.ts'
import { lease, type Sample, sample } from '../samples.ts'
import { claimOne, fresh } from './store.ts'

export async function claiming(t: Test, create: Create): Promise<void> {
  await t.test(
    'one claim gives codes first and the newest first, no more than asked for, of its channel only',
    async t => {
      const { outbox, clock } = await fresh(t, create)
      await outbox.accept([sample(clock, { purpose: 'link', recipient: 'l1@example.com' })])
      await outbox.accept([sample(clock, { purpose: 'link', recipient: 'l2@example.com' })])
      await outbox.accept([sample(clock, { channel: 'sms' })])
      await outbox.accept([sample(clock, { recipient: 'c1@example.com' })])
      await outbox.accept([sample(clock, { recipient: 'c2@example.com' })])
      clock.advance(1000)
      const first = await outbox.claim('email', 3, 60_000)
      t.same(
        first.messages.map(each => each.recipient),
        ['c2@example.com', 'c1@example.com', 'l2@example.com'],
      )
      t.equal(first.nextDueAt, clock.now(), 'more is due')
      const second = await outbox.claim('email', 2, 60_000)
      t.same(
        second.messages.map(each => each.recipient),
        ['l1@example.com'],
      )
      t.equal((await outbox.claim('sms', 2, 60_000)).messages.length, 1)
    },
  )

  await t.test('of all that waits, the earliest is said to be due next', async t => {
    for (const [purpose, ...pauses] of [
      ['code', 30_000, 10_000, 20_000],
      ['link', 30_000, 10_000, 20_000],
      ['code', 10_000, 30_000, 20_000],
      ['link', 10_000, 30_000, 20_000],
    ] as const) {
      const { outbox, clock } = await fresh(t, create)
      for (const [n, pause] of pauses.entries()) {
        const given = sample(clock, { purpose, recipient: `r${n}@example.com`, lease: lease(clock) })
        await outbox.accept([given])
        await outbox.settle(given.message.id, given.lease ?? lease(clock), {
          to: 'queued',
          dueAt: clock.now() + pause,
        })
      }
      t.equal((await outbox.claim('email', 1, 60_000)).nextDueAt, clock.now() + 10_000)
    }
  })

  await t.test('a claim holds: no second one gets the message while the lease lasts', async t => {
    const { outbox, clock, peer } = await fresh(t, create)
    const other = await peer()
    await outbox.accept(
      Array.from({ length: 40 }, (_, n) => sample(clock, { recipient: `r${n}@example.com` })),
    )
    const claims = await Promise.all(
      [outbox, other, outbox, other].map(each => each.claim('email', 15, 60_000)),
    )
    const ids = claims.flatMap(each => each.messages.map(message => message.id))
    t.equal(new Set(ids).size, ids.length, 'each once')
    const rest = await outbox.claim('email', 40, 60_000)
    t.equal(ids.length + rest.messages.length, 40)
    const tokens = [...claims, rest].flatMap(each => each.messages.map(message => message.lease.token))
    t.equal(new Set(tokens).size, tokens.length, 'each claim has a name of its own')
    t.equal(
      (await outbox.claim('email', 1, 1)).nextDueAt,
      clock.now() + 60_000,
      'asked again when a lease runs out',
    )
  })

  await t.test('many expired ones are settled in steps, and none of them is given out', async t => {
    const { outbox, clock } = await fresh(t, create)
    const old = Array.from({ length: 1300 }, (_, n) =>
      sample(clock, { recipient: `r${n}@example.com`, lifeMs: 1000 }),
    )
    await outbox.accept(old)
    clock.advance(1000)
    const ended = new Set<string>()
    for (let turn = 0; turn < 10; turn += 1) {
      const { messages, settled, nextDueAt } = await outbox.claim('email', 50, 1000)
      t.same(messages, [])
      for (const each of settled) ended.add(each.id)
      if (nextDueAt === null) break
      t.equal(nextDueAt, clock.now(), 'more remain')
    }
    t.equal(ended.size, 1300)
  })

  await t.test(
    'a code that waits in the memory of one process does not begin when another has a newer one',
    async t => {
      const { outbox, peer, clock, view } = await fresh(t, create)
      const other = await peer()
      await outbox.accept([sample(clock, { code: '1' })])
      const waiting = await claimOne(outbox, 5000)
      await other.accept([sample(clock, { code: '2' })])
      t.equal(await outbox.beginAttempt(waiting.id, waiting.lease, 'tencent'), 'outdated')
      const giveBack = { to: 'queued', dueAt: clock.now(), uncounted: true } as const
      t.match(await outbox.settle(waiting.id, waiting.lease, giveBack), { state: 'superseded' })
      t.match(await view(waiting.id), { state: 'superseded', attempts: 0 })
      const newest = await claimOne(outbox, 5000)
      t.equal(await outbox.beginAttempt(newest.id, newest.lease, 'tencent'), undefined)
    },
  )

  await t.test('however many wait for a destination, they hide no other', async t => {
    const { outbox, clock } = await fresh(t, create)
    const to = (domain: string, count: number, more: Sample = {}) =>
      Array.from({ length: count }, (_, n) =>
        sample(clock, { recipient: `r${n}@${domain}.example`, destination: domain, ...more }),
      )
    await outbox.accept(to('full', 700))
    const others = ['a', 'b', 'c', 'd', ''].map(domain => to(domain, 1)).flat()
    await outbox.accept([...others, ...to('link', 2, { purpose: 'link' }), ...to('e', 2, { channel: 'sms' })])
    const claim = async (limit: number, ...passOver: string[]) => {
      const { messages, nextDueAt } = await outbox.claim('email', limit, 60_000, passOver)
      return { to: messages.map(({ destination }) => destination), isDue: nextDueAt === clock.now() }
    }
    const full3 = ['full', 'full', 'full']
    const turns = [await claim(4), await claim(4), await claim(4)]
    t.same(
      turns.map(each => each.to.slice(0, 3)),
      [full3, full3, full3],
      'the first in order, but a quarter to others',
    )
    const served = new Set(turns.map(each => each.to[3] ?? ''))
    t.equal(served.size, 3, 'each time to another one')
    const waiting = await outbox.queries.readWaiting('email', ['link', 'nobody'])
    t.same(
      waiting.toSorted((a, b) => b.count - a.count).map(({ count }) => count),
      [691, 2],
      'what waits by destination',
    )
    t.equal(waiting[0]?.dueAt, clock.now())
    const rest = ['a', 'b', 'c', 'd', ''].filter(each => !served.has(each))
    const passing = await claim(3, 'full')
    t.same(
      [passing.to.toSorted(), passing.isDue],
      [[...rest, 'link'].toSorted(), true],
      'codes before all else',
    )
    t.same(
      await claim(9, 'full', 'link'),
      { to: [], isDue: false },
      'what is passed over is not said to be due',
    )
    t.same(await claim(9, 'full'), { to: ['link'], isDue: false })
    clock.advance(1000)
    t.match(await claim(1), { to: ['full'], isDue: true })
    clock.advance(600_000)
    const ends = [await outbox.claim('email', 9, 1, ['full']), await outbox.claim('email', 9, 1, ['full'])]
    t.ok(ends.flatMap(({ settled }) => settled).length > 690, 'their lives end all the same')
  })

  await t.test(
    'a thousand that become due together are all claimed, and at once what they stand before',
    async t => {
      const { outbox, clock } = await fresh(t, create)
      const many = Array.from({ length: 1000 }, (_, n) =>
        sample(clock, {
          recipient: `r${n}@example.com`,
          lease: lease(clock),
          destination: n === 999 ? 'last' : 'full',
        }),
      )
      await outbox.accept(many)
      const dueAt = clock.now() + 1000
      await Promise.all(
        many.map(({ message, lease: held }) => {
          if (held === undefined) throw new Error('handed over without a lease')
          return outbox.settle(message.id, held, { to: 'queued', dueAt })
        }),
      )
      clock.advance(1000)
      const claimed = new Set<string>()
      const [last, ...more] = (await outbox.claim('email', 9, 60_000, ['full'])).messages
      t.match([last, more], [{ id: many[999]?.message.id, destination: 'last' }, []])
      claimed.add(last?.id ?? '')
      for (let turn = 0; turn < 30 && claimed.size < 1000; turn += 1) {
        for (const each of (await outbox.claim('email', 100, 60_000)).messages) claimed.add(each.id)
      }
      t.equal(claimed.size, 1000)
    },
  )
}
