import type { Test } from 'tap'
import type { Create } from '../contract.ts'
import { recipientHashOf, sample } from '../samples.ts'
import { claimOne, fresh } from './store.ts'

const SENT = { to: 'final', state: 'sent', answer: null } as const

export async function forgetting(t: Test, create: Create): Promise<void> {
  await t.test('a recipient is forgotten, and nobody else', async t => {
    const { outbox, clock, bytes } = await fresh(t, create)
    const [ann, bob] = ['ann@example.com', 'bob@example.com']
    for (const recipient of [ann, bob]) {
      const given = sample(clock, { recipient, purpose: 'alarm' })
      const value = JSON.stringify([1, null, null, 1, given.message.id])
      const memo = { name: `alarmed-${recipient}`, value, expiresAt: clock.now() + 90_000_000 }
      await outbox.accept([{ ...given, memo }])
      const { id, lease } = await claimOne(outbox)
      await outbox.settle(id, lease, SENT)
      t.match(
        await outbox.writeReceipt({
          channel: 'email',
          id,
          status: 'undelivered',
          errorCode: '5.1.1',
          fault: { verdict: 'recipient', scope: 'message', reason: null },
          at: clock.now(),
          recipients: [given.recipientHash],
        }),
        { is: 'recorded' },
      )
    }
    await outbox.accept([sample(clock, { recipient: ann })])
    const hash = recipientHashOf('email', ann)
    const names = [ann, bob].flatMap(to => [`alarmed-${to}`, `bounced/${recipientHashOf('email', to)}`])
    t.equal((await outbox.memos.readMemos(names)).size, 4)

    const forget = () => outbox.actions.forgetRecipient(hash)
    t.equal(await forget(), 1)
    const { id, lease } = await claimOne(outbox)
    t.same(
      await outbox.settle(id, lease, SENT),
      { state: 'sent', answer: null },
      'what lives is left, and ends',
    )
    t.equal(await forget(), 1)
    t.equal(await forget(), 0)
    t.same((await outbox.queries.listMessages({ limit: 9, recipientHash: hash })).messages, [])
    t.match((await outbox.queries.listMessages({ limit: 9 })).messages, [
      { kind: 'member-alarm', state: 'sent' },
    ])
    t.same([...(await outbox.memos.readMemos(names)).keys()].sort(), names.slice(2).sort())
    // Postgres keeps removed rows until its vacuum, and its log of them for backups.
    if (outbox.backUp !== undefined)
      t.notOk((await bytes()).includes(hash), 'nor does its hash lie anywhere on disk')
  })
}
