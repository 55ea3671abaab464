import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { ERR_CODES } from '../../src/callback/answers.ts'
import { helpOf } from '../../src/commands/help.ts'
import { groups } from '../../src/config/settings.ts'
import { languageOfBrowser, languageOfTerminal } from '../../src/language/choose.ts'
import {
  listWords,
  packWords,
  quote,
  say,
  ToldError,
  tell,
  tellAll,
  term,
  unpackWords,
  wordsOf,
} from '../../src/language/sentence.ts'
import zhCN from '../../src/language/zh-CN.json' with { type: 'json' }
import { messageKinds } from '../../src/messages/kinds.ts'
import { QUOTA_LIST } from '../../src/messages/quotas.ts'
import type { Setting } from '../../src/settings/setting.ts'

const ROOT = join(import.meta.dirname, '../..')
const placesOf = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort()

const twins = globSync('docs/zh-CN/*.md', { cwd: ROOT }).map(page => basename(page))
const englishPage = new RegExp(`docs/(?:${twins.join('|')})`)

/** The English of what is wrong, of which there is none: an assertion for each sentence would take as long as a folder of tests. */
const listWrong = (words: object, isRight: (english: string, chinese: string) => boolean) =>
  Object.entries(words).flatMap(([english, chinese]) => (isRight(english, String(chinese)) ? [] : [english]))

t.test('Chinese has the places of the English sentence, and no English punctuation at its end', async t => {
  const hasPlaces = (english: string, chinese: string) =>
    placesOf(chinese).join() === placesOf(english).join()
  const endsAlike = (english: string, chinese: string) => english.endsWith('.') === chinese.endsWith('。')
  t.same(listWrong(zhCN.said, hasPlaces), [])
  t.same(listWrong(zhCN.said, endsAlike), [], 'a sentence, or a part of one')
  for (const [pattern, what] of [
    [/你/, 'its reader is 您'],
    [englishPage, 'the page that its reader understands'],
    [/\{(?:time|when|due)\} \p{Script=Han}/u, 'what stands there ends in Chinese'],
  ] as const)
    t.same(
      listWrong({ ...zhCN.said, ...zhCN.codes }, (_english, chinese) => !pattern.test(chinese)),
      [],
      what,
    )
})

