import nodemailer from 'nodemailer'
import { englishIn } from '../language/english.ts'
import { inBrowser, inbox, press, stage } from './page-rig.ts'

inBrowser('a mail is shown as its reader gets it, and in every other form', async (t, tab) => {
  await tab.getByText('Nothing has arrived yet').waitFor()
  await press(tab, 'E-mail', 'Phone change')
  await inbox(tab)
    .getByRole('option', { name: /Change your phone number/ })
    .waitFor()
  const [mail] = stage.standIns.mails()
  const code = /\d{6}/.exec(mail?.text ?? '')?.[0] ?? 'none'
  const frame = tab.frameLocator('iframe')
  await frame.getByText(code, { exact: true }).waitFor()
  t.match(await tab.locator('.reader header').innerText(), 'bounces@courier.example → lin.wei@example.com')
  await tab.getByRole('tab', { name: 'Text' }).click()
  t.match(await tab.locator('.reader pre').innerText(), code)
  await tab.getByRole('tab', { name: 'Source' }).click()
  t.match(await tab.locator('.reader pre').innerText(), 'Auto-Submitted: auto-generated')
  const [download] = await Promise.all([
    tab.waitForEvent('download'),
    tab.getByRole('link', { name: /Download/ }).click(),
  ])
  t.equal(download.suggestedFilename(), `mail-${mail?.id}.eml`)
})

inBrowser('an SMS is shown as a phone shows it, with its segments counted', async (t, tab) => {
  await press(tab, 'SMS', 'Login code')
  const bubble = tab.locator('.bubble')
  await bubble.waitFor()
  const [sms] = stage.standIns.sms()
  t.equal(await bubble.innerText(), sms?.body)
  t.match(await tab.locator('.cost').innerText(), /^1 segment UCS-2, \d+ of 70, by Aliyun$/)
  t.match(await tab.locator('.thread').innerText(), 'to +8613800138000')
  await tab.locator('#to-sms').fill('+12025550100')
  await press(tab, 'SMS', 'Login code')
  await bubble.nth(1).waitFor()
  const text = await tab.locator('.cost').nth(1).innerText()
  t.match(text, /^1 segment GSM-7, \d+ of 160, valid 5 min, by Twilio$/)
})

inBrowser('everything can be reached and used with the keyboard', async (t, tab) => {
  for (const name of ['File', 'Phone change']) {
    await tab.getByRole('group', { name: 'E-mail callback' }).getByRole('button', { name }).focus()
    await tab.keyboard.press('Enter')
    await tab
      .locator('#mails li')
      .nth(name === 'File' ? 0 : 1)
      .waitFor()
  }
  const chosen = tab.locator('#mails li[aria-selected=true] .subject')
  await inbox(tab).focus()
  await tab.keyboard.press('ArrowDown')
  await chosen.filter({ hasText: 'Your export is ready' }).waitFor()
  await tab.keyboard.press('Home')
  await chosen.filter({ hasText: 'Change your phone number' }).waitFor()
  await tab.locator('.reader h3', { hasText: 'Change your phone number' }).waitFor()
  await tab.getByRole('tab', { name: 'HTML' }).focus()
  await tab.keyboard.press('ArrowRight')
  t.equal(await tab.getByRole('tab', { name: 'Text' }).getAttribute('aria-selected'), 'true')
  await tab.locator('.reader pre').waitFor()
})

