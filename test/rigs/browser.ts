import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

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
