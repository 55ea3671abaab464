import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { RendererOptions } from '../../src/words/render.ts'
import { type Check, lintTemplates } from './lint.ts'
import { rendererFor } from './rendering.ts'

/** @param locales looked at: to render every kind in all of them, over and over, takes seconds. All unless given. */
async function findingsOf(
  t: Test,
  files: Record<string, string>,
  options: Partial<RendererOptions> = {},
  locales?: readonly string[],
) {
  const dir = t.testdir({ locales: {}, messages: {} })
  for (const [file, text] of Object.entries(files)) {
    await mkdir(join(dir, file, '..'), { recursive: true })
    await writeFile(join(dir, file), text)
  }
  const renderer = rendererFor({ templatesDir: dir, ...options })
  t.teardown(() => renderer.close())
  return lintTemplates({
    renderer: locales === undefined ? renderer : { ...renderer, locales },
    ...(options.sms?.webotpDomain !== undefined && { webotpDomain: options.sms.webotpDomain }),
  })
}

t.test('the built-in words and layouts have no findings, with and without the WebOTP line', async t => {
  t.same(lintTemplates({ renderer: rendererFor() }), [])
  const webotpDomain = 'northwind.example'
  t.same(lintTemplates({ renderer: rendererFor({ sms: { webotpDomain } }), webotpDomain }), [])
  // A name in Chinese halves the room of Latin words.
  const renderer = rendererFor({ brand: { name: '示例科技', url: undefined, color: '#1f5fd0' } })
  t.same(lintTemplates({ renderer: { ...renderer, locales: ['en', 'es'] } }), [])
})

t.test('the language of the docs, which leaves kinds and units out, has no findings', async t => {
  for (const page of ['docs/templates.md', 'docs/zh-CN/templates.md']) {
    const text = await readFile(join(import.meta.dirname, '../..', page), 'utf8')
    const [, german = ''] = /```json\n(\{\n {2}"language"[^`]*)```/.exec(text) ?? []
    const findings = await findingsOf(t, { 'locales/de.json': german })
    t.match(findings, [
      { check: 'template', where: 'locales/de.json', reason: /^has no words for .*email\/file/ },
    ])
    t.equal(findings.length, 1, page)
  }
})

t.test('html of a kind that its language leaves out would reach nobody', async t => {
  const german = {
    language: 'Deutsch',
    dir: 'ltr',
    validity: {},
    common: { link: '{{ link.host }}', footer: 'f' },
    mail: {},
    sms: {},
  }
  const findings = await findingsOf(t, {
    'locales/de.json': JSON.stringify(german),
    'messages/file.de.html': '{{ link.url }}',
  })
  t.match(
    findings.find(({ where }) => where === 'messages/file.de.html'),
    { reason: 'locales/de.json has no words for file, so nobody would get this' },
  )
})

t.test('each fault is found and named', async t => {
  const sms = (text: string) => JSON.stringify({ sms: { 'login-code': text } })
  const html = '<html lang="{{ locale.tag }}" dir="{{ locale.dir }}">'
  const whole = `${html}{{ words.heading }}{{ words.text | autolink }}{{ words.details }}{{ code }}{{ validity }}{{ username }}{{ corporation }}{{ productName }}{{ time }}{{ email }}{{ verifycode }}`
  const link = '<a href="{{ link.url }}">{{ link.url }}</a> {{ link.host }}'
  const cases: readonly [file: string, text: string, check: Check, reason: RegExp][] = [
    ['layout.html', '{% if %}', 'template', /./],
    ['messages/phone-change.html', `${html}{{ validity }}`, 'parameter', /html does not show code/],
    ['messages/phone-change.txt', 'Hello {{ validity }}', 'parameter', /text does not show code/],
    ['messages/phone-change.html', `${html}{{ code | raw }}{{ validity }}`, 'escaping', /code unescaped/],
    ['messages/file.html', `${html}<a href="{{ link.url }}">{{ link.url }}</a>`, 'link', /name the host/],
    ['messages/file.txt', 'nothing', 'link', /text does not show download_url/],
    ['layout.html', `${whole}${link}<img src="https://t.example/x.gif" alt="">`, 'remote', /t\.example/],
    ['layout.html', `<html>${whole.slice(html.length)}${link}`, 'language', /lang=/],
    ['layout.html', `${whole}${link}${'<p>filler</p>'.repeat(3000)}`, 'size', /30720/],
    ['locales/en.json', sms(`{{ code }}{{ validity }}${'x'.repeat(170)}`), 'segments', /2 segments/],
    ['locales/en.json', sms('Hello, {{ validity }}'), 'parameter', /code/],
    ['locales/en.json', sms('{{ code }}'), 'validity', /minute/],
  ]
  for (const [file, text, check, reason] of cases) {
    await t.test(`${file}: ${check}: ${reason.source}`, async t => {
      const found = (await findingsOf(t, { [file]: text }, {}, ['en'])).filter(
        one => one.check === check && reason.test(one.reason),
      )
      t.not(found.length, 0)
      for (const { where } of found) t.match(where, /^(email|sms)\/[\w-]+ in [\w-]+$|^[\w./-]+$/)
    })
  }
  await t.test('a value that would read backwards from right to left', async t => {
    const before = 'عاد الجهاز إلى وضعه الطبيعي. كان الإنذار:'
    const words = (mark: string) =>
      JSON.stringify({
        sms: { 'device-alert': `إنذار من {{ signature }}: {{ device }}، الآن ${mark}{{ current }}` },
        mail: { 'device-event': { before: `${before} ${mark}{{ values }}` } },
      })
    const found = async (mark: string) =>
      (await findingsOf(t, { 'locales/ar.json': words(mark) }, {}, ['ar']))
        .filter(({ check }) => check === 'language')
        .map(({ where, reason }) => `${where}: ${reason.replace(/ without.*/, '')}`)
    t.same(await found(''), [
      'email/device-event in ar: the text shows values',
      'sms/device-alert in ar: the text shows current',
    ])
    t.same(await found('\u200e'), [])
  })
})
