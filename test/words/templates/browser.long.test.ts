import type { Browser, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { type Sample, sampleMessage, samples } from '../../../src/messages/samples.ts'
import type { Renderer } from '../../../src/words/render.ts'
import { noBrowser, openBrowser } from '../../rigs/browser.ts'
import { rendererFor } from '../rendering.ts'

const mails = samples.filter(({ channel }) => channel === 'email')
/** WCAG 2.2, 1.4.3, level AA, for text of any size. */
const READABLE = 4.5
/** Contrast of every visible text with the ground it stands on, the worst first. Runs in the page, self-contained. */
const WORST_CONTRAST = `(() => {
  const rgba = css => (css.match(/[\\d.]+/g) ?? []).map(Number)
  const luminance = ([r, g, b]) => {
    const linear = v => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4)
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
  }
  const ground = element => {
    for (let at = element; at; at = at.parentElement) {
      const color = rgba(getComputedStyle(at).backgroundColor)
      if (color.length === 3 || color[3] === 1) return color
      if (color[3] > 0) throw new Error('a translucent ground')
    }
    return [255, 255, 255]
  }
  const found = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim()
    const element = walker.currentNode.parentElement
    if (text === '' || element.getClientRects().length === 0) continue
    const [a, b] = [luminance(rgba(getComputedStyle(element).color)), luminance(ground(element))].sort((x, y) => y - x)
    found.push({ ratio: (a + 0.05) / (b + 0.05), text })
  }
  return found.sort((x, y) => x.ratio - y.ratio)
})()`

/** Looks at every mail on a phone of 320 pixels. */
async function lookAtMails(t: Test, browser: Browser, colorScheme: 'light' | 'dark'): Promise<void> {
  const renderer = rendererFor()
  const page = await browser.newPage({ viewport: { width: 320, height: 640 }, colorScheme })
  const requests: string[] = []
  page.on('request', request => requests.push(request.url()))
  for (const sample of mails) {
    for (const locale of renderer.locales) {
      await show(page, renderer, sample, locale)
      const name = `${sample.name} ${locale}`
      t.equal(await page.evaluate('document.documentElement.scrollWidth'), 320, `${name}: no sideways scroll`)
      t.ok((await worstContrast(page)).ratio >= READABLE, `${name}: contrast`)
      t.match(
        await page.evaluate('[document.documentElement.lang, getComputedStyle(document.body).direction]'),
        [locale, locale === 'ar' ? 'rtl' : 'ltr'],
      )
      if (sample.kind?.linkParam !== undefined) {
        const button = await page.locator('.button a').boundingBox()
        t.ok(
          button && button.height >= 44 && button.width >= 44,
          `${name}: the button is large enough for a thumb`,
        )
      }
      if (sample.kind?.required.includes('code')) {
        t.equal(
          await selectedBy(page, 2),
          sample.content.params['code'],
          `${name}: a double click selects the code`,
        )
        t.equal(await selectedBy(page, 1), sample.content.params['code'], `${name}: so does one click`)
      }
    }
  }
  t.same(requests, [], 'nothing was fetched')
  await page.close()
}

async function show(page: Page, renderer: Renderer, sample: Sample, locale: string): Promise<void> {
  await page.setContent(renderer.viewMail(sampleMessage(sample, locale)).html)
}

async function worstContrast(page: Page): Promise<{ readonly ratio: number; readonly text: string }> {
  const found: { readonly ratio: number; readonly text: string }[] = await page.evaluate(WORST_CONTRAST)
  return found[0] ?? { ratio: 0, text: 'no text at all' }
}

/** What is selected after clicking into the middle of the code. */
async function selectedBy(page: Page, clicks: number): Promise<string> {
  await page.evaluate('getSelection().removeAllRanges()')
  await page.locator('.code').click({ clickCount: clicks })
  return page.evaluate('getSelection().toString().trim()')
}

t.test('mails in a browser', { skip: noBrowser }, async t => {
  const browser = await openBrowser()
  t.teardown(() => browser.close())

  for (const colorScheme of ['light', 'dark'] as const) {
    await t.test(`every mail in every language on a 320 px phone, ${colorScheme}`, t =>
      lookAtMails(t, browser, colorScheme),
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
