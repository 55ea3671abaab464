import fc from 'fast-check'
import t from 'tap'
import { createLinkPolicy, hostOf } from '../../src/messages/links.ts'
import { webUrl, webUrlWithQuery } from '../fixtures/arbitraries.ts'

const any = createLinkPolicy({ httpsOnly: false, hosts: [] })

t.test('ordinary links pass', async t => {
  for (const url of [
    'https://example.com',
    'http://example.com:8080/a?b=c&d=%20#e',
    'https://example.com/#!activate/abc==',
    'HTTPS://EXAMPLE.COM/',
    'https://例え.jp/パス?q=値',
    'https://example.com/?redirect=https://user@other.test/',
    'https://example.com/a@b',
    'https://[2001:db8::1]/x',
    `https://example.com/"'<>&{{x}}`,
    `https://example.com/${'a'.repeat(4096 - 20)}`,
  ]) {
    t.equal(any(url), null, url)
  }
})

t.test('links that a browser could read otherwise are refused', async t => {
  for (const url of [
    'javascript:alert(1)',
    'data:text/html,x',
    'ftp://example.com/',
    '//example.com/',
    '/path',
    'example.com',
    'https:example.com',
    'https:/example.com',
    'https:///example.com',
    'https://',
    'https://user@example.com/',
    'https://user:pass@example.com/',
    'https://@example.com/',
    'https://example.com\\@evil.test/',
    'https:\\\\example.com',
    'https://exa mple.com/',
    ' https://example.com/',
    'https://example.com/\n',
    'https://example.com/a\tb',
    'https://example.com/\u0000',
    'https://example.com/\u2028',
    'https://example.com/\u202egpj.exe',
    'https://example.com/\u200b',
    'https://example.com/\u00a0',
    'https://ex%61mple.com/',
    'https://example.com/\ud800',
    `https://example.com/${'a'.repeat(4097 - 20)}`,
  ]) {
    const why = any(url)
    t.type(why, 'string', encodeURI(url.slice(0, 60).toWellFormed()))
    t.notOk(why?.includes('example'), 'the reason does not repeat the link')
  }
})

t.test('LINKS_HTTPS_ONLY refuses http links', async t => {
  const https = createLinkPolicy({ httpsOnly: true, hosts: [] })
  const ftp = { from: 0, to: 9, url: 'ftp://files.example.com/', hasScheme: true }
  t.equal(https.inText(ftp), 'is not an http or https link')
  t.equal(any.inText(ftp), null)
  t.match(https('http://example.com/'), /https/)
  t.equal(https('https://example.com/'), null)
})

t.test('LINK_HOSTS: a host is itself, *. is everything below it', async t => {
  const policy = createLinkPolicy({ httpsOnly: false, hosts: ['Example.com', '*.cloud.test', '例え.jp'] })
  for (const ok of [
    'https://example.com/',
    'https://EXAMPLE.com:444/',
    'https://example.com./',
    'https://a.cloud.test/',
  ]) {
    t.equal(policy(ok), null, ok)
  }
  t.equal(policy('https://a.b.cloud.test/'), null)
  t.equal(policy('https://xn--r8jz45g.jp/'), null)
  for (const bad of [
    'https://cloud.test/',
    'https://www.example.com/',
    'https://example.com.evil.test/',
    'https://evilcloud.test/',
  ]) {
    t.match(policy(bad), /LINK_HOSTS/, bad)
  }
  for (const wrong of ['', 'https://example.com', 'a b', '*', '*.', 'a/b', 'u@h', 'h:80']) {
    t.throws(() => createLinkPolicy({ httpsOnly: false, hosts: [wrong] }), TypeError, wrong)
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
