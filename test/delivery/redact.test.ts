import t from 'tap'
import { redactOutcome } from '../../src/delivery/redact.ts'
import type { Content } from '../../src/messages/message.ts'

const content: Content = {
  params: { code: 'QWERTY', username: 'Ann (Sales)', hour: '24' },
  subject: 'Your code',
  words: 'ours',
}

t.test('what a message says is taken out of what its provider replies, in any case', async t => {
  const outcome = redactOutcome(
    {
      is: 'retry',
      whose: 'later',
      code: '451',
      reply: '451 qwerty for ANN (sales): "your code" looks odd, 24',
    },
    content,
  )
  t.same(outcome, { is: 'retry', whose: 'later', code: '451', reply: '451 … for …: "…" looks odd, 24' })
})

t.test('a reply that says nothing of it stays the same object', async t => {
  const outcome = { is: 'sent', reply: '250 2.0.0 Ok: queued', providerId: 'x' } as const
  t.equal(redactOutcome(outcome, content), outcome)
})
