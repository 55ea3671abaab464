import { createHash } from 'node:crypto'
import t from 'tap'
import {
  type AuthenticationOptions,
  type Credentials,
  createAuthentication,
  createSourceNetworks,
} from '../../src/callback/authenticate.ts'

const corpId = 'corp-1'
const token = 'aTokenOfSomeLength'
const NOW = 1_700_000_000_000
const sign = (timestamp: string, by = token) =>
  `timestamp=${timestamp}&signature=${createHash('sha1').update(`${corpId}${by}${timestamp}`).digest('hex')}`

function authentication(more: Partial<AuthenticationOptions> = {}) {
  return createAuthentication({
    corpId,
    channels: { email: { tokens: [token, 'previousToken1234'], keys: ['current-key', 'previous-key'] } },
    sources: createSourceNetworks([], []),
    postSignature: 'observe',
    signatureMaxAgeSeconds: 300,
    wall: () => NOW,
    ...more,
  })
}
const credentials = (more: Partial<Credentials> = {}): Credentials => ({
  channel: 'email',
  corpId,
  key: 'current-key',
  query: '',
  socketAddress: '192.0.2.1',
  forwardedFor: undefined,
  ...more,
})
/** What becomes of a POST and of a validation: `ok`, or the err_code and the reason. */
const said = (result: ReturnType<ReturnType<typeof authentication>['authenticatePost']>) =>
  result.ok ? 'ok' : `${result.answer.err_code} ${result.reason}`
const post = (given: Partial<Credentials> = {}, by = authentication()) =>
  said(by.authenticatePost(credentials(given)))
const validate = (given: Partial<Credentials> = {}) =>
  said(authentication().authenticateValidation(credentials(given)))

t.test('an unknown enterprise and a channel that is off are the same 404', async t => {
  for (const given of [{ corpId: 'corp-2' }, { corpId: '' }, { channel: 'sms' }] as const) {
    t.equal(post(given), '4041010 corp')
    t.equal(validate(given), '4041010 corp')
  }
})

t.test('a wrong key is 403, for GET and POST; the previous one still opens', async t => {
  for (const key of ['', 'current-ke', 'current-key ', 'CURRENT-KEY', 'x'.repeat(10_000)]) {
    t.equal(post({ key }), '4031003 key', key.slice(0, 20))
    t.equal(validate({ key, query: sign('1') }), '4031003 key')
  }
  const old = credentials({ key: 'previous-key', query: sign('1') })
  for (const result of [authentication().authenticatePost(old), authentication().authenticateValidation(old)])
    t.match(result, { ok: true, outdated: true })
  t.match(authentication().authenticatePost(credentials()), { ok: true, outdated: false })
})

t.test('GET needs a right signature, by the current or the previous Token, of any age', async t => {
  // An old one has no effect.
  const encoded = sign('1').replace(/(?<=signature=)./, digit => `%${digit.charCodeAt(0).toString(16)}`)
  for (const query of [sign('1700000000'), sign('1000000000'), sign('1', 'previousToken1234'), encoded])
    t.equal(validate({ query }), 'ok')
  for (const query of [sign('1', 'another'), '']) t.equal(validate({ query }), '4031003 signature')
})

t.test('observe never refuses a POST, and says what it saw; off looks at no signature', async t => {
  for (const [query, signature] of [
    ['', 'absent'],
    [sign('1700000000'), 'right'],
    ['timestamp=1&signature=2', 'wrong'],
    [sign('1600000000'), 'stale'],
  ] as const) {
    const given = credentials({ query })
    t.match(authentication().authenticatePost(given), { ok: true, signature })
    const off = authentication({ postSignature: 'off' }).authenticatePost(given)
    t.match(off, { ok: true, signature: 'absent' })
  }
})

t.test('required refuses a POST that is unsigned, wrong or stale', async t => {
  const strict = authentication({ postSignature: 'required' })
  for (const [query, expected, signature] of [
    [sign('1700000000'), 'ok'],
    [sign('1699999700'), 'ok'],
    [sign('1699999699'), '4031003 stale', 'stale'],
    [sign('1700000301000'), '4031003 stale', 'stale'],
    // Its unit is not known, so it may be a replay.
    [sign('Tue%20Nov%2014%202023'), '4031003 stale', 'stale'],
    ['', '4031003 signature', 'absent'],
    ['timestamp=1700000000&signature=00', '4031003 signature', 'wrong'],
  ] as const) {
    t.equal(post({ query }, strict), expected)
    if (expected !== 'ok')
      t.match(strict.authenticatePost(credentials({ query })), { knowsKey: true, signature })
  }
  t.match(strict.authenticatePost(credentials({ key: 'x' })), { ok: false, knowsKey: false })
})

