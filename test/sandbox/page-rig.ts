import { request as httpRequest } from 'node:http'
import type { Page as Tab } from 'playwright-core'
import t from 'tap'
import { createSandboxPage } from '../../sandbox/page.ts'
import { startSandbox } from '../../sandbox/sandbox.ts'
import { browserTests } from '../rigs/browser.ts'

let changed = () => {}

export const stage = await startSandbox({ ports: { callbacks: 0, admin: 0 }, settings: {} }, () => changed())
const page = createSandboxPage(stage)
changed = () => page.changed()
export const address = await page.listen(0)
t.teardown(async () => {
  await page.close()
  await stage.close()
})
export const inBrowser = browserTests(address, () => post('/clear', {}), {
  viewport: { width: 1280, height: 800 },
})

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
