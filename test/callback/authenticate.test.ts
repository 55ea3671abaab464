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
const codeOf = (result: ReturnType<ReturnType<typeof authentication>['authenticatePost']>) =>
  result.ok ? 0 : result.answer.err_code

t.test('an unknown enterprise and a channel that is off are the same 404', async t => {
  for (const each of [
    credentials({ corpId: 'corp-2' }),
    credentials({ corpId: '' }),
    credentials({ channel: 'sms' }),
  ]) {
    const result = authentication().authenticatePost(each)
    t.ok(!result.ok && result.answer.status === 404 && result.answer.err_code === 4041010)
    t.equal(codeOf(authentication().authenticateValidation(each)), 4041010)
  }
})

t.test('a wrong key is 403, for GET and POST; the previous one still opens', async t => {
  for (const key of ['', 'current-ke', 'current-key ', 'CURRENT-KEY', 'x'.repeat(10_000)]) {
    t.equal(codeOf(authentication().authenticatePost(credentials({ key }))), 4031003, key.slice(0, 20))
    t.equal(codeOf(authentication().authenticateValidation(credentials({ key, query: sign('1') }))), 4031003)
  }
  t.match(authentication().authenticatePost(credentials({ key: 'previous-key' })), {
    ok: true,
    outdated: true,
  })
  t.match(authentication().authenticateValidation(credentials({ key: 'previous-key', query: sign('1') })), {
    ok: true,
    outdated: true,
  })
  t.match(authentication().authenticatePost(credentials()), { ok: true, outdated: false })
})

t.test('GET needs a right signature, by the current or the previous Token, of any age', async t => {
  t.ok(authentication().authenticateValidation(credentials({ query: sign('1700000000') })).ok)
  t.ok(
    authentication().authenticateValidation(credentials({ query: sign('1000000000') })).ok,
    'an old one too: it has no effect',
  )
  t.ok(authentication().authenticateValidation(credentials({ query: sign('1', 'previousToken1234') })).ok)
  t.equal(
    codeOf(authentication().authenticateValidation(credentials({ query: sign('1', 'another') }))),
    4031003,
  )
  t.equal(codeOf(authentication().authenticateValidation(credentials())), 4031003)
})

t.test('observe never refuses a POST, and says what it saw', async t => {
  const seen = (query: string) => {
    const result = authentication().authenticatePost(credentials({ query }))
    t.ok(result.ok)
    return result.signature
  }
  t.equal(seen(''), 'absent')
  t.equal(seen(sign('1700000000')), 'right')
  t.equal(seen('timestamp=1&signature=2'), 'wrong')
  t.equal(seen(sign('1600000000')), 'stale')
})

t.test('required refuses a POST that is unsigned, wrong or stale', async t => {
  const strict = authentication({ postSignature: 'required' })
  const reason = (query: string) => {
    const result = strict.authenticatePost(credentials({ query }))
    return result.ok ? 'ok' : `${result.answer.err_code} ${result.reason}`
  }
  t.equal(reason(sign('1700000000')), 'ok')
  t.equal(reason(sign('1699999700')), 'ok')
  t.equal(reason(sign('1699999699')), '4031003 stale')
  t.equal(reason(sign('1700000301000')), '4031003 stale')
  t.equal(
    reason(sign('Tue Nov 14 2023'.replaceAll(' ', '%20'))),
    '4031003 stale',
    'its unit is not known, so it may be a replay',
  )
  t.equal(reason(''), '4031003 signature')
  t.equal(reason('timestamp=1700000000&signature=00'), '4031003 signature')
  for (const query of ['', 'timestamp=1&signature=2', sign('1699999699')])
    t.match(strict.authenticatePost(credentials({ query })), { ok: false, knowsKey: true })
  t.match(strict.authenticatePost(credentials({ key: 'x' })), { ok: false, knowsKey: false })
})

