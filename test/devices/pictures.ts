import { join } from 'node:path'
import { createSandboxPage } from '../../sandbox/page.ts'
import { startSandbox } from '../../sandbox/sandbox.ts'
import { openBrowser } from '../rigs/browser.ts'

/**
 * Takes the picture of docs/alerts.md: `node test/devices/pictures.ts docs/images`.
 * A device goes offline and comes back, another breaks a rule and recovers; on the left the platform on which that
 * happens, on the right the mails and SMS that come of it.
 */
const out = process.argv[2] ?? '.'
const SIZE = { width: 1180, height: 860 }

let changed = () => {}
const stage = await startSandbox({ ports: { callbacks: 0, admin: 0 }, settings: {} }, () => changed())
const page = createSandboxPage(stage)
changed = () => page.changed()
const sandbox = await page.listen(0)
stage.linkDevicesTo(sandbox)
const browser = await openBrowser()
const open = async (url: string) => {
  const tab = await browser.newPage({ viewport: SIZE })
  await tab.goto(url)
  await tab.getByText('Live', { exact: true }).waitFor()
  return tab
}
const devices = await open(stage.about.devicesUrl ?? '')
const mails = await open(sandbox)

await devices.getByText(/1 connected, 3 topics/).waitFor({ timeout: 15_000 })
const [freezer, second] = ['Freezer 3, warehouse north', 'Freezer 4, warehouse north'].map(name =>
  devices.getByRole('article', { name }),
)
let expected = 0
async function press(card: typeof freezer, name: string): Promise<void> {
  await card?.getByRole('button', { name }).first().click()
  expected += 1
  for (
    let tries = 0;
    stage.standIns.mails().length < expected || stage.standIns.sms().length < expected;
    tries += 1
  ) {
    if (tries > 500) throw new Error(`nothing came of "${name}"`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  // As people press buttons: so that what happened has a time of its own.
  await new Promise(resolve => setTimeout(resolve, 1500))
}
await press(second, 'Go offline')
await press(freezer, 'Alarm')
await press(freezer, 'Recover')
await press(second, 'Come online')
await press(freezer, 'Alarm')

await mails.getByRole('listbox', { name: /Inbox/ }).getByRole('option').first().click()
await mails.waitForTimeout(800)
const [left, right] = [await devices.screenshot(), await mails.screenshot()]
const both = await browser.newPage({ viewport: { width: SIZE.width * 2 + 48, height: SIZE.height + 32 } })
const shown = (picture: Buffer) =>
  `<img style="border-radius: 10px; box-shadow: 0 2px 18px #0004" width="${SIZE.width}" src="data:image/png;base64,${picture.toString('base64')}">`
await both.setContent(
  `<body style="margin: 16px; display: flex; gap: 16px; background: #b9bec7">${shown(left)}${shown(right)}`,
)
await both.screenshot({ path: join(out, 'alerts.png'), fullPage: true })
await browser.close()
await page.close()
await stage.close()
