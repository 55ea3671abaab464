import type { Page } from 'playwright-core'
import t from 'tap'
import { noBrowser, openBrowser } from '../rigs/browser.ts'
import { mailBody, startRig, until } from '../rigs/service.ts'
import { lookAtPages } from './accessibility.ts'

t.test('every page, light and dark', { skip: noBrowser }, lookAtPages)

t.test('what is wrong is read out when it changes, not while it lasts', { skip: noBrowser }, async t => {
  const rig = await startRig(t)
  const browser = await openBrowser()
  t.teardown(() => browser.close())
  const page = await browser.newPage()
  await page.goto(`${rig.service().adminUrl}/console`)
  const news = page.getByRole('status')
  t.equal(await news.innerText(), '', 'nothing has changed since it was loaded')

  rig.smtp.act = ({ step }) => (step === 'AUTH' ? { is: 'say', reply: '535 5.7.8 no' } : undefined)
  await rig.post('email', mailBody())
  await until(async () => (await news.innerText()).includes('535'), 'the outage is read out')
  const heard = await count(page)
  const shown = () => page.locator('.causes').innerText()
  const before = await shown()
  await until(async () => (await shown()) !== before, 'its duration has gone on')
  t.equal(await heard(), 0, 'and nothing was read out')
})

/** Counts changes of what is read out, from now on. */
async function count(page: Page): Promise<() => Promise<unknown>> {
  await page.evaluate(
    'window.heard = 0; new MutationObserver(() => { window.heard += 1 }).observe(document.getElementById("news"), { childList: true })',
  )
  return () => page.evaluate('window.heard')
}
