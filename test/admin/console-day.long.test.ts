import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { noBrowser, openBrowser } from '../rigs/browser.ts'
import { mailBody, type ServiceRig, smsBody, startRig, until } from '../rigs/service.ts'

const HOUR = 3_600_000

/** The service started as many hours ago as said, so that a day fits into seconds. */
const hoursAgo = (hours: number) => ({ wall: () => Date.now() - hours * HOUR })

const code = (to: string, digits: string) =>
  mailBody({ to, subject: 'Your code' }, { type: 5, url: undefined, code: digits, hour: '0.5' })

const settled = (rig: ServiceRig, state: string, count: number) =>
  until(
    () => rig.events().filter(each => each['event'] === 'final' && each['state'] === state).length >= count,
    `${count} ${state}`,
  )

/** Takes the pictures of docs/console.md: `PICTURES=docs/images npm test -- test/admin/console-day.long.test.ts`. */
const PICTURES = process.env['PICTURES']
const take = async (page: Page, name: string) =>
  PICTURES !== undefined && page.screenshot({ path: `${PICTURES}/console-${name}.png` })

const ADMIN_TOKENS = 'of-the-operator-Yv7gQm2sLp9r'

t.test('a day with an outage, in a browser', { skip: noBrowser }, async t => {
  const rig = await startRig(t, { ADMIN_TOKENS, QUOTAS: 'recipient-10m=off sms-prefix-10m=off' }, hoursAgo(9))
  const browser = await openBrowser()
  t.teardown(() => browser.close())
  const errors: string[] = []
  const open = async (options: object): Promise<Page> => {
    const httpCredentials = { username: 'ann', password: ADMIN_TOKENS }
    const page = await browser.newPage({
      viewport: { width: 1180, height: 900 },
      httpCredentials,
      ...options,
    })
    page.on('pageerror', error => errors.push(error.message))
    page.on('console', line => line.type() === 'error' && errors.push(line.text()))
    return page
  }
  const page = await open({})
  const look = async (path = '/console') => {
    await page.goto(`${rig.service().adminUrl}${path}`)
    return page.locator('main').innerText()
  }

  // The morning: all goes well.
  for (let n = 0; n < 12; n += 1)
    await rig.post('email', code(`morning${n}@example.com`, String(200_000 + n)))
  for (let n = 0; n < 5; n += 1)
    await rig.post('sms', smsBody({ to: `1380013800${n}` }, { code: String(300_000 + n) }))
  await rig.validate('email')
  await settled(rig, 'sent', 17)

  // Noon: the mail server refuses our login; what waits is seen with its cause.
  await rig.restart({}, hoursAgo(4))
  rig.smtp.act = ({ step }) =>
    step === 'AUTH' ? { is: 'say', reply: '535 5.7.8 authentication failed' } : undefined
  for (let n = 0; n < 8; n += 1) await rig.post('email', code(`noon${n}@example.com`, String(400_000 + n)))
  const outage = await look()
  t.match(outage, /Failing: smtp has failed for .*535/s)
  t.match(outage, 'This is ours to mend')
  await take(page, 'outage')
  const phone = await open({ viewport: { width: 360, height: 800 } })
  await phone.goto(page.url())
  await take(phone, 'phone')
  // The service is about to be restarted, and the page looks for news of it.
  await phone.goto('about:blank')
  const waiting = await look('/console/messages?state=queued')
  t.match(waiting, 'waiting')
  t.match(waiting, '535')
  await take(page, 'waiting')
  await page.locator('tbody tr', { hasText: '535' }).first().getByRole('link').click()
  await page.getByRole('button', { name: 'Try now' }).waitFor()
  await take(page, 'message')

  // Hours later their codes have expired, and nobody was sent one that no longer works.
  // Until it has ended, the service of noon tries what waits: the mail server is mended only then.
  await rig.restart({}, hoursAgo(0))
  rig.smtp.act = undefined
  await settled(rig, 'expired', 8)
  for (let n = 0; n < 6; n += 1) await rig.post('email', code(`evening${n}@example.com`, String(500_000 + n)))
  await settled(rig, 'sent', 23)
  const evening = await look('/console?period=day')
  t.match(evening, /E-mail\s+\d+\s+0\s+0\s+8\s+0\s+0/)
  t.notMatch(evening, /Failing/)
  t.equal(rig.smtp.mails.filter(mail => mail.to.join().startsWith('noon')).length, 0)

  // Live: a new message appears without a reload.
  await page.goto(`${rig.service().adminUrl}/console/messages`)
  await rig.post('email', code('late@example.net', '600001'))
  await page.getByText('l***@example.net').waitFor({ timeout: 15_000 })

  // "A customer did not get the code": three clicks at most from the question to the answer.
  await page.goto(`${rig.service().adminUrl}/console`)
  await page.getByLabel('A customer did not get the code?').fill('noon3@example.com')
  await page.getByRole('button', { name: 'Find' }).click()
  await page.locator('tbody a').first().click()
  await page.getByText('No provider took it before its life ended').waitFor()
  await page.getByText('The person has to ask for a new one').waitFor()

  await walkByKeyboard(t, page, rig)
  const plain = await open({
    javaScriptEnabled: false,
    colorScheme: 'dark',
  })
  for (const path of [
    '/console',
    '/console/messages',
    '/console/templates',
    '/console/send',
    '/console/urls',
  ]) {
    await plain.goto(`${rig.service().adminUrl}${path}`)
    t.ok((await plain.locator('main').innerText()).length > 20, `${path} works without JavaScript`)
  }
  t.same(errors, [], 'no script failed and nothing was blocked')
})

async function walkByKeyboard(t: Test, page: Page, rig: ServiceRig): Promise<void> {
  await page.goto(`${rig.service().adminUrl}/console`)
  await page.keyboard.press('Tab')
  t.equal(await page.evaluate('document.activeElement.textContent'), 'To the content')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/console/messages')
  t.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'Messages')
  t.equal(await page.getByRole('navigation').locator('[aria-current=page]').innerText(), 'Messages')
  await page.getByLabel('Recipient, in full').fill('late@example.net')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/console/messages?who=*')
  t.equal(await page.locator('tbody tr').count(), 1)
  await page.locator('tbody a').click()
  await page.getByText('Timeline').waitFor()
}