inBrowser('a mail runs no script, fetches nothing and does not leave its frame', async (t, tab) => {
  const hostile = `<script>top.document.title = 'script'</script>
    <img src="x" onerror="top.document.title = 'handler'"><img src="https://attacker.example/pixel.png">
    <link rel="stylesheet" href="https://attacker.example/style.css">
    <style>@import url(https://attacker.example/import.css);</style>
    <form action="https://attacker.example/"><button>Send</button></form>
    <meta http-equiv="refresh" content="0; url=https://attacker.example/"><p>the end</p>`
  const mailer = nodemailer.createTransport({
    host: '127.0.0.1',
    port: Number(new URL(stage.standIns.addresses[0]?.url ?? '').port),
    ignoreTLS: true,
  })
  await mailer.sendMail({
    from: 'x@example.com',
    to: 'y@example.com',
    subject: '<img src=x onerror=alert(1)>',
    html: hostile,
  })
  const frame = tab.frameLocator('iframe')
  await frame.getByText('the end').waitFor()
  await frame.getByRole('button', { name: 'Send' }).click()
  await tab.waitForTimeout(300)
  t.equal(await tab.title(), 'callback-courier sandbox')
  t.equal(await tab.locator('.reader h3').innerText(), '<img src=x onerror=alert(1)>')
})

inBrowser(
  'at phone width one part is shown at a time, and nothing sticks out',
  async (t, tab) => {
    const view = (name: RegExp) =>
      tab.getByRole('navigation', { name: 'Parts of this page' }).getByRole('button', { name }).click()
    await press(tab, 'E-mail', 'Activation code')
    await press(tab, 'SMS', 'Login code')
    await view(/^Mail 1$/)
    await inbox(tab).getByRole('option').click()
    await tab.frameLocator('iframe').getByRole('heading', { name: 'Your verification code' }).waitFor()
    t.notOk(await inbox(tab).isVisible())
    await tab.getByRole('button', { name: 'Inbox' }).click()
    t.ok(await inbox(tab).isVisible())
    await view(/^SMS 1$/)
    t.ok(await tab.locator('.bubble').isVisible())
    for (const name of [/^Play$/, /^Mail/, /^SMS/, /^Answers$/]) {
      await view(name)
      t.equal(await tab.evaluate('document.documentElement.scrollWidth'), 360)
    }
  },
  { viewport: { width: 360, height: 740 }, colorScheme: 'dark' },
)

/** What a reader of the page reads or hears, but for what arrived, the log and what was answered. */
const READABLE = `(() => {
  const page = document.body.cloneNode(true)
  for (const element of page.querySelectorAll('iframe, pre, code, .preview, .subject, .people, .envelope-line code, .bubble, .log, .msg, h3, script, time')) element.remove()
  const spoken = [...page.querySelectorAll('[aria-label], [title]')].flatMap(each => [each.getAttribute('aria-label'), each.title])
  return [...page.querySelectorAll('*')].flatMap(each => [...each.childNodes].filter(node => node.nodeType === 3).map(node => node.data)).concat(spoken).join('\\n')
})()`

inBrowser(
  'for a Chinese reader it is in Chinese',
  async (t, tab) => {
    const read = async (at: string) => {
      const text = await tab.evaluate<string>(READABLE)
      const names = [
        ...'lin.wei lin wei corp_id .eml callback-courier Twilio HTML GSM UCS STARTTLS HTTP example com err_code OK'.split(
          ' ',
        ),
        'RCPT TO',
        'Lin Wei',
        ' ms',
      ]
      const known = text.replaceAll(/^(?:阿里云|腾讯云)：.*$/gm, '')
      t.same([...new Set(englishIn(known, names))], [], at)
    }
    await read('nothing has arrived')
    const faults = await tab.locator('#fault-sms option').allTextContents()
    t.ok(faults.length > 150)
    for (const each of faults.filter(text => !text.includes('MFA')))
      t.match(each.replace(/^.*?：/, ''), /\p{Script=Han}/u, each)
    await tab.getByRole('button', { name: '登录验证码' }).click()
    await tab.getByRole('button', { name: '更换手机号' }).click()
    await tab.locator('.bubble').waitFor()
    await tab.locator('#mails li').waitFor()
    await read('a mail and an SMS')
    for (const name of ['源码', '纯文本', '服务的日志', '接入您自己的程序']) {
      await tab.getByRole('tab', { name }).click()
      await read(name)
    }
    t.equal(await tab.evaluate('document.documentElement.lang'), 'zh-CN')
  },
  { viewport: { width: 1280, height: 800 }, locale: 'zh-CN' },
)
