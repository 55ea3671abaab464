import type { Test } from 'tap'
import type { Charge } from '../../../src/outbox/outbox.ts'
import type { Create } from '../contract.ts'
import { lease, sample } from '../samples.ts'
import { claimOne, fresh, kinds } from './store.ts'

const TEN_MINUTES = 600_000

const charge = (limit: number, more: Partial<Charge> = {}): Charge => ({
  quota: 'recipient-10m',
  bucket: 'ann',
  windowMs: TEN_MINUTES,
  limit,
  ...more,
})

export async function quotas(t: Test, create: Create): Promise<void> {
  await t.test('a limit holds however many processes are asked at once', async t => {
    const { outbox, clock, peer } = await fresh(t, create)
    const stores = [outbox, await peer()]
    const calls = Array.from({ length: 30 }, (_, n) =>
      (stores[n % 2] ?? outbox).accept([
        sample(clock, { code: `${n}`, purpose: 'link', charges: [charge(7)] }),
      ]),
    )
    const answers = (await Promise.all(calls)).flatMap(each => kinds(each))
    t.equal(answers.filter(each => each === 'stored').length, 7)
  })

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

  await t.test('what was not sent is given back: expired, superseded, refused', async t => {
    const { outbox, clock } = await fresh(t, create)
    const one = [charge(1)]
    await outbox.accept([sample(clock, { code: '1', purpose: 'link', charges: one, lifeMs: 1000 })])
    clock.advance(1000)
    await outbox.claim('email', 1, 1000)
    const held = lease(clock)
    const second = sample(clock, { code: '2', purpose: 'link', charges: one, lease: held })
    t.same(kinds(await outbox.accept([second])), ['stored'], 'after one that expired')
    await outbox.settle(second.message.id, held, { to: 'final', state: 'refused', answer: 'recipient' })
    t.same(
      kinds(await outbox.accept([sample(clock, { code: '3', charges: one })])),
      ['stored'],
      'after a refused one',
    )
    const cancelled = await claimOne(outbox)
    await outbox.settle(cancelled.id, cancelled.lease, { to: 'queued', dueAt: clock.now() + 1000 })
    await outbox.actions.cancelMessage(cancelled.id)
    t.same(
      kinds(await outbox.accept([sample(clock, { code: '4', charges: one })])),
      ['stored'],
      'after a cancelled one',
    )
  })

  await t.test('a quota of newcomers counts and refuses only whom nothing was sent to', async t => {
    const { outbox, clock } = await fresh(t, create)
    const newcomers = charge(2, { quota: 'signup-domain-hour', newcomersOnly: true })
    const ask = (name: string, code: string, charges: readonly Charge[] = [newcomers]) =>
      sample(clock, { recipient: `${name}@example.com`, code, purpose: 'link', charges })
    const send = async (state: 'sent' | 'refused', name: string) => {
      const held = lease(clock)
      const message = { ...ask(name, state, []), lease: held }
      await outbox.accept([message])
      const answer = state === 'refused' ? 'recipient' : null
      await outbox.settle(message.message.id, held, { to: 'final', state, answer })
    }
    await send('sent', 'ann')
    await send('refused', 'bob')
    for (const code of ['1', '2', '3'])
      t.same(kinds(await outbox.accept([ask('ann', code)])), ['stored'], 'she is known, and does not count')
    t.same(kinds(await outbox.accept([ask('bob', '1'), ask('cid', '1'), ask('dan', '1'), ask('ann', '4')])), [
      'stored',
      'stored',
      'over-quota',
      'stored',
    ])
    t.same(
      kinds(await outbox.accept([ask('dan', '2', [charge(9)])])),
      ['stored'],
      'other quotas are their own',
    )
    t.match(
      await outbox.accept([
        ask('ann', '5', [charge(1, { bucket: 'x' }), newcomers]),
        ask('ann', '6', [charge(1, { bucket: 'x' })]),
      ]),
      [{ is: 'stored' }, { is: 'over-quota', quota: 'recipient-10m' }],
      'who is known has the others all the same',
    )
  })
}
