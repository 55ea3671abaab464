import t from 'tap'
import { createEmulator } from '../../../sandbox/emulator/emulator.ts'
import { createEmulatorPage } from '../../../sandbox/emulator/page.ts'
import { browserTests } from '../../rigs/browser.ts'

let changed = () => {}
export const emulator = await createEmulator({ changed: () => changed() })
const page = createEmulatorPage({ emulator, sandboxUrl: () => 'http://127.0.0.1:8025/' })
changed = () => page.changed()
export const address = await page.listen(0)
t.teardown(async () => {
  await page.close()
  await emulator.close()
})
export const inBrowser = browserTests(address, () => emulator.clear(), {
  viewport: { width: 1400, height: 900 },
})
