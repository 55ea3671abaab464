import t from 'tap'
import { callbackKeys, deriveCallbackKey } from '../../src/callback/authenticate.ts'

t.test('derives the key that anybody can compute from Token, channel and corp_id', async t => {
  // printf 'callback-courier/email/100fa4' | openssl dgst -sha256 -hmac 'correct horse battery staple' | cut -c1-32
  const token = 'correct horse battery staple'
  t.equal(deriveCallbackKey('email', '100fa4', token), '5a01a1d717010210e3000ac87540041f')
  t.equal(deriveCallbackKey('sms', '100fa4', token), '90e372f185b814ebb91c3a4df3ada480')
  t.equal(
    deriveCallbackKey('sms', '100fa4', '令牌-€'),
    'df9436a36ccef1409d031b9cb203a0db',
    'a Token is UTF-8',
  )
})

t.test('an own key does not move with the Token, and what was before each is open for a while', async t => {
  const [NEW, OLD] = ['new', 'old'].map(token => deriveCallbackKey('sms', 'c', token))
  for (const [more, current, accepted] of [
    [{ tokenPrevious: 'old' }, NEW, [NEW, OLD]],
    [{ tokenPrevious: 'old', ownKey: 'k' }, 'k', ['k']],
    [{ ownKey: 'k2', ownKeyPrevious: 'k1' }, 'k2', ['k2', 'k1']],
    [{ ownKeyPrevious: 'k1' }, NEW, [NEW, 'k1']],
  ] as const)
    t.same(callbackKeys('sms', { corpId: 'c', token: 'new', ...more }), { current, accepted })
})
