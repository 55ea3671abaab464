import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { helpOf } from '../../src/commands/help.ts'
import { groups } from '../../src/config/settings.ts'
import { languageOfBrowser, languageOfTerminal } from '../../src/language/choose.ts'
import { recognize } from '../../src/language/recognize.ts'
import { joinSentences, say, translateText } from '../../src/language/sentence.ts'
import zhCN from '../../src/language/zh-CN.json' with { type: 'json' }
import { messageKinds } from '../../src/messages/kinds.ts'
import type { Setting } from '../../src/settings/setting.ts'

const ROOT = join(import.meta.dirname, '../..')
const placesOf = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort()

const twins = globSync('docs/zh-CN/*.md', { cwd: ROOT }).map(page => basename(page))
const englishPage = new RegExp(`docs/(?:${twins.join('|')})`)

t.test('Chinese has the places of the English sentence, and no English punctuation at its end', async t => {
  for (const [english, chinese] of Object.entries({ ...zhCN.settings, ...zhCN.said, ...zhCN.recognized })) {
    // What OpenSSL has around its words is of use to nobody.
    if (!english.includes('SSL routines')) t.same(placesOf(chinese), placesOf(english), english)
    t.notMatch(chinese, '你', `${english}: its reader is 您`)
    t.notMatch(chinese, englishPage, `${english}: the page that its reader understands`)
    t.equal(/[.]$/.test(english), chinese.endsWith('。'), `${english}: a sentence, or a part of one`)
    t.notMatch(
      chinese,
      /\{(?:time|when|due)\} \p{Script=Han}/u,
      `${english}: what stands there ends in Chinese`,
    )
  }
})

