import { existsSync } from 'node:fs'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import t, { type Test } from 'tap'

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  path => existsSync(path),
)

/** Why tests in a browser are left out; false when there is one. */
export const noBrowser: string | false =
  executablePath === undefined ? 'no Chromium on this machine: the pages were not looked at' : false

/** Headless Chromium that talks to nobody but the pages it is shown. The caller closes it. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    ...(executablePath !== undefined && { executablePath }),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

/**
 * Makes tests of a page in a browser of its own. Whatever the page asks of anybody else, or complains about, fails the test.
 * @param prepare brings the page back to its beginning.
 */
export function browserTests(address: string, prepare: () => unknown, usual: BrowserContextOptions) {
  let browser: Promise<Browser> | undefined
  t.teardown(async () => (await browser)?.close())
  return (name: string, play: (t: Test, tab: Page) => Promise<void>, options = usual): void => {
    t.test(name, { skip: noBrowser }, async t => {
      await prepare()
      browser ??= openBrowser()
      const context = await (await browser).newContext(options)
      t.teardown(() => context.close())
      const tab = await context.newPage()
      tab.setDefaultTimeout(10_000)
      const faults: string[] = []
      const note = (url: string) => void (url.startsWith(address) || faults.push(url))
      // What the policy of the page or of the mail forbade was never asked.
      tab.on('requestfailed', asked => void (asked.failure()?.errorText !== 'csp' && note(asked.url())))
      tab.on('requestfinished', asked => note(asked.url()))
      tab.on('pageerror', error => faults.push(error.message))
      await tab.goto(address)
      await tab.getByText(/^(?:Live|已连接)$/).waitFor()
      await play(t, tab)
      t.same(faults, [], 'no script fails, and nothing is asked of anybody else')
    })
  }
}
