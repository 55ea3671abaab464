import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { sampleMessage, samples } from '../../../src/messages/samples.ts'
import { openBrowser } from '../../rigs/browser.ts'
import { rendererFor } from '../rendering.ts'

/**
 * Takes the pictures of docs/templates.md: `node test/words/templates/pictures.ts docs/images`. Each is of a kind in three languages side by side; `all` as a second argument: every kind in every view.
 */
const SHOWN = ['registration-activation-desktop', 'registration-activation-dark', 'recovery-code-phone']
const LOCALES = ['en', 'zh-CN', 'ar']
const VIEWS = [
  { name: 'desktop', width: 640, colorScheme: 'light', around: '#c9ccd2' },
  { name: 'phone', width: 375, colorScheme: 'light', around: '#c9ccd2' },
  { name: 'dark', width: 375, colorScheme: 'dark', around: '#000000' },
] as const
const GAP = 16

const out = process.argv[2] ?? '.'
const all = process.argv[3] === 'all'
const renderer = rendererFor()
const browser = await openBrowser()
for (const { name: kind, channel } of samples) {
  if (channel !== 'email') continue
  for (const { name, width, colorScheme, around } of VIEWS) {
    if (!all && !SHOWN.includes(`${kind}-${name}`)) continue
    const page = await browser.newPage({
      viewport: { width: LOCALES.length * (width + GAP) + GAP, height: 300 },
      colorScheme,
    })
    await page.setContent(
      `<body style="margin: ${GAP}px; display: flex; gap: ${GAP}px; background: ${around}">${LOCALES.map(
        () => `<iframe style="border: 0; width: ${width}px; height: 300px"></iframe>`,
      ).join('')}`,
    )
    await fill(page, kind)
    await page.screenshot({ path: join(out, `mail-${kind}-${name}.png`), fullPage: true })
    await page.close()
  }
}
await browser.close()

/** Puts one language into each frame and makes them all as high as the highest. */
async function fill(page: Page, kind: string): Promise<void> {
  const sample = samples.find(one => one.name === kind)
  if (!sample) throw new Error(`no kind is called ${kind}`)
  const heights: number[] = []
  for (const [i, frame] of page.frames().slice(1).entries()) {
    await frame.setContent(renderer.viewMail(sampleMessage(sample, LOCALES[i] ?? 'en')).html)
    heights.push(await frame.evaluate('document.documentElement.scrollHeight'))
  }
  await page.evaluate(
    `document.querySelectorAll('iframe').forEach(frame => { frame.style.height = '${Math.max(...heights)}px' })`,
  )
}
