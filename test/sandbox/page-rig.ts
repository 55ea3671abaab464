import { request as httpRequest } from 'node:http'
import type { Browser, BrowserContextOptions, Page as Tab } from 'playwright-core'
import t, { type Test } from 'tap'
import { createSandboxPage } from '../../sandbox/page.ts'
import { startSandbox } from '../../sandbox/sandbox.ts'
import { noBrowser, openBrowser } from '../rigs/browser.ts'

const skip = noBrowser
let changed = () => {}

export const stage = await startSandbox({ ports: { callbacks: 0, admin: 0 }, settings: {} }, () => changed())
const page = createSandboxPage(stage)
changed = () => page.changed()
export const address = await page.listen(0)
let browser: Promise<Browser> | undefined
t.teardown(async () => {
  await (await browser)?.close()
  await page.close()
  await stage.close()
})

/** The page in a browser of its own. Whatever it asks of anybody else, or complains about, fails the test. */
export function inBrowser(
  name: string,
  play: (t: Test, tab: Tab) => Promise<void>,
  options: BrowserContextOptions = { viewport: { width: 1280, height: 800 } },
): void {
  t.test(name, { skip }, async t => {
    await post('/clear', {})
    browser ??= openBrowser()
    const context = await (await browser).newContext(options)
    t.teardown(() => context.close())
    const tab = await context.newPage()
    tab.setDefaultTimeout(10_000)
    const strangers: string[] = []
    const faults: string[] = []
    tab.on('requestfailed', request => {
      // What the policy of the page or of the mail forbade was never asked.
      const asked = request.failure()?.errorText !== 'csp'
      if (asked && !request.url().startsWith(address)) strangers.push(request.url())
    })
    tab.on('requestfinished', request => {
      if (!request.url().startsWith(address)) strangers.push(request.url())
    })
    tab.on('pageerror', error => faults.push(error.message))
    await tab.goto(address)
    await tab.getByText(/^(?:Live|已连接)$/).waitFor()
    await play(t, tab)
    t.same(strangers, [], 'nothing is asked of anybody else')
    t.same(faults, [], 'no script fails')
  })
}

export const inbox = (tab: Tab) => tab.getByRole('listbox', { name: /Inbox/ })
export const press = (tab: Tab, channel: 'E-mail' | 'SMS', name: string) =>
  tab
    .getByRole('group', { name: `${channel} callback` })
    .getByRole('button', { name })
    .click()

export async function post(path: string, body: unknown): Promise<unknown> {
  const response = await fetch(address + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return response.json()
}

/** `fetch` would not let a foreign Host or Origin through. */
export function status(
  method: string,
  path: string,
  headers: Record<string, string>,
): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    httpRequest(address + path, { method, headers }, response => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end(method === 'POST' ? '{}' : undefined)
  })
}