t.test('off looks at no signature', async t => {
  const result = authentication({ postSignature: 'off' }).authenticatePost(
    credentials({ query: 'timestamp=1&signature=2' }),
  )
  t.ok(result.ok && result.signature === 'absent')
})

t.test('only allowed sources get in, and a forged X-Forwarded-For changes nothing', async t => {
  const restricted = authentication({
    sources: createSourceNetworks(['198.51.100.0/24', '2001:db8::/32'], []),
  })
  t.ok(restricted.authenticatePost(credentials({ socketAddress: '198.51.100.7' })).ok)
  t.ok(
    restricted.authenticatePost(credentials({ socketAddress: '::ffff:198.51.100.7' })).ok,
    'as a dual-stack socket says it',
  )
  t.ok(restricted.authenticatePost(credentials({ socketAddress: '2001:db8::1' })).ok)
  t.equal(codeOf(restricted.authenticatePost(credentials({ socketAddress: '192.0.2.1' }))), 4031003)
  t.equal(
    codeOf(
      restricted.authenticatePost(credentials({ socketAddress: '192.0.2.1', forwardedFor: '198.51.100.7' })),
    ),
    4031003,
  )
  t.equal(codeOf(restricted.authenticatePost(credentials({ socketAddress: '' }))), 4031003)
  for (const [key, knowsKey] of [
    ['current-key', true],
    ['x', false],
  ] as const)
    t.match(restricted.authenticatePost(credentials({ key })), { reason: 'source', knowsKey })
})

t.test('behind a trusted proxy the nearest stranger in X-Forwarded-For is the caller', async t => {
  const sources = createSourceNetworks(['198.51.100.0/24'], ['10.0.0.0/8', '::1'])
  t.equal(sources.callerOf('10.0.0.1', '198.51.100.7'), '198.51.100.7')
  t.equal(sources.callerOf('10.0.0.1', '198.51.100.7, 192.0.2.1'), '192.0.2.1', 'the left part is forged')
  t.equal(
    sources.callerOf('10.0.0.1', '192.0.2.9, 198.51.100.7, 10.0.0.2'),
    '198.51.100.7',
    'two proxies of ours',
  )
  t.equal(sources.callerOf('10.0.0.1', undefined), '10.0.0.1')
  t.equal(sources.callerOf('10.0.0.1', 'unknown, junk'), '', 'nobody knows who')
  t.equal(sources.callerOf('192.0.2.1', '198.51.100.7'), '192.0.2.1', 'not a proxy of ours')
  t.equal(sources.callerOf('::1', '198.51.100.7'), '198.51.100.7')
})

t.test('entries of X-Forwarded-For may name a port', async t => {
  const sources = createSourceNetworks([], ['10.0.0.0/8', '::1'])
  for (const [entry, address] of [
    ['198.51.100.7:4711', '198.51.100.7'],
    ['[2001:db8::7]:4711', '2001:db8::7'],
    ['[2001:db8::7]', '2001:db8::7'],
    ['2001:db8::7', '2001:db8::7'],
    ['[::ffff:198.51.100.7]:1', '198.51.100.7'],
    ['192.0.2.9, 198.51.100.7:4711, 10.0.0.2:80, [::1]:443', '198.51.100.7'],
  ] as const)
    t.equal(sources.callerOf('10.0.0.1', entry), address, entry)
})

t.test(
  'an entry that is not understood lets nobody in, even where the proxies themselves are allowed',
  async t => {
    const restricted = authentication({
      sources: createSourceNetworks(['10.0.0.0/8', '198.51.100.0/24', '2001:db8::/32'], ['10.0.0.0/8']),
    })
    const codeFor = (forwardedFor: string) =>
      codeOf(restricted.authenticatePost(credentials({ socketAddress: '10.0.0.1', forwardedFor })))
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
      t.equal(codeFor(entry), 4031003, entry)
    t.not(codeFor('198.51.100.7:80'), 4031003)
  },
)
