import type { Test } from 'tap'
import { createStoreKeys } from '../../../src/outbox/encryption.ts'
import { StoreUnusable } from '../../../src/outbox/outbox.ts'
import type { Create } from '../contract.ts'
import { sample } from '../samples.ts'
import { fresh } from './store.ts'

const OLD = 'the old secret of this test, long enough'
const SENT = { to: 'final', state: 'sent', answer: null } as const
const NEW = 'the new secret of this test, long enough'

export async function secrets(t: Test, create: Create): Promise<void> {
  await t.test('a wrong secret is refused whatever waits, and the right one opens it again', async t => {
    for (const channel of ['email', 'sms'] as const) {
      const opened = await fresh(t, create, { storeKeys: createStoreKeys(OLD) })
      await opened.outbox.accept([sample(opened.clock, { channel })])
      await opened.end()
      await t.rejects(opened.reopen({ storeKeys: createStoreKeys(NEW) }), StoreUnusable, channel)
      const outbox = await opened.reopen({ storeKeys: createStoreKeys(OLD) })
      t.equal((await outbox.claim(channel, 1, 60_000)).messages.length, 1, channel)
    }
  })

  await t.test('a secret is replaced while messages wait: what was stored with either is read', async t => {
    const opened = await fresh(t, create, { storeKeys: createStoreKeys(OLD) })
    const { clock } = opened
    await opened.outbox.accept([sample(clock, { recipient: 'before@example.com' })])
    await t.rejects(opened.reopen({ storeKeys: createStoreKeys(NEW) }), StoreUnusable, 'without the old one')

    await opened.end()
    const outbox = await opened.reopen({ storeKeys: createStoreKeys(NEW, [OLD]) })
    await outbox.accept([sample(clock, { recipient: 'after@example.com' })])
    const { messages, settled } = await outbox.claim('email', 2, 60_000)
    t.same(messages.map(({ recipient }) => recipient).sort(), ['after@example.com', 'before@example.com'])
    t.same(settled, [], 'none was given up')
    for (const { id, lease, recipient } of messages)
      await outbox.settle(
        id,
        lease,
        recipient === 'before@example.com' ? { to: 'queued', dueAt: clock.now() } : SENT,
      )
    await t.rejects(
      opened.reopen({ storeKeys: createStoreKeys(NEW) }),
      StoreUnusable,
      'what the new one cannot read still waits',
    )
    const again = await opened.reopen({ storeKeys: createStoreKeys(NEW, [OLD]) })
    const [before] = (await again.claim('email', 2, 60_000)).messages
    if (before !== undefined) await again.settle(before.id, before.lease, SENT)
    await again.accept([sample(clock, { recipient: 'later@example.com' })])

    await t.resolves(opened.reopen({ storeKeys: createStoreKeys(NEW) }), 'the store counts as the new one’s')
    await t.rejects(
      opened.reopen({ storeKeys: createStoreKeys(OLD) }),
      StoreUnusable,
      'which the old cannot read',
    )
  })
}
