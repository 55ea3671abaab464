import t from 'tap'
import { createLeaseTokens } from '../../src/outbox/lease-tokens.ts'

t.test('lease tokens begin with their owner and are never the same', async t => {
  let owner = 'a'
  const newToken = createLeaseTokens(() => owner)
  const tokens = [newToken(), newToken()]
  owner = 'a.1'
  tokens.push(newToken())
  t.equal(new Set(tokens).size, 3)
  t.ok(tokens[0]?.startsWith('a.') && tokens[2]?.startsWith('a.1.'))
})
