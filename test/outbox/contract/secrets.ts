import type { Test } from 'tap'
import { createStoreKeys } from '../../../src/outbox/encryption.ts'
import { StoreUnusable } from '../../../src/outbox/outbox.ts'
import type { Create } from '../contract.ts'
import { sample } from '../samples.ts'
import { fresh } from './store.ts'

const OLD = 'the old secret of this test, long enough'
const NEW = 'the new secret of this test, long enough'

export async function secrets(t: Test, create: Create): Promise<void> {
  await t.test('a secret is replaced while messages wait: what was stored with either is read', async t => {
    const opened = await fresh(t, create, { storeKeys: createStoreKeys(OLD) })
    const { clock } = opened
    await opened.outbox.accept([sample(clock, { recipient: 'before@example.com' })])
    await t.rejects(opened.reopen({ storeKeys: createStoreKeys(NEW) }), StoreUnusable, 'without the old one')

    const outbox = await opened.reopen({ storeKeys: createStoreKeys(NEW, [OLD]) })
    await outbox.accept([sample(clock, { recipient: 'after@example.com' })])
    const { messages, settled } = await outbox.claim('email', 2, 60_000)
    t.same(messages.map(({ recipient }) => recipient).sort(), ['after@example.com', 'before@example.com'])
    t.same(settled, [], 'none was given up')
    for (const { id, lease } of messages) await outbox.settle(id, lease, { to: 'queued', dueAt: clock.now() })

    await t.resolves(opened.reopen({ storeKeys: createStoreKeys(NEW) }), 'the store counts as the new one’s')
    await t.rejects(
      opened.reopen({ storeKeys: createStoreKeys(OLD) }),
      StoreUnusable,
      'which the old cannot read',
    )
  })
}
