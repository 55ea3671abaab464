import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { mailboxOf, maskAddress, parseAddress } from '../../src/callback/recipients.ts'
import { anyCharacter, webUrl } from '../fixtures/arbitraries.ts'

/** An address of so many octets, its parts as long as they may be. */
const address = (octets: number) =>
  `${'a'.repeat(64)}@${'b'.repeat(octets - 193)}.${'c'.repeat(63)}.${'d'.repeat(59)}.com`

t.test('bare addresses are read, domains as lower-case A-labels', async t => {
  const right: Record<string, string> = {
    'a@example.com': 'a@example.com',
    ' a@example.com\t': 'a@example.com',
    'First.Last+tag@Example.COM': 'First.Last+tag@example.com',
    "o'brien#$&*/=?^_`{|}~-@example.com": "o'brien#$&*/=?^_`{|}~-@example.com",
    'üser@example.com': 'üser@example.com',
    '用户.名@例え.テスト': '用户.名@xn--r8jz45g.xn--zckzah',
    'उपयोगकर्ता@example.com': 'उपयोगकर्ता@example.com',
    [`${'ü'.repeat(32)}@example.com`]: `${'ü'.repeat(32)}@example.com`,
    'a@bücher.example': 'a@xn--bcher-kva.example',
    'a@bu\u0308cher.example': 'a@xn--bcher-kva.example',
    [address(254)]: address(254),
    'a@例え.テスト': 'a@xn--r8jz45g.xn--zckzah',
    'a@xn--bcher-kva.example': 'a@xn--bcher-kva.example',
    [`${'a'.repeat(64)}@example.com`]: `${'a'.repeat(64)}@example.com`,
  }
  for (const [given, expected] of Object.entries(right)) t.equal(parseAddress(given), expected, given)
})

t.test('everything else is no address', async t => {
  const wrong = readFileSync(join(import.meta.dirname, '../fixtures/no-addresses.txt'), 'utf8')
  for (const line of wrong.trimEnd().split('\n')) t.equal(parseAddress(JSON.parse(line)), null, line)
})

t.test('whatever goes in, what comes out cannot leave its place in an SMTP command', async () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: anyCharacter }),
        fc.emailAddress(),
        webUrl,
        fc.string().map(s => `${s}@example.com`),
      ),
      text => {
        const address = parseAddress(text)
        return (
          address === null ||
          (/^[\x21-\x7e\p{L}\p{M}\p{N}]+@[a-z0-9.-]+$/u.test(address) && !/[<>,;:"()[\]\\\s%!]/.test(address))
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

t.test('a mailbox is one, however its address is written', async t => {
  const same: Record<string, readonly string[]> = {
    'anna@example.com': ['Anna@example.com', 'anna+1@example.com', 'ANNA+a+b@example.com'],
    'annalee@gmail.com': [
      'anna.lee@gmail.com',
      'a.n.n.a.l.e.e@gmail.com',
      'Anna.Lee+shop@googlemail.com',
      'annalee@googlemail.com',
    ],
    'anna@proton.me': ['an-na@pm.me', 'an_n.a+x@protonmail.com'],
    'anna-lee@yandex.ru': ['anna.lee@ya.ru', 'Anna.Lee+x@yandex.com', 'anna-lee@yandex.kz'],
    'anna@fastmail.com': ['anna+x@fastmail.com', 'anything@anna.fastmail.com', 'x+y@Anna.Fastmail.com'],
    'anna@fastmail.fm': ['anything@anna.fastmail.fm'],
    'anna@icloud.com': ['anna@me.com', 'anna+x@mac.com'],
    'üser@example.com': ['Üser@example.com', 'u\u0308ser@example.com'],
  }
  for (const [mailbox, addresses] of Object.entries(same))
    for (const address of [mailbox, ...addresses]) t.equal(mailboxOf(address), mailbox, address)
  const others = ['an.na@example.com', 'anna@example.org', '+anna@example.com', 'anna-x@gmail.com']
  for (const other of others) t.equal(mailboxOf(other), other)
})

t.test('the mask keeps one letter and the domain', async t => {
  t.equal(maskAddress('anna@example.com'), 'a***@example.com')
  t.equal(maskAddress('a@example.com'), 'a***@example.com')
  t.equal(maskAddress('𐐀b@example.com'), '𐐀***@example.com')
})
