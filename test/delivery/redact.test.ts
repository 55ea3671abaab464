import t from 'tap'
import { redactReply } from '../../src/delivery/redact.ts'
import type { Content } from '../../src/messages/message.ts'

const content: Content = {
  params: { code: 'QWERTY', username: 'Ann (Sales)', hour: '24' },
  subject: 'Your code',
  words: 'ours',
}

t.test('what a message says is taken out of what its provider replies, in any case', async t => {
  const reply = redactReply('451 qwerty for ANN (sales): "your code" looks odd, 24', content)
  t.equal(reply, '451 … for …: "…" looks odd, 24')
})

t.test('a reply that says nothing of it stays as it is', async t => {
  t.equal(redactReply('250 2.0.0 Ok: queued', content), '250 2.0.0 Ok: queued')
})
