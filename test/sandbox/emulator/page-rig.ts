import type { Browser, Page as Tab } from 'playwright-core'
import t, { type Test } from 'tap'
import { createEmulator } from '../../../sandbox/emulator/emulator.ts'
import { createEmulatorPage } from '../../../sandbox/emulator/page.ts'
import { noBrowser, openBrowser } from '../../rigs/browser.ts'

let changed = () => {}
export const emulator = await createEmulator({ changed: () => changed() })
const page = createEmulatorPage({ emulator, sandboxUrl: () => 'http://127.0.0.1:8025/' })
changed = () => page.changed()
export const address = await page.listen(0)
let browser: Promise<Browser> | undefined
t.teardown(async () => {
  await (await browser)?.close()
  await page.close()
  await emulator.close()
})

export function inBrowser(name: string, play: (t: Test, tab: Tab) => Promise<void>, width = 1400): void {
  t.test(name, { skip: noBrowser }, async t => {
    emulator.clear()
    browser ??= openBrowser()
    const context = await (await browser).newContext({ viewport: { width, height: 900 } })
    t.teardown(() => context.close())
    const tab = await context.newPage()
    tab.setDefaultTimeout(10_000)
    const faults: string[] = []
    tab.on('pageerror', error => faults.push(error.message))
    tab.on('request', asked => {
      if (!asked.url().startsWith(address)) faults.push(asked.url())
    })
    await tab.goto(address)
    await tab.getByText('Live', { exact: true }).waitFor()
    await play(t, tab)
    t.same(faults, [], 'no script fails, and nothing is asked of anybody else')
  })
}
