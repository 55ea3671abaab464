import { VALIDITY_UNIT } from '../../src/messages/kinds.ts'
import { hostOf } from '../../src/messages/links.ts'
import type { NewMessage } from '../../src/messages/message.ts'
import { type Sample, sampleMessage, samples } from '../../src/messages/samples.ts'
import { countSegments } from '../../src/messages/sms-segments.ts'
import type { MailView } from '../../src/words/mails.ts'
import type { Renderer } from '../../src/words/render.ts'

/** Gmail clips a message at about 102 KB; half a screenful of markup is plenty for one button. */
const HTML_MAX = 30 * 1024
/** The links that a reader must get byte for byte: a code after `#!`, markup's own characters, what Liquid would take. */
const LINKS = [
  'https://console.example.com/#!activate/Zm9v+YmFy/==',
  'https://console.example.com/a?b=1&c=2&copy=3&lt=4#d',
  `https://console.example.com/?q="x'y<z>&w={{brand.name}}{%if%}`,
]
/** A value by which it shows when a parameter is printed unescaped, or compiled. */
const HOSTILE = `<b id=x>&amp;"'{{ brand.name }}{% if %}`
const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}]/u
/** A value that reads `25.7-` in a text from right to left, unless a mark stands before it, or it begins the line. */
const NEGATIVE = '-25.7'
const MISPLACED = /[^\s\u200e\u2066\u2068][ \t]*-25\.7/
/** What is a code, a time or measured: names and ids begin with a letter, or are digits. */
const MEASURED: ReadonlySet<string> = new Set(['code', 'verifycode', 'current', 'values', 'time', 'since'])
/** What `, valid for 5 minutes` takes. A Latin text leaves it out behind a Chinese brand, which halves the one segment that is paid. */
const VALIDITY_UNITS = 20
/** In the languages that come with the service, and German, which the docs show. */
const BUTTON = /\bbutton\b|按钮|按鈕|\bbotón\b|(?<!\p{L})ال?زر(?!\p{L})|\b(?:Knopf|Schaltfläche)\b/iu
const LIQUID = /\{\{|\{%/

type Report = (fault: string) => void

/**
 * Renders every kind in every language that has words for it, with values by which faults show.
 * @param webotpDomain that the renderer was made with.
 * @returns what a reader would notice, or a mail client.
 */
export function lintTemplates(renderer: Renderer, webotpDomain?: string): readonly string[] {
  const faults: string[] = []
  for (const sample of samples)
    for (const locale of renderer.locales) {
      const kind = `${sample.channel}/${sample.name}`
      const report = (fault: string) => faults.push(`${kind} in ${locale}: ${fault}`)
      if (sample.channel === 'email') lintMail(renderer, sample, locale, report)
      else lintSms(renderer, webotpDomain, sample, locale, report)
    }
  return faults
}

function lintMail(renderer: Renderer, sample: Sample, locale: string, report: Report): void {
  const { kind } = sample
  const message = sampleMessage(sample, locale)
  // A kind that a language leaves out is said in the fallback language.
  const { html, text, dir, locale: said } = renderer.viewMail(message)

  const size = Buffer.byteLength(html)
  if (size > HTML_MAX) report(`the html has ${size} bytes, over ${HTML_MAX}`)
  for (const found of html.matchAll(REMOTE))
    report(`loads something from elsewhere: ${found[0].slice(0, 40)}`)
  for (const attribute of [`lang="${said}"`, `dir="${dir}"`]) {
    // Gmail drops the html element, and with it what it says.
    for (const element of ['html', 'body'])
      if (!new RegExp(`<${element}\\b[^>]*\\b${attribute}`).test(html))
        report(`the ${element} element does not say ${attribute}`)
  }
  if (BUTTON.test(text)) report('the text speaks of a button, and has none')

  for (const key of kind?.params ?? []) {
    if (key === kind?.linkParam) lintLinks(renderer, message, key, report)
    else if (key === VALIDITY_UNIT.email) lintValidity(renderer, message, report)
    else {
      lintParameter(renderer.viewMail(withParam(message, key, HOSTILE)), key, report)
      lintOrder(renderer.viewMail(withParam(message, key, NEGATIVE)).text, key, report)
    }
  }
  if (message.content.plain !== undefined) {
    const hostile = { ...message, content: { ...message.content, plain: HOSTILE } }
    lintParameter(renderer.viewMail(hostile), 'plain_email', report)
  }
  if (LIQUID.test(html + text)) report('Liquid is left in the message')
}

/** @param text with a parameter `key` that is NEGATIVE */
function lintOrder(text: string, key: string, report: Report): void {
  if (MEASURED.has(key) && RIGHT_TO_LEFT.test(text) && MISPLACED.test(text))
    report(`the text shows ${key} without U+200E before it: a sign would stand on its other side`)
}

/** @param view a mail whose parameter `key` is HOSTILE */
function lintParameter({ html, text }: MailView, key: string, report: Report): void {
  if (html.includes('<b id=x>')) report(`the html prints ${key} unescaped`)
  else if (!unescapeHtml(html).includes(HOSTILE)) report(`the html does not show ${key}`)
  if (!text.includes(HOSTILE)) report(`the text does not show ${key}`)
}

function lintLinks(renderer: Renderer, message: NewMessage, key: string, report: Report): void {
  for (const url of LINKS) {
    const { html, text } = renderer.viewMail(withParam(message, key, url))
    const hrefs = [...html.matchAll(/\bhref="([^"]*)"/g)].map(match => unescapeHtml(match[1] ?? ''))
    const visible = unescapeHtml(html.replace(/<style[^]*?<\/style>|<[^>]*>/g, ''))
    // The button, and the link as text.
    if (hrefs.filter(each => each === url).length !== 2)
      report(`no link of the html leads exactly to ${key} (${url.slice(0, 36)}…)`)
    if (!visible.includes(url)) report(`the html does not show ${key} as text (${url.slice(0, 36)}…)`)
    if (!text.includes(url)) report(`the text does not show ${key} (${url.slice(0, 36)}…)`)
    for (const [part, shown] of Object.entries({ html: visible, text }))
      if (!shown.replaceAll(url, '').includes(hostOf(url)))
        report(`the ${part} does not name the host of ${key}`)
  }
}

function lintValidity(renderer: Renderer, message: NewMessage, report: Report): void {
  const key = VALIDITY_UNIT.email
  const [one, other] = ['7', '11'].map(value => renderer.viewMail(withParam(message, key, value)))
  if (one?.html === other?.html) report(`the html does not say how long it is valid (${key})`)
  if (one?.text === other?.text) report(`the text does not say how long it is valid (${key})`)
}

function lintSms(
  renderer: Renderer,
  webotpDomain: string | undefined,
  sample: Sample,
  locale: string,
  report: Report,
): void {
  const { kind, content } = sample
  const message = sampleMessage(sample, locale)
  const textOf = (changed: NewMessage) => {
    const outgoing = renderer.render(changed)
    return outgoing.channel === 'sms' ? outgoing.text() : ''
  }
  const code = content.params['code']
  const text = textOf(message)
  const { segments, encoding, units } = countSegments(text)
  if (segments > 1) report(`takes ${segments} segments (${encoding}, ${units})`)
  if (webotpDomain !== undefined && code !== undefined && !text.endsWith(`\n@${webotpDomain} #${code}`))
    report('has no room for the line that fills the code in')
  if (LIQUID.test(text)) report('Liquid is left in the message')
  for (const key of kind?.params ?? []) lintOrder(textOf(withParam(message, key, NEGATIVE)), key, report)
  for (const key of kind?.required ?? []) {
    const text = textOf(withParam(message, key, 'x{{code}}y'))
    if (!text.includes('x{{code}}y')) report(`the text does not show ${key} as it is`)
  }
  if (content.plain !== undefined) {
    const text = textOf({ ...message, content: { ...message.content, plain: 'a<b>&"{{x}}' } })
    if (!text.includes('a<b>&"{{x}}')) report('does not show plain_sms as it is')
  }
  // With the WebOTP line only the shorter variants count, since they may leave it out.
  const unit = VALIDITY_UNIT.sms
  if (webotpDomain === undefined && kind?.params.includes(unit)) {
    const [one, other] = ['7', '11'].map(value => textOf(withParam(message, unit, value)))
    const hasRoom = countSegments(`${one}${' '.repeat(VALIDITY_UNITS)}`).segments === 1
    if (one === other && hasRoom) report(`does not say how long it is valid (${unit})`)
  }
}

function withParam(message: NewMessage, key: string, value: string): NewMessage {
  return { ...message, content: { ...message.content, params: { ...message.content.params, [key]: value } } }
}

/** Markup for which a mail client fetches something: pictures, sheets, scripts, frames, fonts. Links do not. */
const REMOTE =
  /<(?:img|script|link|iframe|frame|object|embed|video|audio|source|input|base)\b[^>]*(?:src|href|data|srcset)\s*=\s*["']?\s*(?!cid:|data:)[^\s>]*|\burl\(\s*["']?(?!data:|cid:)[^)]*|@import[^;]*|\bbackground\s*=\s*["'][^"']*/gi

function unescapeHtml(html: string): string {
  return html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&#34;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
}
