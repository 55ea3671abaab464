import type { Test } from 'tap'
import type { Create } from '../contract.ts'
import { lease, type Sample, sample } from '../samples.ts'
import { fresh } from './store.ts'

export async function claiming(t: Test, create: Create): Promise<void> {
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
    t.match(tokens[0], /^[\da-f]{16}\./, 'that begins with its process, unlike any other')
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

  await t.test('a destination that is asked for by name is listed, however many others wait', async t => {
    const { outbox, clock } = await fresh(t, create)
    const to = (destination: string) => sample(clock, { recipient: `r@${destination}.example`, destination })
    await outbox.accept(Array.from({ length: 250 }, (_, n) => to(`${n}`)))
    clock.advance(-60_000)
    await outbox.accept([to('named')])
    clock.advance(120_000)
    const listed = await outbox.queries.readWaiting('email', ['named'])
    t.equal(listed.length, 10)
    t.match(listed[0], { destination: 'named', count: 1 })
  })

  await t.test('however many wait for a destination, they hide no other', async t => {
    const { outbox, clock } = await fresh(t, create)
    const to = (domain: string, count: number, more: Sample = {}) =>
      Array.from({ length: count }, (_, n) =>
        sample(clock, { recipient: `r${n}@${domain}.example`, destination: domain, ...more }),
      )
    await outbox.accept(to('full', 700))
    // From the first text that a destination can be to the last one.
    const others = [...to('zz', 1), ...to('Z', 1), ...to('', 3), ...to('_', 1), ...to('-', 1)]
    await outbox.accept([...others, ...to('link', 2, { purpose: 'link' }), ...to('e', 2, { channel: 'sms' })])
    const claim = async (limit: number, ...passOver: string[]) => {
      const { messages, nextDueAt } = await outbox.claim('email', limit, 60_000, passOver)
      return { to: messages.map(({ destination }) => destination), isDue: nextDueAt === clock.now() }
    }
    for (const other of ['', '-', 'Z', '_', 'zz', ''])
      t.same(
        await claim(4),
        { to: ['full', 'full', 'full', other], isDue: true },
        'the first in order, but a quarter to others, round and round',
      )
    const waiting = await outbox.queries.readWaiting('email', ['link', 'nobody'])
    t.same(
      waiting.toSorted((a, b) => b.count - a.count).map(({ count }) => count),
      [682, 2],
      'what waits by destination',
    )
    t.equal(waiting[0]?.dueAt, clock.now())
    t.same(await claim(2, 'full'), { to: ['', 'link'], isDue: true }, 'codes before all else')
    t.same(
      await claim(9, 'full', 'link'),
      { to: [], isDue: false },
      'what is passed over is not said to be due',
    )
    t.same(await claim(9, 'full'), { to: ['link'], isDue: false })
    clock.advance(1000)
    t.match(await claim(1), { to: ['full'], isDue: true })
    const [newest, ...named] = to('named', 3)
    await outbox.accept([...named, ...to('other', 1), ...to('named', 1, { purpose: 'link' })])
    clock.advance(1)
    if (newest !== undefined) await outbox.accept([newest])
    const only = async (limit: number, codesOnly: boolean, ...names: string[]) => {
      const { messages } = await outbox.claim('email', limit, 60_000, [], codesOnly, names)
      return messages.map(({ recipient, purpose }) => `${recipient.replace('.example', '')} ${purpose}`)
    }
    t.same(await only(2, true, 'named', 'other'), ['r0@named code', 'r0@other code'], 'of each the same')
    t.same(await only(2, false, 'nobody'), [])
    t.same(
      (await only(9, false, 'named')).map(each => each.replace(/^..@/, '')),
      ['named code', 'named code', 'named link'],
      'however many others wait',
    )
    clock.advance(600_000)
    const ends = [await outbox.claim('email', 9, 1, ['full']), await outbox.claim('email', 9, 1, ['full'])]
    t.ok(ends.flatMap(({ settled }) => settled).length > 681, 'their lives end all the same')
  })

  await t.test(
    'many that become due are claimed in this order, and at once what they stand before',
    async t => {
      const { outbox, clock } = await fresh(t, create)
      const many = Array.from({ length: 1100 }, (_, n) =>
        sample(clock, {
          recipient: `r${n}@example.com`,
          purpose: n < 4 ? 'link' : 'code',
          lease: lease(clock),
          destination: n === 1099 ? 'last' : 'full',
        }),
      )
      await outbox.accept(many)
      const dueAt = clock.now() + 1000
      await Promise.all(
        many.map(({ message, lease: held = lease(clock) }, n) =>
          outbox.settle(message.id, held, { to: 'queued', dueAt: dueAt + Math.floor(n / 2) }),
        ),
      )
      t.match(await outbox.claim('email', 9, 1), { nextDueAt: dueAt, nextCodeAt: dueAt + 2 }, 'the first')
      clock.advance(1550)
      const claimed = new Set<string>()
      const [last, ...more] = (await outbox.claim('email', 9, 60_000, ['full'])).messages
      t.match([last, more], [{ id: many[1099]?.message.id, destination: 'last' }, []])
      for (let turn = 0; turn < 30 && claimed.size < 1099; turn += 1)
        for (const each of (await outbox.claim('email', 100, 60_000)).messages) claimed.add(each.id)
      const inOrder = [...many.slice(4, -1), ...many.slice(0, 4)].map(({ message }) => message.id)
      t.same([...claimed], inOrder, 'codes first')
    },
  )
}
