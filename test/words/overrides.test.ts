import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { say } from '../../src/language/sentence.ts'
import { matchLocale } from '../../src/words/catalog.ts'
import type { Renderer, RendererOptions } from '../../src/words/render.ts'
import english from '../../src/words/templates/locales/en.json' with { type: 'json' }
import { until } from '../rigs/until.ts'
import { messageOf, rawOf, readMail, rendererFor, smsOf } from './rendering.ts'

/** A TEMPLATES_DIR with these files, and a renderer on it. */
async function withTemplates(t: Test, files: Record<string, string>, options: Partial<RendererOptions> = {}) {
  const dir = t.testdir()
  /** In one step, as a deployment does it: nobody ever sees half a file. */
  const write = async (file: string, text: string) => {
    await mkdir(dirname(join(dir, file)), { recursive: true })
    await writeFile(join(dir, dirname(file), '.new'), text)
    await rename(join(dir, dirname(file), '.new'), join(dir, file))
  }
  for (const [file, text] of Object.entries(files)) await write(file, text)
  const renderer = rendererFor({ templatesDir: dir, ...options })
  t.teardown(() => renderer.close())
  return { dir, renderer, write }
}

const code = messageOf('email', 'phone-change', { params: { code: '428913', hour: '1' } })
const link = messageOf('email', 'file', { params: { download_url: 'https://example.com/#!x' } })
const login = messageOf('sms', 'login-code', { params: { code: '1234', minute: '5' } })
const reasons = (renderer: Renderer) =>
  renderer.problems().map(({ file, line, reason }) => `${file}:${line ?? ''} ${String(reason)}`)

