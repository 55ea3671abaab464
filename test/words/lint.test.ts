import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { lintTemplates } from './lint.ts'
import { rendererFor } from './rendering.ts'

t.test('the built-in words and layouts have no faults, with and without the WebOTP line', async t => {
  t.same(lintTemplates(rendererFor()), [])
  const webotpDomain = 'northwind.example'
  t.same(lintTemplates(rendererFor({ sms: { webotpDomain } }), webotpDomain), [])
  // A name in Chinese halves the room of Latin words.
  const renderer = rendererFor({ brand: { name: '示例科技', url: undefined, color: '#1f5fd0' } })
  t.same(lintTemplates({ ...renderer, locales: ['en', 'es'] }), [])
})

t.test('the language of the docs, which leaves kinds and units out, has no faults', async t => {
  for (const page of ['docs/templates.md', 'docs/zh-CN/templates.md']) {
    const text = await readFile(join(import.meta.dirname, '../..', page), 'utf8')
    const [, german = ''] = /```json\n(\{\n {2}"language"[^`]*)```/.exec(text) ?? []
    const renderer = rendererFor({ templatesDir: t.testdir({ locales: { 'de.json': german } }) })
    t.teardown(() => renderer.close())
    t.ok(renderer.locales.includes('de'), page)
    t.same(lintTemplates({ ...renderer, locales: ['de'] }), [])
    t.same(
      renderer.problems().map(({ file, is }) => `${file} ${is}`),
      ['locales/de.json warning'],
    )
  }
})
