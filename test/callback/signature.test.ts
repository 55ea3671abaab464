import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { checkSignature, isFresh } from '../../src/callback/authenticate.ts'
import { anyCharacter, webQuery } from '../fixtures/arbitraries.ts'

const corpId = '1007d2ad150b5c00'
const token = 'kJ8s-Lq2_vTn5xWz9bRy'
const sign = (timestamp: string, withToken = token) =>
  createHash('sha1').update(`${corpId}${withToken}${timestamp}`).digest('hex')
const check = (query: string, tokens = [token]) => checkSignature(query, corpId, tokens).check

t.test('the signature of the contract is right, in either case and any order of parameters', async t => {
  const signature = sign('1700000000')
  t.equal(check(`timestamp=1700000000&signature=${signature}`), 'right')
  t.equal(check(`signature=${signature.toUpperCase()}&timestamp=1700000000&nonce=1`), 'right')
  t.equal(check(`%74imestamp=1700000000&signature=${signature}`), 'right', 'an encoded name')
})

t.test('a known answer: SHA1 of corp id, Token and timestamp joined', async t => {
  // That of "abc": FIPS 180-1, appendix A.
  const query = 'timestamp=c&signature=a9993e364706816aba3e25717850c26c9cd0d89d'
  t.equal(checkSignature(query, 'a', ['b']).check, 'right')
})

t.test('the form-decoded, the percent-decoded and the raw timestamp count', async t => {
  for (const [sent, signed] of [
    ['2026-01-01T00:00:00+08:00', '2026-01-01T00:00:00+08:00'],
    ['2026-01-01+00:00', '2026-01-01 00:00'],
    ['1'.repeat(64), '1'.repeat(64)],
    ['2026%2D01', '2026-01'],
    ['2026%2D01+08:00', '2026-01+08:00'],
    ['2026%2D01', '2026%2D01'],
  ] as const)
    t.equal(check(`timestamp=${sent}&signature=${sign(signed)}`), 'right', `${sent} for ${signed}`)
})

t.test('missing, empty, repeated, arrays and the wrong length are wrong, never a fault', async t => {
  const signature = sign('1')
  const wrong = [
    'timestamp=1',
    `signature=${signature}`,
    'timestamp=1&signature=',
    'timestamp=&signature=',
    `timestamp=1&timestamp=1&signature=${signature}`,
    `timestamp=1&signature=${signature}&signature=${signature}`,
    `timestamp=1&signature=a&signature=b`,
    `timestamp[]=1&signature=${signature}`,
    `timestamp[a]=1&signature[b]=${signature}`,
    `timestamp=1&signature=${signature}0`,
    `timestamp=1&signature=${signature.slice(1)}`,
    `timestamp=1&signature=${'g'.repeat(40)}`,
    `timestamp=2&signature=${signature}`,
    `timestamp=%E0%A4%A&signature=${signature}`,
    `timestamp=1&signature=%ZZ`,
    `timestamp=${'1'.repeat(65)}&signature=${sign('1'.repeat(65))}`,
    `timestamp=%C3%A9&signature=${sign('é')}`,
    `timestamp=1%80&signature=${signature}`,
    `timestamp=1%0A&signature=${sign('1\n')}`,
  ]
  for (const query of wrong) t.equal(check(query), 'wrong', query)
  t.equal(check(''), 'absent')
  t.equal(check('a=b'), 'absent')
})

t.test('no query is ever a fault', async () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), query => ['absent', 'wrong'].includes(check(query))),
  )
  fc.assert(
    fc.property(webQuery, query =>
      ['absent', 'wrong'].includes(check(`timestamp=${query}&signature=${query}`)),
    ),
  )
})

t.test('freshness: ten digits are seconds, thirteen milliseconds, anything else is never fresh', async t => {
  const all =
    '1700000000 1699999700 1699999699 1700000300 1700000301 1700000300000 1700000300001 2023-11-14T22:13:20Z 17000000000 170000000 1700000000000000 1700000000.0 +1700000000'
  t.same(
    ['', ...all.split(' ')].filter(each => isFresh(each, 1_700_000_000_000, 300)),
    ['1700000000', '1699999700', '1700000300', '1700000300000'],
  )
})