t.test('only allowed sources get in, and a forged X-Forwarded-For changes nothing', async t => {
  const sources = createSourceNetworks(['198.51.100.0/24', '2001:db8::/32'], [])
  const restricted = authentication({ sources })
  for (const [socketAddress, expected, forwardedFor] of [
    ['198.51.100.7', 'ok'],
    // As a dual-stack socket says it.
    ['::ffff:198.51.100.7', 'ok'],
    ['2001:db8::1', 'ok'],
    ['192.0.2.1', '4031003 source'],
    ['192.0.2.1', '4031003 source', '198.51.100.7'],
    ['', '4031003 source'],
  ] as const)
    t.equal(post({ socketAddress, forwardedFor }, restricted), expected, socketAddress)
  for (const [key, knowsKey] of [
    ['current-key', true],
    ['x', false],
  ] as const)
    t.match(restricted.authenticatePost(credentials({ key })), { reason: 'source', knowsKey })
})

t.test('a probe gets in from anywhere by the value that is expected, with the key, and once', async t => {
  const by = authentication({ sources: createSourceNetworks(['203.0.113.0/24'], []) })
  const value = 'a'.repeat(32)
  t.equal(post({ probe: '' }, by), '4031003 source', 'none is expected')
  by.expectProbe(value)
  for (const probe of [undefined, '', 'b'.repeat(32), `${value}a`])
    t.equal(post({ probe }, by), '4031003 source', probe ?? 'none')
  t.equal(post({ probe: value, key: 'other-key' }, by), '4031003 key')
  t.match(by.authenticatePost(credentials({ probe: 'b', socketAddress: '203.0.113.7' })), {
    caller: { probe: undefined },
  })
  t.match(by.authenticatePost(credentials({ probe: value })), { ok: true, caller: { probe: value } })
  t.equal(post({ probe: value }, by), '4031003 source')
})

t.test('behind a trusted proxy the nearest stranger in X-Forwarded-For is the caller', async t => {
  const sources = createSourceNetworks(['198.51.100.0/24'], ['10.0.0.0/8', '::1'])
  for (const [socket, forwarded, caller] of [
    ['10.0.0.1', '198.51.100.7', '198.51.100.7'],
    // The left part is forged.
    ['10.0.0.1', '198.51.100.7, 192.0.2.1', '192.0.2.1'],
    // Two proxies of ours.
    ['10.0.0.1', '192.0.2.9, 198.51.100.7, 10.0.0.2', '198.51.100.7'],
    ['::ffff:10.0.0.1', undefined, '10.0.0.1'],
    // Nobody knows who.
    ['10.0.0.1', 'unknown, junk', ''],
    // Not a proxy of ours.
    ['192.0.2.1', '198.51.100.7', '192.0.2.1'],
    ['::1', '198.51.100.7', '198.51.100.7'],
    ['10.0.0.1', '198.51.100.7:4711', '198.51.100.7'],
    ['10.0.0.1', '[2001:db8::7]:4711', '2001:db8::7'],
    ['10.0.0.1', '[2001:db8::7]', '2001:db8::7'],
    ['10.0.0.1', '2001:db8::7', '2001:db8::7'],
    ['10.0.0.1', '[::ffff:198.51.100.7]:1', '198.51.100.7'],
    ['10.0.0.1', '192.0.2.9, 198.51.100.7:4711, 10.0.0.2:80, [::1]:443', '198.51.100.7'],
  ] as const)
    t.equal(sources.callerOf(socket, forwarded), caller, String(forwarded))
})

t.test(
  'an entry that is not understood lets nobody in, even where the proxies themselves are allowed',
  async t => {
    const restricted = authentication({
      sources: createSourceNetworks(['10.0.0.0/8', '198.51.100.0/24', '2001:db8::/32'], ['10.0.0.0/8']),
    })
    const codeFor = (forwardedFor: string) => post({ socketAddress: '10.0.0.1', forwardedFor }, restricted)
    for (const entry of [
      '',
      'unknown',
      '_hidden',
      '198.51.100.7:',
      '198.51.100.7:x',
      '198.51.100.7:123456',
      '198.51.100.7:80:80',
      '198.51.100.7.evil.test',
      '198.51.100.300:80',
      '0198.51.100.7',
      '[198.51.100.7]',
      '[198.51.100.7]:80',
      '[2001:db8::7',
      '2001:db8::7]:80',
      '[2001:db8::7]80',
      '[2001:db8::7%eth0]:80',
      '2001:db8::7%eth0',
      '"[2001:db8::7]:80"',
      'for=198.51.100.7',
      '198.51.100.7 80',
      '198.51.100.7, unknown',
      '198.51.100.7, unknown, 10.0.0.2',
      '198.51.100.7:1, 192.0.2.1:80',
    ])
      t.equal(codeFor(entry), '4031003 source', entry)
    t.equal(codeFor('198.51.100.7:80'), 'ok')
  },
)
