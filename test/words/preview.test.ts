import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { samples } from '../../src/messages/samples.ts'
import { renderPreview, writePreviews } from '../../src/words/preview.ts'
import { rendererFor } from './rendering.ts'

const renderer = rendererFor()

t.test('the folder has every kind in every language', async t => {
  const out = join(t.testdir(), 'a', 'new', 'folder')
  await writePreviews(renderer, out)
  const written = samples.flatMap(({ channel, name }) =>
    renderer.locales.flatMap(locale =>
      channel === 'sms'
        ? [`sms/${name}.${locale}.txt`]
        : [`mail/${name}.${locale}.html`, `mail/${name}.${locale}.txt`],
    ),
  )
  const found = await Promise.all(
    ['mail', 'sms'].map(async folder => (await readdir(join(out, folder))).map(name => `${folder}/${name}`)),
  )
  t.same(found.flat().toSorted(), written.toSorted())
  const files = ['sms/login-code.en.txt', 'mail/file.ar.html', 'mail/file.ar.txt']
  const [sms = '', html = '', text = ''] = files.map(file => readFileSync(join(out, file), 'utf8'))
  t.match(sms, /351706 is your sign-in code/)
  t.match(renderPreview(renderer, 'email', 'file', 'ar'), { mail: { dir: 'rtl', html, text } })
  t.match(html, /<html lang="ar" dir="rtl"/)
})

t.test('a single sample is rendered for the console', async t => {
  t.match(renderPreview(renderer, 'sms', 'login-code', 'zh-TW'), {
    channel: 'sms',
    text: /登入/,
    size: { segments: 1 },
  })
  t.equal(renderPreview(renderer, 'sms', 'file', 'en'), null)
  t.equal(renderPreview(renderer, 'email', '__proto__', 'en'), null)
})
