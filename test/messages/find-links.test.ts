import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { defuseLinks, findLinksInText } from '../../src/messages/links.ts'
import { webUrl } from '../fixtures/arbitraries.ts'

/** Texts, each with its defused form and with what is found: in brackets where a client chooses the scheme; nothing in what is left alone. */
const TEXTS = readFileSync(join(import.meta.dirname, '../fixtures/found-links.txt'), 'utf8')
  .trimEnd()
  .split('\n')
  .map(line => line.split(' ⇒ ').map(each => String(JSON.parse(each))))

t.test(
  'what clients make clickable is found and defused: the same letters, with a blank behind each dot',
  async t => {
    t.same(findLinksInText('Ann, ev\u200bil.c\u200bom'), [
      { from: 5, to: 15, url: 'http://evil.com', hasScheme: false },
    ])
    for (const [text = '', defused, found] of TEXTS) {
      const links = findLinksInText(text).map(({ url, hasScheme }) => (hasScheme ? url : `(${url})`))
      t.equal(links.join(' '), found, text)
      t.equal(defuseLinks(text), defused)
      t.equal(defuseLinks(`Dear ${text}, welcome`), `Dear ${defused}, welcome`)
    }
  },
)

t.test('names, versions, times, amounts and addresses are left alone', async t => {
  const alone = TEXTS.filter(([, , found]) => found === '')
  t.equal(alone.length, 26)
  for (const [text = '', defused] of alone) t.same([defused, findLinksInText(text)], [text, []])
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
      ...TEXTS.flatMap(([text = '', , found]) => (found === '' ? [] : text)),
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
