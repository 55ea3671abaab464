import { request } from 'node:http'
import type { Browser, Page as Tab } from 'playwright-core'
import t, { type Test } from 'tap'
import { createEmulator } from '../../../sandbox/emulator/emulator.ts'
import { createEmulatorPage } from '../../../sandbox/emulator/page.ts'
import { noBrowser, openBrowser } from '../../rigs/browser.ts'

let changed = () => {}
const emulator = await createEmulator({ changed: () => changed() })
const page = createEmulatorPage({ emulator, sandboxUrl: () => 'http://127.0.0.1:8025/' })
changed = () => page.changed()
const address = await page.listen(0)
const browser: Browser | null = noBrowser ? null : await openBrowser()
t.teardown(async () => {
  await browser?.close()
  await page.close()
  await emulator.close()
})

function inBrowser(name: string, play: (t: Test, tab: Tab) => Promise<void>, width = 1400): void {
  t.test(name, { skip: noBrowser }, async t => {
    emulator.clear()
    const context = await (browser as Browser).newContext({ viewport: { width, height: 900 } })
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

inBrowser('a device does what its buttons say, and its messages are shown', async (t, tab) => {
  const freezer = tab.getByRole('article', { name: 'Freezer 3, warehouse north' })
  await freezer.getByRole('button', { name: 'Go offline' }).click()
  await freezer.getByText('offline', { exact: true }).waitFor()
  await tab.getByText('1144502133 is offline').waitFor()
  await freezer.getByRole('button', { name: 'Alarm' }).first().click()
  await tab.getByText('1144502133 alarm').waitFor()
  await freezer.getByRole('button', { name: 'Handle' }).click()
  await freezer.getByRole('button', { name: 'Recover' }).first().click()
  await freezer.getByRole('button', { name: 'Report event' }).click()
  await freezer.getByRole('button', { name: 'Report attributes' }).click()
  await freezer.getByRole('button', { name: 'Come online' }).click()
  await tab.getByText('1144502133 is online').waitFor()
  t.equal(emulator.devices.sentMessages().length, 7)
  await tab.getByText('1144502133 alarm').click()
  await tab.locator('details[open] pre', { hasText: '"exception": true' }).waitFor()
  const gate = tab.getByRole('article', { name: 'Gate controller, dock 2' })
  await gate.getByRole('button', { name: 'Go offline' }).click()
  await tab.getByText('9007199254740993 is offline').waitFor()
})

interface Seen {
  readonly faults: readonly { readonly title: string; readonly on: boolean }[]
  readonly subscription: { readonly silent: boolean; readonly down: boolean; readonly redelivers: boolean }
}

async function seen(condition: (state: Seen) => boolean): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    if (condition((await (await fetch(`${address}/state`)).json()) as Seen)) return
    await new Promise(resolve => setTimeout(resolve, 25))
  }
  throw new Error('the button did nothing')
}

inBrowser('each fault of the line is a switch', async (t, tab) => {
  const switches: [string, (state: Seen) => boolean | undefined][] = [
    ...['every message twice', 'garbage in front of every message', 'cut at any byte'].map(
      (title): [string, (state: Seen) => boolean | undefined] => [
        title,
        state => state.faults.find(fault => fault.title === title)?.on,
      ],
    ),
    ['the last ones again after a reconnect', ({ subscription }) => subscription.redelivers],
    ['silence: nothing passes', ({ subscription }) => subscription.silent],
    ['down: no connection', ({ subscription }) => subscription.down],
  ]
  for (const [title, on] of switches) {
    await tab.getByLabel(title).click()
    await seen(state => on(state) === true)
    await tab.getByRole('checkbox', { name: title, checked: true }).waitFor()
  }
  t.same(emulator.ddq.faults(), ['duplicate', 'garbage', 'chunks'])
  for (const [title, on] of switches) {
    await tab.getByLabel(title).click()
    await seen(state => on(state) === false)
  }
  await tab.getByText('What the contract leaves open').click()
  await tab.getByLabel('The identifier’s key').selectOption('msgId')
  await seen(() => emulator.ddq.variant.idKey === 'msgId')
})

inBrowser('every call of a client is a button, and says what came of it', async (t, tab) => {
  const said = async (name: string, words: string | RegExp) => {
    await tab.getByRole('button', { name, exact: true }).click()
    await tab.getByText(words).first().waitFor()
  }
  await said('Member login', 'Member login: done')
  await said('User login', 'User login: done')
  await said('Application login', 'Application login: done')
  await said('Gateway call', 'Gateway call: done')
  await said('PUT by XR-Method', 'PUT by XR-Method: done')
  await said('Signed call', 'Signed call: done')
  await said('No credential', /refused: HTTP 401, code 4011001/)
  await said('Wrong token', /Wrong token: refused: HTTP 403, code 4031003/)
  await said('Empty parameter', /Empty parameter: refused: HTTP 400, code 4001002/)
  await said('Version 1 error', /Version 1 error: refused: HTTP 400, code 4001001/)
  await tab.getByLabel('The gateway').selectOption('timeout')
  await said('Gateway call', /Gateway call: refused: HTTP 408, code 4081001/)
  t.equal(emulator.contract.violations().filter(({ by }) => by === 'emulator').length, 0)
})

inBrowser(
  'on a phone nothing is wider than the screen',
  async (t, tab) => {
    t.equal(await tab.evaluate('document.documentElement.scrollWidth'), 390)
  },
  390,
)

t.test('it answers to this machine only, and obeys only itself', async t => {
  const ask = (headers: Record<string, string>) =>
    new Promise<number | undefined>(resolve =>
      request(`${address}/state`, { headers }, response => {
        response.resume()
        resolve(response.statusCode)
      }).end(),
    )
  t.equal(await ask({}), 200)
  t.equal(await ask({ host: 'evil.example' }), 403)
  t.equal(await ask({ origin: 'http://evil.example' }), 403)
})

t.test('what there is not is not found', async t => {
  const post = async (path: string, body: object) =>
    (
      await fetch(address + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    ).status
  t.equal(await post('/act', { device: '1', action: 'offline' }), 404)
  t.equal(await post('/act', { device: '1144502133', action: 'alarm', rule: 'none' }), 404)
  t.equal(await post('/act', { device: '1144502133', action: 'explode' }), 400)
  t.equal(await post('/fault', { name: 'none', on: true }), 400)
  t.equal(await post('/callback', { url: 'nowhere', corpId: '', token: '', channel: 'email' }), 404)
})
