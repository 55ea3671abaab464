import type { Test } from 'tap'
import type { Create } from '../contract.ts'
import { sample } from '../samples.ts'
import { fresh, kinds } from './store.ts'

export async function interleavings(t: Test, create: Create): Promise<void> {
  await t.test('the same body given twice at once, to two processes: one message', async t => {
    const { outbox, clock, peer } = await fresh(t, create)
    const other = await peer()
    for (let n = 0; n < 20; n += 1) {
      const pair = [0, 1].map(() =>
        sample(clock, { code: String(100_000 + n), recipient: `r${n}@example.com` }),
      )
      const answers = await Promise.all(pair.map((each, at) => (at === 0 ? outbox : other).accept([each])))
      t.same(answers.flatMap(kinds).toSorted(), ['in-progress', 'stored'])
    }
    t.equal((await outbox.claim('email', 100, 1000)).messages.length, 20)
  })

  await t.test('two codes of a group at once, in two processes: one is left', async t => {
    const { outbox, clock, peer } = await fresh(t, create)
    const other = await peer()
    for (let n = 0; n < 20; n += 1) {
      const pair = [1, 2].map(code => sample(clock, { code: `${code}${n}`, recipient: `r${n}@example.com` }))
      const answers = await Promise.all(pair.map((each, at) => (at === 0 ? outbox : other).accept([each])))
      const superseded = answers.flat().flatMap(each => (each.is === 'stored' ? each.superseded : []))
      t.equal(superseded.length, 1)
    }
    t.equal((await outbox.claim('email', 100, 1000)).messages.length, 20)
  })
}