t.test('a language file may hold only what it changes', async t => {
  const { renderer } = await withTemplates(t, {
    'locales/en.json': JSON.stringify({
      mail: { 'phone-change': { heading: 'Here is your code' } },
      sms: { 'login-code': '\n {{ code }} opens \t\n{{ brand.name }} ' },
    }),
  })
  t.same(renderer.problems(), [])
  const view = renderer.viewMail(code)
  t.match(view.html, /Here is your code/)
  t.match(view.html, /<div style="display: none;[^>]*>428913 is your verification code\.\n/, 'the preheader')
  t.match(view.text, /valid for 1 hour/)
  t.match(renderer.viewMail(link).html, /Your file is ready/)
  t.equal(smsOf(renderer, login), '1234 opens\nNorthwind')
})

t.test('a new language is one file', async t => {
  const german = {
    ...english,
    language: 'Deutsch',
    validity: { ...english.validity, hour: { one: '{{ n }} Stunde', other: '{{ n }} Stunden' } },
    mail: {
      'phone-change': { heading: 'Ihr Code', preheader: '{{ code }}', after: 'Gültig für {{ validity }}.' },
    },
    sms: { 'login-code': '{{ signature }}: {{ code }} ist Ihr Code.' },
  }
  const { renderer } = await withTemplates(
    t,
    { 'locales/de.json': JSON.stringify(german), 'messages/file.de.html': '{{ link.url }}' },
    { locale: 'de-AT' },
  )
  t.ok(renderer.locales.includes('de'))
  t.match(renderer.viewMail(code), { locale: 'de', text: /Gültig für 1 Stunde\./ })
  t.match(renderer.viewMail(link), { locale: 'en' }, 'what it has no words for is said in English')
  t.match(reasons(renderer), [
    /^locales\/de\.json: has no words for .*email\/file.*sms\/plain: they are said in en$/,
    'messages/file.de.html: locales/de.json has no words for file, so nobody would get this',
  ])
  t.equal(renderer.problems().length, 2, 'nothing else has failed')
  t.match(smsOf(renderer, login), /ist Ihr Code/)
})

t.test('a validity without words for its unit is said in the next smaller one, or not at all', async t => {
  const { other } = english.validity.minute
  const { renderer } = await withTemplates(t, {
    'locales/de.json': JSON.stringify({ ...english, validity: { minute: { other } } }),
  })
  t.same(renderer.problems(), [])
  const textOf = (minutes: string) =>
    smsOf(
      renderer,
      messageOf('sms', 'login-code', { params: { code: '1234', minute: minutes }, locale: 'de' }),
    )
  t.match(textOf('120'), /valid for 120 minutes/)
  t.match(textOf('1.5'), /valid for 1 minutes/, 'the form for all numbers that have none')
  t.notMatch(textOf('0.5'), /valid/)
})

t.test('an operator’s layout replaces the built-in one', async t => {
  const { renderer } = await withTemplates(t, {
    'layout.html':
      '<!DOCTYPE html><html lang="{{ locale.tag }}"><title>{{ subject }}</title><h1>{{ words.heading }}</h1>{{ code }}{{ link.url }}',
    'layout.txt': '\uFEFF*** {{ words.heading }} {{ code }} {{ link.url }}',
  })
  t.same(renderer.problems(), [])
  t.match(renderer.viewMail(code), {
    html: /<h1>Your verification code<\/h1>428913/,
    text: /^\*\*\* Your .* 428913/,
  })
})

t.test("one message's own HTML is one file, for all languages or one, in the look or not", async t => {
  const { renderer } = await withTemplates(t, {
    'messages/file.html':
      '{% layout \'layout.html\' %}{% block content %}<h1>Own</h1><a href="{{ link.url }}">{{ download_url }}</a>{% endblock %}',
    'messages/file.zh-CN.html': '<p>自己的 {{ download_url }}</p>',
    'messages/plain.txt': 'PLAIN {{ plain_email }}{% for i in (1..5000) %}.{% endfor %}',
  })
  t.same(renderer.problems(), [])
  const own = renderer.viewMail(link)
  t.match(own.html, /<h1>Own<\/h1><a href="https:\/\/example\.com\/#!x">/)
  t.match(own.html, /<html lang="en"/, 'the look around it')
  t.match(own.text, /Download file/, "the text part is the layout's")
  t.match(renderer.viewMail({ ...link, content: { ...link.content, locale: 'zh-CN' } }).html, /^<p>自己的/)
  t.match(renderer.viewMail(messageOf('email', 'plain', { plain: 'a<b', words: 'plain' })).text, /^PLAIN a<b/)
  t.notMatch(renderer.viewMail(code).html, /Own/)
})

t.test('a broken file is named with line and reason, and the built-in one is used', async t => {
  const record = await readFile(join(import.meta.dirname, '../fixtures/broken-words.txt'), 'utf8')
  const builtIn = rendererFor()
  for (const line of record.trimEnd().split('\n')) {
    const [file = '', text = '', reason = ''] = line.split(' ⇒ ')
    await t.test(reason.slice(0, 60), async t => {
      const { renderer } = await withTemplates(t, { [file]: String(JSON.parse(text)) })
      t.same(reasons(renderer), [reason])
      t.equal(renderer.problems()[0]?.is, 'refused')
      t.same(renderer.viewMail(code), builtIn.viewMail(code))
      t.equal(smsOf(renderer, login), smsOf(builtIn, login))
    })
  }
})

t.test('a file that nothing reads is a warning, hidden and backup files are not', async t => {
  const { renderer } = await withTemplates(t, {
    'mails/x.html': 'x',
    'layout.htm': 'x',
    'locales/en.jsn': '{}',
    '.swp': '',
    'layout.html~': '',
  })
  t.same(
    renderer.problems().map(({ file, is }) => `${file} ${is}`),
    ['layout.htm warning', 'locales/en.jsn warning'],
  )
  const missing = rendererFor({ templatesDir: join(t.testdirName, 'nowhere') })
  t.match(missing.problems(), [{ file: '.', reason: /ENOENT/, is: 'refused' }])
  missing.close()
})

t.test(
  'a change is picked up; a broken edit keeps the last good file; after its removal the built-in one is used',
  async t => {
    const logged: string[] = []
    const note = (fields: object, text: string) => void logged.push(`${text} ${JSON.stringify(fields)}`)
    const own = (words: string) => JSON.stringify({ sms: { 'login-code': words } })
    const { renderer, write, dir } = await withTemplates(
      t,
      { 'locales/en.json': own('one {{ code }}') },
      { pollEveryMs: 20, log: { warn: note, info: note } },
    )
    t.equal(smsOf(renderer, login), 'one 1234')
    await write('locales/en.json', own('second {{ code }}'))
    await until(() => smsOf(renderer, login) === 'second 1234', 'the second')

    await write('locales/en.json', own('third {{ kode }}'))
    await until(() => renderer.problems().length > 0, 'the fault')
    await write('locales/zh-CN.json', own('第三 {{ code }}'))
    renderer.reload()
    t.equal(smsOf(renderer, login), 'second 1234')
    const chinese = { ...login, content: { ...login.content, locale: 'zh-CN' } }
    t.match(smsOf(renderer, chinese), /登录/, 'the other files stay as they were')
    t.match(renderer.problems(), [
      { file: 'locales/en.json', line: 1, reason: /unknown variable: kode/, is: 'refused' },
    ])
    t.match(logged.at(-1), /^template problem .*kode/)

    await write('locales/en.json', own('fourth {{ code }}'))
    await until(() => smsOf(renderer, login) === 'fourth 1234', 'the fourth')
    t.equal(smsOf(renderer, chinese), '第三 1234')
    await until(() => renderer.problems().length === 0, 'no fault')

    await write('layout.txt', 'own')
    await until(() => renderer.viewMail(code).text === 'own', 'the layout')
    await rm(join(dir, 'locales/en.json'))
    await until(() => smsOf(renderer, login).startsWith('Northwind: 1234'), 'the built-in one')
  },
)

t.test('a file that cannot be read for a while keeps its last good text', async t => {
  const { renderer, write, dir } = await withTemplates(t, {
    'locales/en.json': JSON.stringify({ sms: { 'login-code': 'ours {{ code }}' } }),
  })
  await rm(join(dir, 'locales/en.json'))
  await mkdir(join(dir, 'locales/en.json'))
  t.match(renderer.reload(), [
    { file: 'locales/en.json', reason: say('cannot be read ({code})', { code: 'EISDIR' }), is: 'refused' },
  ])
  t.equal(smsOf(renderer, login), 'ours 1234')
  await rm(join(dir, 'locales/en.json'), { recursive: true })
  await write('locales/en.json', '{}')
  t.same(renderer.reload(), [])
  t.match(smsOf(renderer, login), /^Northwind: /)

  await write('locales/en.json', JSON.stringify({ sms: { 'login-code': 'again {{ code }}' } }))
  renderer.reload()
  await rename(dir, `${dir}.away`)
  t.match(renderer.reload(), [
    { file: '.', reason: say('cannot be read ({code})', { code: 'ENOENT' }), is: 'refused' },
  ])
  t.equal(smsOf(renderer, login), 'again 1234', 'the whole folder is gone for a moment')
  await rename(`${dir}.away`, dir)
  t.same(renderer.reload(), [])
})

t.test('each reading says what is wrong, and that nothing is any more', async t => {
  const said: string[] = []
  const note = (fields: object, text: string) => void said.push([text, ...Object.values(fields)].join(', '))
  const { renderer, write } = await withTemplates(
    t,
    { 'layout.txt': '{{ nothing }}', 'layout.html': '{{ nothing }}' },
    { locale: 'de-AT', pollEveryMs: 60_000, log: { warn: note, info: note } },
  )
  const unknown = 'template problem, layout.html, 1, unknown variable: nothing, refused'
  const none = 'template problem, locales/de-AT.json, there are no words for de-AT: en is used, warning'
  t.same(said.splice(0), [unknown, unknown.replace('html', 'txt'), none])
  await write('layout.txt', '{{ words.heading }}')
  await write('locales/de.json', JSON.stringify(english))
  renderer.reload()
  t.same(said.splice(0), [unknown, none])
  await write('layout.html', '{{ words.heading }}')
  renderer.reload()
  t.same(said, ['templates read again'])
})

t.test('a message on which a template fails gets the built-in one', async t => {
  const said: string[] = []
  const note = (fields: object, text: string) => void said.push(`${text} ${JSON.stringify(fields)}`)
  const file = 'messages/phone-change.html'
  const { renderer, write } = await withTemplates(
    t,
    {
      [file]: '<p>{{ code }}</p>{% if code == "666" %}{% for i in (1..99999999) %}x{% endfor %}{% endif %}',
    },
    { pollEveryMs: 60_000, log: { warn: note, info: note } },
  )
  t.same(renderer.problems(), [])
  t.equal(renderer.viewMail(code).html, '<p>428913</p>')
  const bad = renderer.viewMail(messageOf('email', 'phone-change', { params: { code: '666' } }))
  t.match(bad.html, /<!DOCTYPE html>[^]*666/)
  t.match(renderer.problems(), [{ reason: /limit/ }])
  t.equal(renderer.viewMail(code).html, '<p>428913</p>')
  renderer.viewMail(messageOf('email', 'phone-change', { params: { code: '666' } }))
  const failed =
    '{"file":"email/phone-change","line":1,"reason":"memory alloc limit exceeded","is":"refused"}'
  t.same(said, [`template failed on a message: the built-in one is used ${failed}`], 'it is said once')
  await write(file, '<p>{{ code }}</p>')
  t.same(renderer.reload(), [])
  t.same(renderer.problems(), [], 'mended')
})

t.test('a language is said in itself, else in one of its script, else in any of its kind', async t => {
  for (const [wanted, available, found] of [
    ['es', 'en es', 'es'],
    ['es-MX', 'en es', 'es'],
    ['zh-HK', 'zh-CN zh-TW', 'zh-TW'],
    ['zh-SG', 'zh-TW zh-CN', 'zh-CN'],
    ['sr', 'sr-Latn sr-Latn-ME', 'sr-Latn'],
    ['de', 'en es zh-CN', null],
    ['no_such', 'en', null],
  ] as const)
    t.equal(matchLocale(wanted, available.split(' ')), found, wanted)
})

t.test(
  'a mail whose layout is not the built-in one gets it so, also where its own file extends it',
  async t => {
    const own = "{% layout 'layout.txt' %}{% block content %}own{% endblock %}"
    for (const [name, said] of [
      ['file.txt', 'ours'],
      ['phone-change.txt', 'own'],
    ] as const) {
      const layout = '{{ code | upcase }} {% block content %}ours{% endblock %}'
      const files = { 'layout.txt': layout, messages: { [name]: own } }
      const renderer = rendererFor({ templatesDir: t.testdir(files) })
      for (const code of ['abc', 'xyz']) {
        const message = messageOf('email', 'phone-change', { params: { code } })
        const { text } = await readMail(rawOf(renderer, message))
        t.equal(text.trim(), `${code.toUpperCase()} ${said}`)
      }
      renderer.close()
    }
  },
)

t.test('what was made ready once is made anew after a reload', async t => {
  const { renderer, write } = await withTemplates(t, { 'layout.htm': 'x' }, { pollEveryMs: 60_000 })
  const raw = () => rawOf(renderer, code).toString('latin1')
  t.match(raw(), /Your verification code/)
  await write('locales/en.json', JSON.stringify({ mail: { 'phone-change': { heading: 'Changed heading' } } }))
  t.match(renderer.reload(), [{ is: 'warning' }], 'which holds nothing up')
  t.match(raw(), /Changed heading/)
})

t.test('a language file that is not named as BCP 47 writes its tag is refused', async t => {
  const text = JSON.stringify(english)
  const { renderer } = await withTemplates(t, {
    'locales/english.json': text,
    'locales/zh_HK.json': text,
    'locales/de-AT.json': text,
  })
  const reason = 'the file should be called by the tag of a language (BCP 47), such as de.json or zh-HK.json'
  t.same(reasons(renderer), [`locales/english.json: ${reason}`, `locales/zh_HK.json: ${reason}`])
  t.ok(renderer.locales.includes('de-AT'))
  t.notOk(renderer.locales.includes('english'))
})
