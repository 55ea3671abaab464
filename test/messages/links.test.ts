import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { createLinkPolicy, hostOf } from '../../src/messages/links.ts'
import { webUrl, webUrlWithQuery } from '../fixtures/arbitraries.ts'

const any = createLinkPolicy({ httpsOnly: false, hosts: [] })

t.test(
  'links that a browser could read otherwise are refused, as they come and as found in text',
  async t => {
    const strict = createLinkPolicy({ httpsOnly: true, hosts: ['Example.com.', '*.cloud.test', '例え.jp'] })
    const record = readFileSync(join(import.meta.dirname, '../fixtures/links.txt'), 'utf8')
    for (const line of record.trimEnd().split('\n')) {
      const [text = '', ...expected] = line.split(' | ')
      const url = String(JSON.parse(text))
      const found = { from: 0, to: url.length, url, hasScheme: true }
      const inText = [any.inText(found), strict.inText(found), strict.inText({ ...found, hasScheme: false })]
      t.same(
        [any(url), strict(url), ...inText].map(each => each ?? 'sent'),
        expected,
        text,
      )
    }
  },
)

t.test('a link of 4096 characters is sent, and an entry of LINK_HOSTS is a host', async t => {
  const long = `https://example.com/${'a'.repeat(4096 - 20)}`
  t.same([any(long), any(`${long}a`)], [null, 'is longer than 4096 characters'])
  for (const wrong of ['', 'https://example.com', 'a b', '*', '*.', 'a/b', 'u@h', 'h:80'])
    t.throws(() => createLinkPolicy({ httpsOnly: false, hosts: [wrong] }), TypeError, wrong)
})

t.test('each of the two rules is enough for a link in text that nobody can read to be refused', async t => {
  const [host, http] = ['leads to a host that is not allowed (LINK_HOSTS)', 'is not an http or https link']
  const plain = 'is not an https link (LINKS_HTTPS_ONLY)'
  for (const [rules, unread, ftp, clear] of [
    [{ httpsOnly: false, hosts: [] }, null, null, null],
    [{ httpsOnly: true, hosts: [] }, host, http, plain],
    [{ httpsOnly: false, hosts: ['a.test'] }, host, http, null],
  ] as const) {
    const { inText } = createLinkPolicy(rules)
    const said = ['http://a b', 'ftp://a.test', 'http://a.test'].map(url =>
      inText({ from: 0, to: url.length, url, hasScheme: true }),
    )
    t.same(said, [unread, ftp, clear], JSON.stringify(rules))
  }
})

t.test('the host of a link is the one a browser would connect to', async t => {
  t.equal(hostOf('https://EXAMPLE.com:8443/x'), 'example.com:8443')
  t.equal(hostOf('https://例え.jp/'), 'xn--r8jz45g.jp')
})

t.test('a browser reads every link that passes as http or https without user information', async () => {
  const shaped = fc
    .tuple(
      fc.constantFrom('https://', 'http://', 'https:/', 'HtTp://'),
      fc.string({ unit: 'grapheme' }),
      webUrl,
    )
    .map(([scheme, noise, url]) => `${scheme}${noise}${url.slice(8)}`)
  fc.assert(
    fc.property(fc.oneof(shaped, webUrlWithQuery, fc.string()), url => {
      if (any(url) !== null) return true
      const read = new URL(url)
      return (
        /^https?:$/.test(read.protocol) && read.username === '' && read.password === '' && !/[\s\\]/.test(url)
      )
    }),
    { numRuns: 2000 },
  )
})
