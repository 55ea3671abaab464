import fc from 'fast-check'
import t from 'tap'
import { defuseLinks, findLinksInText } from '../../src/messages/links.ts'
import { webUrl } from '../fixtures/arbitraries.ts'

/** Each with its defused form, and with what is found: in brackets where a client chooses the scheme. */
const LINKS: Readonly<Record<string, readonly [defused: string, found: string]>> = {
  'http://evil.example/x': ['http: //evil. example/x', 'http://evil.example/x'],
  'HTTPS://EVIL.COM': ['HTTPS: //EVIL. COM', 'HTTPS://EVIL.COM'],
  'www.evil.example': ['www. evil. example', '(http://www.evil.example)'],
  'evil.com': ['evil. com', '(http://evil.com)'],
  'evil.example': ['evil. example', '(http://evil.example)'],
  'evil.test': ['evil. test', '(http://evil.test)'],
  'evil.invalid': ['evil. invalid', '(http://evil.invalid)'],
  'evil.local': ['evil. local', '(http://evil.local)'],
  'evil.internal': ['evil. internal', '(http://evil.internal)'],
  'evil.onion': ['evil. onion', '(http://evil.onion)'],
  'v1.2 http://[2001:db8::1]/x': ['v1.2 http: / /[2001:db8::1]/x', 'http://[2001:db8::1]/x'],
  'evil.com.': ['evil. com.', '(http://evil.com)'],
  '("evil.com/a.php?b=1.2")': ['("evil. com/a. php?b=1. 2")', '(http://evil.com/a.php?b=1.2)'],
  'evil.com:8080': ['evil. com:8080', '(http://evil.com)'],
  'a.b.com:8080/x': ['a. b. com:8080/x', '(http://a.b.com)'],
  'a_b.evil.com': ['a_b. evil. com', '(http://a-b.evil.com)'],
  'http://localhost/x': ['http: / /localhost/x', 'http://localhost/x'],
  'http://192.0.2.1/x': ['http: //192. 0. 2. 1/x', 'http://192.0.2.1/x'],
  '192.0.2.1': ['192. 0. 2. 1', '(http://192.0.2.1)'],
  'ftp://evil.com': ['ftp: //evil. com', 'ftp://evil.com'],
  'myapp://open': ['myapp: //open', 'myapp://open'],
  'https://user:pass@evil.com/': ['https: //user:pass@evil. com/', 'https://user:pass@evil.com/'],
  'https://админ@evil.com/': ['https: //админ@evil. com/', 'https://админ@evil.com/'],
  'ann@evil.com/login': ['ann@evil. com/login', '(http://ann@evil.com)'],
  'https://еvil.example': ['https: //еvil. example', 'https://еvil.example'],
  'https://пример.рф': ['https: //пример. рф', 'https://пример.рф'],
  'пример.рф': ['пример. рф', '(http://пример.рф)'],
  'xn--e1afmkfd.xn--p1ai': ['xn--e1afmkfd. xn--p1ai', '(http://xn--e1afmkfd.xn--p1ai)'],
  'evil。com': ['evil。 com', '(http://evil.com)'],
  'https://пример。рф': ['https: //пример。 рф', 'https://пример.рф'],
  'ｅｖｉｌ．ｃｏｍ': ['ｅｖｉｌ． ｃｏｍ', '(http://evil.com)'],
  '𝐞𝐯𝐢𝐥.𝐜𝐨𝐦': ['𝐞𝐯𝐢𝐥. 𝐜𝐨𝐦', '(http://evil.com)'],
  'ev\u200bil.c\u200bom': ['ev\u200bil. c\u200bom', '(http://evil.com)'],
  'evil\u00ad.com': ['evil\u00ad. com', '(http://evil.com)'],
  '请登录www.example.com。谢谢': ['请登录www. example. com。谢谢', '(http://www.example.com)'],
  '请登录example.com谢谢': ['请登录example. com谢谢', '(http://example.com)'],
  'www.example.com에서': ['www. example. com에서', '(http://www.example.com)'],
  '好www.evil.comé': ['好www. evil. comé', '(http://www.evil.comé)'],
  '%가www.www.é': ['%가www. www. é', '(http://www.www.é)'],
  'Shenzhen Example Co.Ltd.': ['Shenzhen Example Co. Ltd.', '(http://Co.Ltd)'],
  'ASP.NET': ['ASP. NET', '(http://ASP.NET)'],
  'Site:evil.com': ['Site:evil. com', '(http://evil.com)'],
  'url=evil.com': ['url=evil. com', '(http://url=evil.com)'],
  'at/evil.com': ['at/evil. com', '(http://evil.com)'],
  '.evil.com': ['.evil. com', '(http://evil.com)'],
  '_evil.com': ['_evil. com', '(http://evil.com)'],
  '-evil.com-': ['-evil. com-', '(http://evil.com)'],
  '@evil.com': ['@evil. com', '(http://evil.com)'],
  'http:evil.com': ['http:evil. com', '(http://evil.com)'],
  '登录。evil.com': ['登录。 evil. com', '(http://登录.evil.com) (http://evil.com)'],
  'evil.com|now': ['evil. com|now', '(http://evil.com)'],
  'evil.com$': ['evil. com$', '(http://evil.com)'],
  'evil.com+x': ['evil. com+x', '(http://evil.com)'],
  'evil.com=x': ['evil. com=x', '(http://evil.com)'],
  'IP:192.0.2.1': ['IP:192. 0. 2. 1', '(http://192.0.2.1)'],
  'evil.com/login@example.com': ['evil. com/login@example.com', '(http://evil.com)'],
  'evil.com?login@example.com': ['evil. com?login@example.com', '(http://evil.com)'],
  'evil.com#a.b@example.com': ['evil. com#a.b@example.com', '(http://evil.com)'],
  'mailto:evil.com/login@example.com': ['mailto:evil. com/login@example.com', '(http://evil.com)'],
  'www.evil.example/a@example.com': [
    'www. evil. example/a@example. com',
    '(http://www.evil.example/a@example.com)',
  ],
  'at/evil.com/a@example.com': ['at/evil. com/a@example.com', '(http://evil.com)'],
  'a.b.c.d.e.f.g.evil.com~': ['a.b.c.d. e. f. g. evil. com~', '(http://d.e.f.g.evil.com)'],
  'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-evil.com': [
    'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-evil. com',
    '(http://evil.com)',
  ],
  'Site:xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.com': [
    'Site:xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx. com',
    '(http://xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.com)',
  ],
  'mail lin.wei@example.com or www.evil.com': [
    'mail lin.wei@example.com or www. evil. com',
    '(http://www.evil.com)',
  ],
  'a.evil.com:80 b.evil.com:443/x': [
    'a. evil. com:80 b. evil. com:443/x',
    '(http://a.evil.com) (http://b.evil.com)',
  ],
  'https://evil.com/请': ['https: //evil. com/请', 'https://evil.com/请 https://evil.com/'],
  'evil.com，evil.net': ['evil. com，evil. net', '(http://evil.com) (http://evil.net)'],
  'MyApp://open?x=1': ['MyApp: //open?x=1', 'MyApp://open?x=1'],
  'evil.com.example.com@': ['evil. com. example. com@', '(http://evil.com.example.com)'],
  'www.evil.com@example.com/x': ['www. evil. com@example. com/x', '(http://www.evil.com@example.com)'],
}

