import type { Test } from 'tap'
import type { Create } from '../contract.ts'
import { sample } from '../samples.ts'
import { fresh } from './store.ts'

export async function interleavings(t: Test, create: Create): Promise<void> {
  for (const [what, codes, ends] of [
    ['the same body', ['1', '1'], ['in-progress', 'stored, superseding 0']],
    ['two codes of a group', ['1', '2'], ['stored, superseding 0', 'stored, superseding 1']],
  ] as const)
    await t.test(`${what} given at once, to two processes: one message is left`, async t => {
      const { outbox, clock, peer } = await fresh(t, create)
      const other = await peer()
      for (let n = 0; n < 20; n += 1) {
        const given = codes.map(code => sample(clock, { code, recipient: `r${n}@example.com` }))
        const answers = await Promise.all(given.map((each, at) => (at === 0 ? outbox : other).accept([each])))
        const told = answers
          .flat()
          .map(each => (each.is === 'stored' ? `stored, superseding ${each.superseded.length}` : each.is))
        t.same(new Set(told), new Set(ends))
      }
      t.equal((await outbox.claim('email', 100, 1000)).messages.length, 20)
    })
}
