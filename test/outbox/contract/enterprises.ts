import type { Test } from 'tap'
import type { Create } from '../contract.ts'
import { sample } from '../samples.ts'
import { claimOne, fresh } from './store.ts'

const ANOTHER = {
  name: 'StoreUnusable',
  message:
    /of another enterprise, acme, .* correct CORP_ID \(bolt\), .* run "callback-courier adopt acme" once$/,
}

export async function enterprises(t: Test, create: Create): Promise<void> {
  await t.test('a store is its first comer’s, until an operator says that this one was renamed', async t => {
    const opened = await fresh(t, create)
    const { clock, reopen } = opened
    await opened.outbox.accept([sample(clock)])
    await opened.end()
    await t.resolves(reopen({ enterprise: { corpId: 'acme' } }), 'what has no note takes one')
    await t.rejects(reopen({ enterprise: { corpId: 'bolt' } }), ANOTHER)
    await t.rejects(
      reopen({ enterprise: { corpId: 'bolt', formerly: 'cogs' } }),
      ANOTHER,
      'a slip of the pen',
    )
    await t.resolves(reopen({ enterprise: { corpId: 'acme' } }), 'it was left as it is')

    await opened.end()
    const outbox = await reopen({ enterprise: { corpId: 'bolt', formerly: 'acme' } })
    t.match(await claimOne(outbox), { recipient: 'ann@example.com' }, 'with what waits')
    await t.rejects(reopen({ enterprise: { corpId: 'acme' } }), /of another enterprise, bolt,/)
    await t.resolves(
      reopen({ enterprise: { corpId: 'bolt', formerly: 'acme' } }),
      'a second time changes nothing',
    )
  })
}
