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

t.test('while a Token is replaced, both derived keys open the URL and the new one is printed', async t => {
  const keys = callbackKeys('sms', { corpId: 'c', token: 'new', tokenPrevious: 'old' })
  t.same(keys, {
    current: deriveCallbackKey('sms', 'c', 'new'),
    accepted: [deriveCallbackKey('sms', 'c', 'new'), deriveCallbackKey('sms', 'c', 'old')],
  })
})

t.test('an own key does not move with the Token, and shuts every derived one out', async t => {
  const keys = callbackKeys('email', { corpId: 'c', token: 'new', tokenPrevious: 'old', ownKey: 'k' })
  t.same(keys, { current: 'k', accepted: ['k'] })
  const replaced = callbackKeys('email', { corpId: 'c', token: 't', ownKey: 'k2', ownKeyPrevious: 'k1' })
  t.same(replaced, { current: 'k2', accepted: ['k2', 'k1'] })
})

t.test('going back from an own key to the derived one keeps the own one open for a while', async t => {
  const keys = callbackKeys('email', { corpId: 'c', token: 't', ownKeyPrevious: 'k1' })
  t.same(keys.accepted, [deriveCallbackKey('email', 'c', 't'), 'k1'])
})