t.test(
  'what clients make clickable is found and defused: the same letters, with a blank behind each dot',
  async t => {
    t.same(findLinksInText('Ann, ev\u200bil.c\u200bom'), [
      { from: 5, to: 15, url: 'http://evil.com', hasScheme: false },
    ])
    for (const [text, [defused, found]] of Object.entries(LINKS)) {
      const links = findLinksInText(text).map(({ url, hasScheme }) => (hasScheme ? url : `(${url})`))
      t.equal(links.join(' '), found, text)
      t.equal(defuseLinks(text), defused)
      t.equal(defuseLinks(`Dear ${text}, welcome`), `Dear ${defused}, welcome`)
    }
  },
)

t.test('names, versions, times, amounts and addresses are left alone', async t => {
  for (const text of [
    'Lin Wei',
    'Node.js',
    'version 1.2.3',
    'v2.0.1-rc.1',
    '12.30',
    '20.11.2026',
    '2026-11-20 14:32:05.123',
    '2026-11-20T14:32:05.00Z',
    'Temperature above -15.5 C',
    'lin.wei@example.com',
    'shop.wei@example.com Awww.so.nicely <lin.wei@example.com> mail:lin.me@example.com lin.me+news@example.com lin_wei.me@mail.example.com sales/lin.wei@example.com lin.wei/x@example.com',
    '-@example.com',
    "lin.wei.me+news%x@mail.example.com o'brien.wei@example.com",
    'J. R. R. Tolkien',
    'J.R.R.Tolkien',
    'Dr.Strange',
    'Foo Co., Ltd.',
    'A/B//C',
    'e.g. this one...',
    'Hello.Wörld',
    '验证码为123456。请勿泄露',
    '设备离线。手机端请检查',
    '温度.传感器',
    'a4:c1:38:f0:11:2b',
    '$1.99',
    'key=value.',
  ]) {
    t.same(findLinksInText(text), [], text)
    t.equal(defuseLinks(text), text)
  }
})

t.test('links in a text without blanks are read as their readers would', async t => {
  const urls = (text: string) => findLinksInText(text).map(({ url }) => url)
  t.same(urls('请访问https://www.example.com。谢谢'), ['https://www.example.com'])
  t.same(urls('https://www.example.com请尽快登录'), ['https://www.example.com'])
  t.same(urls('https://例子.中国/x'), ['https://例子.中国/x'])
  t.ok(urls('https://例子.中国/-www.example.com').some(url => url.includes('例子')))
  t.ok(
    urls('安全example.com').some(url => url.includes('安全')),
    'a name of its own is one, too',
  )
})

t.test(
  'whatever a text is made of, nothing clickable is left, and nothing but blanks was added',
  async () => {
    const piece = fc.constantFrom(
      ...Object.keys(LINKS),
      ...'.。．/:@a1我-_\u200b#|=()é\n '.split(''),
      ...'// www. http:// https:// com .com рф'.split(' '),
    )
    const text = fc.oneof(
      fc.array(piece, { maxLength: 12 }).map(parts => parts.join('')),
      fc.string({ unit: 'grapheme' }),
      webUrl,
      fc.domain(),
    )
    fc.assert(
      fc.property(text, given => {
        const defused = defuseLinks(given)
        const blankless = (each: string) => each.replaceAll(' ', '')
        return findLinksInText(defused).length === 0 && blankless(defused) === blankless(given)
      }),
      { numRuns: 3000 },
    )
  },
)
