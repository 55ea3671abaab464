import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { samples } from '../../src/messages/samples.ts'
import { renderPreview, writeGallery } from '../../src/words/preview.ts'
import { rendererFor } from './rendering.ts'

const renderer = rendererFor()

t.test('the gallery has every kind in every language, and a page that shows each', async t => {
  const out = join(t.testdir(), 'a', 'new', 'gallery')
  const index = await writeGallery(renderer, out)
  const page = await readFile(index, 'utf8')
  const mail = await readdir(join(out, 'mail'))
  const sms = await readdir(join(out, 'sms'))
  for (const { channel, name } of samples) {
    for (const locale of renderer.locales) {
      const files =
        channel === 'email'
          ? [`mail/${name}.${locale}.html`, `mail/${name}.${locale}.txt`]
          : [`sms/${name}.${locale}.txt`]
      for (const file of files) {
        t.ok((channel === 'email' ? mail : sms).includes(file.slice(file.indexOf('/') + 1)), file)
        t.ok(page.includes(`href="${file}"`), `${file} is on the page`)
      }
    }
  }
  t.equal(
    mail.length + sms.length,
    samples.reduce((sum, { channel }) => sum + (channel === 'email' ? 2 : 1), 0) * 5,
  )
  t.notMatch(page, /<script|https?:\/\/(?!console|files)/)
  t.match(await readFile(join(out, 'sms/login-code.en.txt'), 'utf8'), /351706 is your sign-in code/)
  const chinese = await readFile(await writeGallery(renderer, out, ['en'], 'zh-CN'), 'utf8')
  t.match(
    chinese,
    /<html lang="zh-CN">[\s\S]*收件人读到的内容[\s\S]*<h2>短信：登录验证码（login-code）<[\s\S]*按 1 条计费/,
  )
})

t.test('a single sample is rendered for the console', async t => {
  t.match(renderPreview(renderer, 'email', 'file', 'ar'), {
    channel: 'email',
    mail: { dir: 'rtl', html: /<html lang="ar" dir="rtl"/ },
  })
  t.match(renderPreview(renderer, 'sms', 'login-code', 'zh-TW'), {
    channel: 'sms',
    text: /登入/,
    size: { segments: 1 },
  })
  t.equal(renderPreview(renderer, 'sms', 'file', 'en'), null)
  t.equal(renderPreview(renderer, 'email', '__proto__', 'en'), null)
})
