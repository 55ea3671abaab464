import { address, emulator, inBrowser } from './page-rig.ts'

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
  { viewport: { width: 390, height: 900 } },
)
