import type { Test } from 'tap'
import type { Create } from '../contract.ts'
import { lease, NOON, recipientHashOf, record, sample } from '../samples.ts'
import { fresh } from './store.ts'

const DAY = 86_400_000

export async function admin(t: Test, create: Create): Promise<void> {
  await t.test('lists newest first, filtered, a page at a time', async t => {
    const { outbox, clock } = await fresh(t, create)
    const ids: string[] = []
    for (let n = 0; n < 6; n += 1) {
      const held = lease(clock)
      const given = sample(clock, {
        channel: n % 2 === 0 ? 'email' : 'sms',
        kind: n < 3 ? 'login-code' : 'activation-code',
        code: `${n}`,
        ...(n === 5 ? { lease: held } : {}),
      })
      await outbox.accept([given])
      ids.push(given.message.id)
      if (n === 5) await outbox.settle(given.message.id, held, { to: 'final', state: 'sent', answer: null })
      clock.advance(1000)
    }
    const list = async (filter: object) =>
      (await outbox.queries.listMessages({ limit: 10, ...filter })).messages.map(each => ids.indexOf(each.id))
    t.same(await list({}), [5, 4, 3, 2, 1, 0])
    t.same(await list({ limit: 2 }), [5, 4])
    t.same(await list({ limit: 2, before: NOON + 4000 }), [3, 2])
    t.same(
      await list({ since: NOON + 1000, before: NOON + 3000 }),
      [2, 1],
      'from a moment on until before another',
    )
    t.same(await list({ channel: 'sms' }), [5, 3, 1])
    t.same(await list({ state: 'sent' }), [5])
    t.same(await list({ state: 'superseded' }), [3, 0])
    t.same(await list({ state: 'superseded', limit: 1 }), [3], 'of both channels together')
    t.same(await list({ kind: 'login-code', channel: 'email' }), [2, 0])
    t.same(await list({ recipientHash: recipientHashOf('sms', '+8613800138000') }), [5, 3, 1])
    t.same(await list({ recipientHash: recipientHashOf('sms', '+8613800138000'), before: NOON + 3000 }), [1])
    t.same(await list({ recipientHash: 'nobody' }), [])
    for (const none of ['\0', '\ud83d', 'login-code\0', `${ids[0]}`.replace(/.$/, '-')]) {
      t.same(await list({ kind: none }), [], 'what no store can hold is not found, and no fault')
      t.equal(await outbox.queries.findMessage(none), null)
    }
  })

  await t.test(
    'what did not arrive is listed and counted, until a later report says that it did',
    async t => {
      const { outbox, clock } = await fresh(t, create)
      const ids: string[] = []
      const report = (n: number, status: string, happenedAt: number, verdict: 'recipient' | 'ambiguous') =>
        outbox.writeReceipt({
          channel: 'sms',
          id: ids[n] ?? '',
          providerId: `p${n}`,
          status,
          errorCode: '1',
          happenedAt,
          at: clock.now(),
          ...(status !== 'delivered' && { fault: { verdict, scope: 'recipient', reason: 'r' } }),
        })
      for (let n = 0; n < 4; n += 1) {
        const held = lease(clock)
        const given = sample(clock, { channel: 'sms', recipient: `+861380013800${n}`, lease: held })
        await outbox.accept([given])
        const records = [record(clock, 'sent')]
        const end = { to: 'final', answer: null, providerId: `p${n}`, records } as const
        await outbox.settle(given.message.id, held, { ...end, state: n === 3 ? 'refused' : 'sent' })
        ids.push(given.message.id)
        if (n === 0) await report(n, 'sent', 1, 'recipient')
        await report(n, 'undelivered', 1, n === 2 ? 'ambiguous' : 'recipient')
        clock.advance(1000)
      }
      const list = async (filter: object) => {
        const asked = { limit: 2, state: 'undelivered', ...filter } as const
        return (await outbox.queries.listMessages(asked)).messages.map(each => ids.indexOf(each.id))
      }
      t.same(await list({}), [3, 1])
      t.same(await list({ limit: 9 }), [3, 1, 0])
      t.same(await list({ channel: 'sms', kind: 'activation-code', before: NOON + 3000 }), [1, 0])
      t.same(await list({ channel: 'email' }), [])
      t.same(await list({ recipientHash: recipientHashOf('sms', '+8613800138001') }), [1])
      const ended = async () =>
        (await outbox.queries.readEnded(NOON - DAY, NOON))
          .map(each => Object.values(each).join(' '))
          .toSorted()
      t.same(await ended(), [
        'sms activation-code smtp CN refused 1 0',
        'sms activation-code smtp CN sent 3 0',
        'sms activation-code smtp CN undelivered 3 0',
      ])
      await report(1, 'delivered', 2, 'recipient')
      t.same(await list({ limit: 9 }), [3, 0])
      await outbox.actions.forgetRecipient(recipientHashOf('sms', '+8613800138003'))
      t.same(await list({ limit: 9 }), [0])
      t.equal((await ended())[2], 'sms activation-code smtp CN undelivered 2 0')
      t.match(await outbox.queries.readEnded(NOON, NOON + DAY), [{}, {}, { today: 0, dayBefore: 2 }])
    },
  )

  await t.test('recipients whose hashes begin alike are told apart', async t => {
    const { outbox, clock } = await fresh(t, create)
    for (const end of ['1', '2'])
      await outbox.accept([
        { ...sample(clock, { recipient: `${end}@example.com` }), recipientHash: `beginning${end}` },
      ])
    t.equal(
      (await outbox.queries.listMessages({ limit: 10, recipientHash: 'beginning1' })).messages.length,
      1,
    )
  })

  await t.test('a summary tells one recipient who waits from many', async t => {
    const { outbox, clock } = await fresh(t, create)
    const many = Array.from({ length: 201 }, (_, n) => ({
      ...sample(clock, { channel: 'sms', purpose: 'link', arrivedAt: NOON + n }),
      recipientHash: `r${n}`,
    }))
    await outbox.accept(many)
    const { waitingRecipients, oldest } = await outbox.queries.readSummary(NOON)
    t.same(waitingRecipients, { email: 0, sms: 200 }, 'as many as are looked at')
    t.match(oldest, { sms: NOON }, 'the oldest among them')
  })

  await t.test('a summary has what ended last, each with its recipient and what was reported', async t => {
    const { outbox, clock } = await fresh(t, create, { retentionDays: 60 })
    const end = async (channel: 'email' | 'sms', recipient: string, report = false) => {
      const held = lease(clock)
      const given = sample(clock, { channel, recipient, lease: held })
      const { id } = given.message
      await outbox.accept([given])
      await outbox.settle(id, held, { to: 'final', state: 'sent', answer: null, providerId: id })
      const status = { channel, id, providerId: id, status: 'undelivered', errorCode: '1', at: clock.now() }
      if (report) await outbox.writeReceipt(status)
      clock.advance(1000)
    }
    await outbox.accept([sample(clock, { channel: 'sms', recipient: '+8613800138001' })])
    for (let n = 0; n < 52; n += 1) await end('email', `${n}@example.com`)
    await end('sms', '+8613800138000', true)
    clock.advance(30 * DAY)
    const { ended } = await outbox.queries.readSummary(clock.now())
    t.match(
      ended.filter(({ channel }) => channel === 'sms'),
      [
        {
          recipient: recipientHashOf('sms', '+8613800138000'),
          state: 'sent',
          finalAt: NOON + 52_000,
          receipt: { status: 'undelivered' },
          timeline: [],
        },
      ],
    )
    const mails = ended.filter(({ channel }) => channel === 'email').map(({ recipient }) => recipient)
    t.equal(mails.length, 50)
    t.ok(mails.includes(recipientHashOf('email', '51@example.com')))
    t.notOk(mails.includes(recipientHashOf('email', '1@example.com')), 'the oldest are not among them')
    const isTold = async (length: number) => {
      const newer = () => sample(clock, { purpose: 'link', held: true, dedupeKey: `${Math.random()}` })
      await outbox.accept(Array.from({ length }, newer))
      return (await outbox.queries.readSummary(clock.now())).ended.some(({ channel }) => channel === 'sms')
    }
    t.same([await isTold(1999), await isTold(1)], [true, false], 'only of the 2,000 that came last')
  })

  await t.test(
    'the facts of a final message stay for the retention, a live one for as long as it lives',
    async t => {
      const { outbox, clock } = await fresh(t, create, { retentionDays: 3 })
      const held = lease(clock)
      const sent = sample(clock, { code: '1', lease: held })
      const waiting = sample(clock, { purpose: 'link', lifeMs: 20 * DAY })
      await outbox.accept([sent, waiting])
      await outbox.settle(sent.message.id, held, { to: 'final', state: 'sent', answer: null })
      const later = async (ms: number) => {
        clock.advance(ms)
        await outbox.claim('sms', 1, 1000)
        await outbox.claim('sms', 1, 1000)
        return (await outbox.queries.findMessage(sent.message.id)) !== null
      }
      t.equal(await later(3 * DAY - 1000), true)
      // A shared store drops a day when all of it is over.
      t.equal(await later(DAY + 1000), false)
      t.not(await outbox.queries.findMessage(waiting.message.id), null)
    },
  )

  await t.test('what is too old goes as fast as the store is used, and not a step a minute', async t => {
    const { outbox, clock } = await fresh(t, create, { retentionDays: 1 })
    const old = Array.from({ length: 600 }, (_, n) =>
      sample(clock, { recipient: `r${n}@example.com`, lease: lease(clock) }),
    )
    await outbox.accept(old)
    await Promise.all(
      old.map(({ message, lease: held }) =>
        outbox.settle(message.id, held ?? lease(clock), { to: 'final', state: 'sent', answer: null }),
      ),
    )
    clock.advance(2 * DAY)
    const kept = sample(clock)
    await outbox.accept([kept])
    for (let n = 0; n < 5; n += 1) await outbox.claim('sms', 1, 1000)
    const { messages: left } = await outbox.queries.listMessages({ limit: 1000 })
    t.same(
      left.map(({ id }) => id),
      [kept.message.id],
    )
  })
}
