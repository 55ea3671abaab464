import fc from 'fast-check'
import t from 'tap'
import { maskAddress, parseAddress } from '../../src/callback/address.ts'

t.test('bare addresses are read, domains as lower-case A-labels', async t => {
  const right: Record<string, string> = {
    'a@example.com': 'a@example.com',
    ' a@example.com\t': 'a@example.com',
    'First.Last+tag@Example.COM': 'First.Last+tag@example.com',
    "o'brien!#$%&*/=?^_`{|}~-@example.com": "o'brien!#$%&*/=?^_`{|}~-@example.com",
    'a@bücher.example': 'a@xn--bcher-kva.example',
    'a@例え.テスト': 'a@xn--r8jz45g.xn--zckzah',
    'a@xn--bcher-kva.example': 'a@xn--bcher-kva.example',
    [`${'a'.repeat(64)}@example.com`]: `${'a'.repeat(64)}@example.com`,
  }
  for (const [given, expected] of Object.entries(right)) t.equal(parseAddress(given), expected, given)
})

t.test('everything else is no address', async t => {
  const wrong = [
    '',
    '@',
    'a',
    'a@',
    '@example.com',
    'a@example',
    'a@@example.com',
    'a b@example.com',
    '.a@example.com',
    'a.@example.com',
    'a..b@example.com',
    '"a"@example.com',
    '"a b"@example.com',
    'a@[127.0.0.1]',
    'a@127.0.0.1',
    'a@1.2.3.4',
    '<a@example.com>',
    'A <a@example.com>',
    'a(comment)@example.com',
    'a@example.com(comment)',
    'a;b@g.test',
    'a@g.test;b@g.test',
    'group: a@g.test;',
    '@route.test:a@g.test',
    '<@route.test:a@g.test>',
    'a@g.test\r\nRCPT TO:<e@e>',
    'a@g.test\r\n',
    '\na@g.test',
    'a@g.test\0',
    'a\u2028@g.test',
    'a@ⅇvil.test',
    'a@example。com',
    'a@ｅxample.com',
    'a@exa_mple.com',
    'a@-example.com',
    'a@example-.com',
    'a@example..com',
    'a@.example.com',
    'a@example.com.',
    'é@example.com',
    'a\u202e@example.com',
    'a@exam\u00adple.com',
    'a@xn--zzzz-.com',
    'a%40b@',
    `${'a'.repeat(65)}@example.com`,
    `a@${'b'.repeat(64)}.com`,
    `a@${'abcdefghi.'.repeat(26)}com`,
    'a@example.com b@example.com',
    'a,b@example.com',
    'a\\@b@example.com',
  ]
  for (const given of wrong) t.equal(parseAddress(given), null, encodeURI(given))
})

t.test('whatever goes in, what comes out cannot leave its place in an SMTP command', async () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.emailAddress(),
        fc.webUrl(),
        fc.string().map(s => `${s}@example.com`),
      ),
      text => {
        const address = parseAddress(text)
        return (
          address === null ||
          (/^[\x21-\x7e]+@[a-z0-9.-]+$/.test(address) && !/[<>,;:"()[\]\\\s]/.test(address))
        )
      },
    ),
    { numRuns: 2000 },
  )
  fc.assert(
    fc.property(
      fc.emailAddress({ size: 'small' }),
      address =>
        parseAddress(address) === null || parseAddress(address)?.toLowerCase() === address.toLowerCase(),
    ),
  )
})

t.test('the mask keeps one letter and the domain', async t => {
  t.equal(maskAddress('anna@example.com'), 'a***@example.com')
  t.equal(maskAddress('a@example.com'), 'a***@example.com')
})
