import type { Test } from 'tap'
import type { Charge } from '../../../src/outbox/outbox.ts'
import type { Create } from '../contract.ts'
import { sample } from '../samples.ts'
import { fresh, kinds } from './store.ts'

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
}
