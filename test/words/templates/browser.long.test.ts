import t from 'tap'
import { noBrowser, openBrowser } from '../../rigs/browser.ts'
import { rendererFor } from '../rendering.ts'
import { lookAtMails, mails, READABLE, show, worstContrast } from './phone.ts'

t.test('mails in a browser', { skip: noBrowser }, async t => {
  const browser = await openBrowser()
  t.teardown(() => browser.close())

  for (const colorScheme of ['light', 'dark'] as const) {
    await t.test(`every mail in every language on a 320 px phone, ${colorScheme}`, t =>
      lookAtMails(t, browser, { colorScheme }),
    )
  }

  await t.test('long values wrap instead of widening the mail', async t => {
    const renderer = rendererFor({
      brand: { name: 'W'.repeat(60), url: `https://${'sub.'.repeat(30)}example.com` },
    })
    const page = await browser.newPage({ viewport: { width: 320, height: 640 } })
    for (const sample of mails) {
      const params = Object.fromEntries(
        Object.entries(sample.content.params).map(([key, value]) => [
          key,
          key === sample.kind?.linkParam
            ? `https://console.example.com/${'x'.repeat(600)}`
            : key === 'hour'
              ? value
              : 'M'.repeat(200),
        ]),
      )
      const plain =
        sample.content.plain === undefined
          ? {}
          : { plain: `https://console.example.com/${'y'.repeat(600)} ${'M'.repeat(200)}` }
      const long = { ...sample, content: { ...sample.content, subject: 'M'.repeat(200), params, ...plain } }
      await show(page, renderer, long, 'en')
      t.equal(await page.evaluate('document.documentElement.scrollWidth'), 320, sample.name)
    }
    await page.close()
  })

  await t.test('any brand colour can be read on, light and dark', async t => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await browser.newPage({ viewport: { width: 375, height: 640 }, colorScheme })
      for (const color of ['#ffffff', '#ffe600', '#ff5a5f', '#7f7f7f', '#00c853', '#111111', '#000080']) {
        const renderer = rendererFor({
          brand: { name: 'Northwind', url: 'https://northwind.example', color },
        })
        const sample = mails.find(({ name }) => name === 'file')
        if (sample) await show(page, renderer, sample, 'en')
        const { ratio, text } = await worstContrast(page)
        t.ok(ratio >= READABLE, `${color} ${colorScheme}: ${ratio.toFixed(2)} at "${text}"`)
      }
      await page.close()
    }
  })
})
