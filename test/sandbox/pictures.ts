import { join } from 'node:path'
import { createSandboxPage } from '../../sandbox/page.ts'
import { startSandbox } from '../../sandbox/sandbox.ts'
import { openBrowser } from '../rigs/browser.ts'

/**
 * Takes the pictures of both READMEs: `node test/sandbox/pictures.ts docs/images`. Every kind is
 * played once, a wrong Token is refused, and a mail comes after the mail server has refused one.
 */
const out = process.argv[2] ?? '.'
const PICTURES = [
  {
    file: 'sandbox.png',
    locale: 'en-US',
    settings: {} as Record<string, string>,
    words: { all: 'Play all', wrong: 'Wrong Token', kind: /Recovery code/ },
  },
  {
    file: 'sandbox.zh-CN.png',
    locale: 'zh-CN',
    settings: { LOCALE: 'zh-CN', BRAND_NAME: '示例科技' },
    words: { all: '全部发送', wrong: '错误的 Token', kind: /找回密码验证码/ },
  },
]

const browser = await openBrowser()
for (const { file, locale, settings, words } of PICTURES) {
  let changed = () => {}
  const stage = await startSandbox({ ports: { callbacks: 0, admin: 0 }, settings }, () => changed())
  const page = createSandboxPage(stage)
  changed = () => page.changed()
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    deviceScaleFactor: 2,
    locale,
  })
  const tab = await context.newPage()
  await tab.goto(await page.listen(0))
  const press = async (name: string | RegExp, nth: number) => {
    await tab.getByRole('button', { name }).nth(nth).click()
    // As people press buttons: so that what happened has a time of its own.
    await tab.waitForTimeout(3000)
  }
  await press(words.all, 0)
  await press(words.all, 1)
  await press(words.wrong, 1)
  const server = tab.locator('#fault-email')
  await server.selectOption('recipient')
  await press(words.kind, 0)
  await server.selectOption('none')
  await press(words.kind, 0)
  await tab.getByRole('listbox').getByRole('option').first().click()
  await tab.mouse.move(0, 0)
  await tab.waitForTimeout(1000)
  await tab.screenshot({ path: join(out, file) })
  await context.close()
  await page.close()
  await stage.close()
}
await browser.close()
