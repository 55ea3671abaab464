import type { Test } from 'tap'
import type { Charge } from '../../../src/outbox/outbox.ts'
import type { Create } from '../contract.ts'
import { lease, recipientHashOf, sample } from '../samples.ts'
import { fresh, kinds } from './store.ts'

const TEN_MINUTES = 600_000
const HOUR = 3_600_000
const DAY = 24 * HOUR

const charge = (limit: number, more: Partial<Charge> = {}): Charge => ({
  quota: 'recipient-10m',
  bucket: 'ann',
  windowMs: TEN_MINUTES,
  limit,
  ...more,
})

export async function quotas(t: Test, create: Create): Promise<void> {
  await t.test(
    'a limit that several recipients share holds when several processes are the first to use it',
    async t => {
      const { outbox, clock, peer } = await fresh(t, create)
      const stores = [outbox, await peer()]
      const calls = Array.from({ length: 30 }, (_, n) =>
        (stores[n % 2] ?? outbox).accept([
          sample(clock, { recipient: `person.${n}@example.com`, purpose: 'link', charges: [charge(7)] }),
        ]),
      )
      const answers = (await Promise.all(calls)).flatMap(each => kinds(each))
      t.equal(answers.filter(each => each === 'stored').length, 7)
    },
  )

  await t.test(
    'what was counted in a window counts in the next one, whatever is deleted meanwhile',
    async t => {
      const { outbox, clock } = await fresh(t, create)
      for (const [limit, is] of [
        [1, 'stored'],
        [2, 'stored'],
        [1, 'over-quota'],
      ] as const) {
        t.match(await outbox.accept([sample(clock, { code: `${clock.now()}`, charges: [charge(limit)] })]), [
          { is },
        ])
        clock.advance(TEN_MINUTES)
        await outbox.claim('sms', 1, 1000)
      }
    },
  )

  await t.test('a number is new until the day after something was delivered to it', async t => {
    const { clock, peer, reopen, ...opened } = await fresh(t, create)
    let { outbox } = opened
    const limit = charge(3, {
      quota: 'sms-newcomers-hour',
      bucket: 'code:86',
      windowMs: HOUR,
      newcomersOnly: true,
    })
    let codes = 0
    const ask = (to: string) =>
      sample(clock, {
        channel: 'sms',
        recipient: to,
        code: `${(codes += 1)}`,
        charges: [limit],
        lease: lease(clock),
      })
    const send = async (to: string, how: 'settled' | 'sent' | 'delivered' | 'read' | 'undelivered') => {
      const given = ask(to)
      const { id } = given.message
      await outbox.accept([{ ...given, charges: [] }])
      const settlement = { to: 'final', state: 'sent', answer: null, delivered: how === 'settled' } as const
      await outbox.settle(id, given.lease ?? lease(clock), settlement)
      if (how !== 'settled' && how !== 'sent')
        await outbox.writeReceipt({ channel: 'sms', id, status: how, errorCode: null, at: clock.now() })
    }
    const [ann, bob, cid, dan] = [
      '+8613800138001',
      '+8613800138002',
      '+8613800138003',
      '+8613800138004',
    ] as const
    await send(ann, 'settled')
    await send(bob, 'delivered')
    await send(cid, 'undelivered')
    await send(dan, 'sent')
    t.match(
      await outbox.accept([ask(ann), ask(bob)]),
      [{ newcomers: 1 }, { newcomers: 2 }],
      'on the same day',
    )
    clock.advance(DAY)
    outbox = await reopen()
    t.match(await outbox.accept([ask(ann), ask(bob)]), [
      { is: 'stored', newcomers: undefined },
      { is: 'stored', newcomers: undefined },
    ])
    t.match(await (await peer()).accept([ask(cid), ask(dan), ask(cid), ask(dan), ask(ann)]), [
      { newcomers: 1 },
      { newcomers: 2 },
      { newcomers: 3 },
      { is: 'over-quota', quota: 'sms-newcomers-hour' },
      { is: 'stored' },
    ])
    await outbox.actions.forgetRecipient(recipientHashOf('sms', ann))
    clock.advance(DAY)
    t.match(
      await outbox.accept([ask(ann), ask(bob)]),
      [{ newcomers: 1 }, { newcomers: undefined }],
      'who is forgotten is new',
    )
    clock.advance(40 * DAY)
    await send(bob, 'read')
    for (const [days, newcomers, what] of [
      [0, undefined, 'who is known stays so'],
      [399, undefined, 'for 400 days from then on'],
      [1, 1, 'and not longer'],
    ] as const) {
      clock.advance(days * DAY)
      t.match(await outbox.accept([ask(bob)]), [{ is: 'stored', newcomers }], what)
    }
  })
}
