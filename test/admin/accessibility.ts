import type { Test } from 'tap'
import { openBrowser } from '../rigs/browser.ts'
import { mailBody, type ServiceRig, smsBody, startRig, until } from '../rigs/service.ts'

/** Text whose contrast with what is behind it is below WCAG 2.1 AA (1.4.3), as `text: ratio`. */
const TOO_FAINT = `(() => {
  const channel = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
  const numbers = color => color.match(/[\\d.]+/g).map(Number)
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b)
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const [r, g, b, a = 1] = numbers(getComputedStyle(at).backgroundColor)
      if (a === 1) return [r, g, b]
    }
    return [255, 255, 255]
  }
  const found = []
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim() !== '')
    if (!own && !element.matches('input, select')) continue
    if (!element.checkVisibility() || element.matches('.unseen, .skip, option')) continue
    const style = getComputedStyle(element)
    const [one, two] = [luminance(numbers(style.color)), luminance(behind(element))].sort((a, b) => b - a)
    const ratio = (one + 0.05) / (two + 0.05)
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700)
    if (ratio < (large ? 3 : 4.5)) found.push(element.textContent.trim().slice(0, 40) + ': ' + ratio.toFixed(2))
  }
  return found
})()`

/** Edges of what can be typed into or pressed, against the page: 3 to 1 (1.4.11). */
const FAINT_EDGES = `(() => {
  const channel = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
  const luminance = color => { const [r, g, b] = color.match(/[\\d.]+/g).map(Number); return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b) }
  const card = luminance(getComputedStyle(document.querySelector('.card')).backgroundColor)
  return [...document.querySelectorAll('input, select, button')].flatMap(element => {
    const [one, two] = [card, luminance(getComputedStyle(element).borderTopColor)].sort((a, b) => b - a)
    const ratio = (one + 0.05) / (two + 0.05)
    return ratio < 3 ? [element.name + ' ' + ratio.toFixed(2)] : []
  })
})()`

/** What a screen reader would stumble over. */
const UNNAMED = `(() => {
  const found = []
  const say = (what, element) => found.push(what + ': ' + element.outerHTML.slice(0, 80))
  for (const field of document.querySelectorAll('input:not([type=hidden]), select, textarea')) if (!field.labels?.length && !field.ariaLabel) say('no label', field)
  for (const link of document.querySelectorAll('a, button')) if (!(link.ariaLabel || link.textContent).trim()) say('no name', link)
  for (const table of document.querySelectorAll('table')) if (!table.caption?.textContent.trim()) say('no caption', table)
  for (const head of document.querySelectorAll('th')) if (!head.scope) say('no scope', head)
  for (const image of document.querySelectorAll('img, svg')) if (!image.ariaLabel && image.ariaHidden !== 'true') say('no words', image)
  for (const frame of document.querySelectorAll('iframe')) if (!frame.title) say('no title', frame)
  const ids = [...document.querySelectorAll('[id]')].map(each => each.id)
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push('twice: ' + id)
  let level = 0
  for (const heading of document.querySelectorAll('h1, h2, h3, h4')) {
    const next = Number(heading.tagName[1])
    if (next > level + 1) say('a level is left out', heading)
    level = next
  }
  if (document.querySelectorAll('h1').length !== 1) found.push('not one h1')
  if (document.documentElement.lang === '') found.push('no language')
  for (const name of ['header', 'nav', 'main']) if (!document.querySelector(name)) found.push('no ' + name)
  return found
})()`

const ADMIN_TOKENS = 'of-the-operator-Yv7gQm2sLp9r'

async function fill(rig: ServiceRig): Promise<readonly string[]> {
  await rig.post('sms', smsBody())
  rig.smtp.act = ({ step }) => (step === 'AUTH' ? { is: 'say', reply: '535 5.7.8 no' } : undefined)
  await rig.post('email', mailBody())
  await until(
    () => rig.events().some(each => each['event'] === 'attempt' && each['channel'] === 'email'),
    'it',
  )
  await rig.ask(rig.path('email').replace('/email', 'x/email'))
  const headers = { authorization: `Basic ${btoa(`ann:${ADMIN_TOKENS}`)}` }
  const list = await (await fetch(`${rig.service().adminUrl}/console/messages`, { headers })).text()
  const ids = [...list.matchAll(/\/console\/messages\/([0-9a-f]{32})/g)].map(([path]) => path)
  return [
    '/console',
    '/console/messages',
    '/console/messages?state=expired',
    '/console/today',
    ...ids,
    '/console/templates',
    '/console/templates/email/member-alarm/en',
    '/console/templates/sms/login-code/ar',
    '/console/send',
    '/console/urls',
    '/console/nowhere',
  ]
}

/** Every moment of a page as it is read, and as the pointer over it shows it. */
const MOMENTS = `[...document.querySelectorAll('time[title]:not(.axis *)')].map(each => [each.textContent, each.title])`

/** Looks at the console's pages, narrow, light and dark, with the eyes of who sees little and of who sees nothing. */
export async function lookAtPages(t: Test): Promise<void> {
  const rig = await startRig(t, { EMAIL_TOKEN_PREVIOUS: 'anOldTokenOfGoodLength', ADMIN_TOKENS })
  const paths = await fill(rig)
  t.ok(paths.length > 9)
  const browser = await openBrowser()
  t.teardown(() => browser.close())
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await browser.newPage({
      viewport: { width: 360, height: 740 },
      colorScheme,
      timezoneId: 'Asia/Shanghai',
      httpCredentials: { username: 'ann', password: ADMIN_TOKENS },
    })
    for (const path of paths) {
      await page.goto(`${rig.service().adminUrl}${path}`)
      const at = `${path.replace(/[0-9a-f]{32}/, 'ID')}, ${colorScheme}`
      t.same(await page.evaluate(TOO_FAINT), [], `${at}: text can be read`)
      t.same(await page.evaluate(FAINT_EDGES), [], `${at}: fields can be seen`)
      t.same(await page.evaluate(UNNAMED), [], `${at}: all has a name`)
      const over = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
      t.equal(await page.evaluate(over), 0, `${at}: 360 pixels are enough`)
      for (const [here, utc] of await page.evaluate<[string, string][]>(MOMENTS))
        t.equal(Date.parse(`${here}+08:00`), Date.parse(utc.replace(' UTC', 'Z')), `${at}: ${here} is ${utc}`)
    }
    await page.close()
  }
}