t.test('what nobody says is not in the words', async t => {
  const code = globSync(['src/**/*.ts', 'src/commands/help.json'], { cwd: ROOT })
    .filter(file => !file.startsWith('src/language/'))
    .map(file => readFileSync(join(ROOT, file), 'utf8').replaceAll(/\\(['"])/g, '$1'))
    .join('\n')
  for (const english of Object.keys(zhCN.said))
    t.ok(
      [`'${english}'`, `"${english}"`].some(literal => code.includes(literal)),
      english,
    )
})

t.test('what stands on the page of settings is in the words, and nothing else is', async t => {
  const said = groups.flatMap(({ title, about, settings }) => [
    title,
    about,
    ...Object.values<Setting<unknown>>(settings).flatMap(({ meaning, parts = {} }) => [
      meaning,
      ...Object.values(parts),
    ]),
  ])
  t.same(Object.keys(zhCN.settings).sort(), [...new Set(said)].sort())
})

t.test('help is Chinese, too', async t => {
  for (const { summary, about, options } of Object.values(helpOf))
    for (const english of [summary, ...about, ...Object.values(options)])
      t.not(recognize(english), english, english)
})

t.test('every kind has a Chinese name beside its own', async t => {
  for (const { name } of messageKinds)
    t.match(recognize(name), new RegExp(`^\\p{Script=Han}+（${name}）$`, 'u'), name)
})

t.test('a browser says its languages, and how much it wants each', async t => {
  const cases: readonly (readonly [string | undefined, string])[] = [
    [undefined, 'en'],
    ['', 'en'],
    ['zh-CN,zh;q=0.9,en;q=0.8', 'zh-CN'],
    ['en-US,en;q=0.9,zh-CN;q=0.8', 'en'],
    ['de-DE,de;q=0.9,zh;q=0.2', 'zh-CN'],
    ['de,fr', 'en'],
    ['zh-TW', 'zh-CN'],
    ['en;q=0.1, ZH-hans;q=0.7', 'zh-CN'],
    ['zh;q=0, en;q=0.1', 'en'],
    ['zh;q=x', 'en'],
    ['*', 'en'],
    [`${'zh,'.repeat(5000)}<script>`, 'zh-CN'],
  ]
  for (const [header, language] of cases)
    t.equal(languageOfBrowser(header), language, (header ?? 'none').slice(0, 40))
})

t.test('a terminal says its language by the first variable that is set', async t => {
  t.equal(languageOfTerminal({}), 'en')
  t.equal(languageOfTerminal({ LANG: 'zh_CN.UTF-8' }), 'zh-CN')
  t.equal(languageOfTerminal({ LANG: 'zh_CN.UTF-8', LC_MESSAGES: 'en_US.UTF-8' }), 'en')
  t.equal(languageOfTerminal({ LANG: 'zh_CN.UTF-8', LC_ALL: 'C' }), 'en')
  t.equal(languageOfTerminal({ LANG: 'en_US', LC_ALL: '', LC_MESSAGES: 'zh' }), 'zh-CN')
})

t.test(
  'a sentence is English as a string and in JSON, and whatever stands in its places follows its language',
  async t => {
    const sentence = say('{provider} has failed for {time}: {what}.', {
      provider: 'smtp',
      time: say('{n} s', { n: 5 }),
      what: translateText('535 no {time} $& such user'),
    })
    t.equal(String(sentence), 'smtp has failed for 5 s: 535 no {time} $& such user.')
    t.equal(JSON.stringify({ sentence }), JSON.stringify({ sentence: String(sentence) }))
    t.equal(sentence.in('zh-CN'), 'smtp 故障已持续 5 秒：535 no {time} $& such user。')
    const two = joinSentences(say('All is well.'), null, say('No attempt yet.'))
    t.equal(String(two), 'All is well. No attempt yet.')
    t.equal(two.in('zh-CN'), '一切正常。尚未尝试。')
  },
)

t.test(
  'what other rooms say is recognized, with what stands in its places, and what servers say is left alone',
  async t => {
    t.equal(
      recognize('the provider refused more than 3 connections; one more is tried in 8 s'),
      '服务商最多接受 3 个连接；8 秒后再多试一个',
    )
    for (const text of [
      '',
      '535 5.7.8 refused',
      'constructor',
      '__proto__',
      'a: b; c. d',
      'x'.repeat(10_000),
    ])
      t.equal(recognize(text), text, text.slice(0, 30))
  },
)

t.test('what Node, OpenSSL and the databases say is put into words', t => {
  const hint = '; if the root CA is installed locally, try running Node.js with --use-system-ca'
  const cases = {
    [`self-signed certificate${hint}`]: /^自签名证书；.*TLS_CA_FILE$/,
    [`unable to verify the first certificate${hint}`]: /^无法验证证书/,
    'certificate has expired': /^证书已过期$/,
    "Hostname/IP does not match certificate's altnames: Host: a.example. is not in the cert's altnames: DNS:b.example":
      /^主机名与证书不符：.*b\.example/,
    'connect ECONNREFUSED 127.0.0.1:465': /^127\.0\.0\.1:465 拒绝连接/,
    'getaddrinfo ENOTFOUND mail.example': /^DNS 中没有 mail\.example 的地址/,
    'write EPROTO 8040:error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:../deps/openssl/ssl3_record.c:355:\n':
      /^对方不是 TLS 端口/,
    "ENOENT: no such file or directory, open '/certs/x.pem'": /^没有这个文件或目录：.*x\.pem/,
    'listen EACCES: permission denied 0.0.0.0:443': /^不允许监听 0\.0\.0\.0:443/,
    'password authentication failed for user "courier"': /^用户 "courier" 的密码不正确$/,
  }
  for (const [text, expected] of Object.entries(cases)) t.match(recognize(text), expected, text)
  t.end()
})

t.test('no text of a server keeps the console busy', async () => {
  // What tries all ways to read such a text does not end.
  for (const text of ['a: b; c. d (', 'x, y: (', 'names a, which ', 'the ', ' '])
    for (const end of ['', ')', '))))']) recognize(text.repeat(600).slice(0, 590) + end)
})