t.test('what nobody says is not in the words', async t => {
  const code = globSync(['src/**/*.ts', 'src/commands/help.json'], { cwd: ROOT })
    .filter(file => !file.startsWith('src/language/'))
    .map(file => readFileSync(join(ROOT, file), 'utf8').replaceAll(/\\(['"\\])/g, '$1'))
    .join('\n')
  const isSaid = (english: string) => code.includes(`'${english}'`) || code.includes(`"${english}"`)
  t.same(listWrong(zhCN.said, isSaid), [])
})

t.test('what the compiler does not check has its Chinese: parts of settings, help, kinds, codes', async t => {
  const parts = groups.flatMap(({ settings }) =>
    Object.values<Setting<unknown>>(settings).flatMap(({ parts = {} }) => Object.values(parts)),
  )
  const help = Object.values(helpOf).flatMap(({ summary, about, options }) => [
    summary,
    ...about,
    ...Object.values(options),
  ])
  for (const words of [...parts, ...help]) t.ok(Object.hasOwn(zhCN.said, String(words)), String(words))
  for (const { name } of messageKinds)
    t.match(term(name).in('zh-CN'), new RegExp(`^\\p{Script=Han}+（${name}）$`, 'u'), name)
  const codes = [
    ...QUOTA_LIST.map(({ name }) => name),
    ...Object.values(ERR_CODES).filter(code => code !== 0),
  ]
  for (const code of codes) t.match(quote('x', String(code)).in('zh-CN'), /\p{Script=Han}/u, String(code))
})

t.test('a browser lists its languages, the one it wants most first', async t => {
  const cases: readonly (readonly [string | undefined, string])[] = [
    [undefined, 'en'],
    ['', 'en'],
    ['zh-CN,zh;q=0.9,en;q=0.8', 'zh-CN'],
    ['en-US,en;q=0.9,zh-CN;q=0.8', 'en'],
    ['de-DE,de;q=0.9,zh;q=0.2', 'zh-CN'],
    ['de,fr', 'en'],
    ['zh-TW', 'zh-CN'],
    ['fr, ZH-hans;q=0.7, en;q=0.1', 'zh-CN'],
    ['*', 'en'],
    [`${'zh,'.repeat(5000)}<script>`, 'zh-CN'],
  ]
  for (const [header, language] of cases)
    t.equal(languageOfBrowser(header), language, (header ?? 'none').slice(0, 40))
})

t.test('a terminal says its language by the first variable that is set', async t => {
  t.equal(languageOfTerminal({}), 'en')
  t.equal(languageOfTerminal({ LANG: 'zh@pinyin' }), 'zh-CN')
  t.equal(languageOfTerminal({ LANG: 'zh_CN.UTF-8', LC_MESSAGES: 'en_US.UTF-8' }), 'en')
  t.equal(languageOfTerminal({ LANG: 'zh_CN.UTF-8', LC_ALL: 'C' }), 'en')
  t.equal(languageOfTerminal({ LANG: 'en_US', LC_ALL: '', LC_MESSAGES: 'zh.UTF-8' }), 'zh-CN')
})

t.test(
  'a sentence is English as a string and in JSON, and whatever stands in its places follows its language',
  async t => {
    const sentence = say('{provider} has failed for {time}: {what}.', {
      provider: 'smtp',
      time: say('{n} s', { n: 5 }),
      what: quote('535 no {time} $& such user'),
    })
    t.equal(String(sentence), 'smtp has failed for 5 s: 535 no {time} $& such user.')
    t.equal(JSON.stringify({ sentence }), JSON.stringify({ sentence: String(sentence) }))
    t.equal(sentence.in('zh-CN'), 'smtp 故障已持续 5 秒：535 no {time} $& such user。')
    const two = tellAll(['All is well.', null, say('No attempt yet.')])
    t.equal(String(two), 'All is well. No attempt yet.')
    t.equal(two.in('zh-CN'), '一切正常。尚未尝试。')
    const few = quote('must have more', 'minProperties', { limit: 2 })
    t.equal(few.in('zh-CN'), '内容太少，至少 2 项')
    const three = listWords(['stopped by us', 'is missing', say('{n} s', { n: 5 })])
    t.same(
      [String(three), three.in('zh-CN')],
      ['stopped by us, is missing, 5 s', '由本服务中止、没有设置、5 秒'],
    )
  },
)

t.test(
  'what is stored is the sentence and its values; what others said, and finished text, stays as it is',
  async t => {
    const inside = say('one more is tried in {n} s', { n: 8 })
    for (const [words, chinese] of [
      [
        say('the provider refused more than {taken} connections; {next}', { taken: 3, next: inside }),
        '服务商最多接受 3 个连接；8 秒后再多试一个',
      ],
      [tell('stopped by us'), '由本服务中止'],
      [
        quote('connect ECONNREFUSED 127.0.0.1:465', 'ECONNREFUSED'),
        '拒绝连接：没有程序在监听（connect ECONNREFUSED 127.0.0.1:465）',
      ],
      [quote('535 5.7.8 no'), '535 5.7.8 no'],
      [quote('it said so', 'constructor'), 'it said so'],
      [quote('stopped by us'), 'stopped by us'],
      [quote('a\u001f{"b":1}'), 'a {"b":1}'],
    ] as const) {
      const kept = unpackWords(packWords(words))
      t.equal(String(kept), String(words).replace('\u001f', ' '))
      t.equal(kept.in('zh-CN'), chinese)
    }
    for (const text of ['', 'stopped by us', 'the provider asked for a pause; it ends in 9 s', 'constructor'])
      t.equal(unpackWords(text).in('zh-CN'), text, 'as 1.1.0 stored it')
  },
)

t.test('an error says its own words, or those of its library, whose code has a meaning', async t => {
  const withCode = (message: string, more: object) => Object.assign(new Error(message), more)
  for (const [error, chinese] of [
    [new ToldError('stopped by us'), '由本服务中止'],
    [
      withCode('certificate has expired', { code: 'CERT_HAS_EXPIRED' }),
      '证书已过期（certificate has expired）',
    ],
    [
      withCode('disk I/O error', { code: 'ERR_SQLITE_ERROR', errcode: 778 }),
      '磁盘读写错误（disk I/O error）',
    ],
    [
      withCode('password authentication failed', { code: '28P01' }),
      '用户的密码不正确（password authentication failed）',
    ],
    [new Error('nobody knows'), 'nobody knows'],
    ['text', 'text'],
  ] as const)
    t.equal(wordsOf(error).in('zh-CN'), chinese)
  t.equal(new ToldError(say('{n} s', { n: 5 })).message, '5 s')
})
