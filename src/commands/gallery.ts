import type { Renderer } from '../messages/render.ts'
import { type Sample, sampleMessage, samples } from '../messages/samples.ts'
import { segments } from '../messages/segments.ts'

/** One message in one language, as it would go out. */
export type Picture =
  | {
      readonly channel: 'email'
      readonly kind: string
      readonly locale: string
      readonly html: string
      readonly text: string
      readonly subject: string
    }
  | {
      readonly channel: 'sms'
      readonly kind: string
      readonly locale: string
      readonly body: string
      readonly about: string
    }

/** Every kind in every language, from invented parameters. */
export function pictures(
  renderer: Renderer,
  locales: readonly string[] = renderer.locales,
): readonly Picture[] {
  return samples.flatMap(sample => locales.map(locale => picture(renderer, sample, locale)))
}

function picture(renderer: Renderer, sample: Sample, locale: string): Picture {
  const message = sampleMessage(sample, locale)
  const named = { kind: sample.name, locale }
  if (sample.channel === 'email') {
    const { html, text, subject } = renderer.viewMail(message)
    return { channel: 'email', ...named, html, text, subject }
  }
  const outgoing = renderer.render(message)
  const body = outgoing.channel === 'sms' ? outgoing.body : ''
  const { encoding, units, segments: count } = segments(body)
  return {
    channel: 'sms',
    ...named,
    body,
    about: `${count} segment${count === 1 ? '' : 's'}, ${units} ${encoding}`,
  }
}

/** The gallery as files by name: a page for each mail, its text, and an index of all. */
export function galleryFiles(shown: readonly Picture[]): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  for (const picture of shown) {
    const name = fileOf(picture)
    if (picture.channel === 'sms') files.set(`${name}.txt`, `${picture.body}\n`)
    else files.set(`${name}.html`, picture.html).set(`${name}.txt`, picture.text)
  }
  return files.set('index.html', index(shown))
}

function fileOf({ channel, kind, locale }: Picture): string {
  return `${channel}-${kind}-${locale}`
}

function index(shown: readonly Picture[]): string {
  const kinds = [...new Set(shown.map(({ channel, kind }) => `${channel} ${kind}`))]
  const sections = kinds.map(title => {
    const cards = shown.filter(({ channel, kind }) => `${channel} ${kind}` === title).map(card)
    return `<section><h2>${escaped(title)}</h2><div class="row">${cards.join('')}</div></section>`
  })
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Every mail and SMS</title><style>${STYLE}</style>
<h1>Every mail and SMS</h1>
${sections.join('\n')}
</html>
`
}

function card(picture: Picture): string {
  const name = fileOf(picture)
  const head = `<h3>${escaped(picture.locale)} <a href="${name}.txt">text</a>`
  if (picture.channel === 'sms')
    return `<article>${head}</h3><p class="sms" dir="auto">${escaped(picture.body)}</p><p>${picture.about}</p></article>`
  return `<article>${head} <a href="${name}.html">page</a></h3><p dir="auto">${escaped(picture.subject)}</p><iframe src="${name}.html" title="${escaped(name)}" loading="lazy" sandbox></iframe></article>`
}

const STYLE = `:root{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif}body{margin:2rem;max-width:none}
.row{display:flex;gap:1.5rem;overflow-x:auto;padding-bottom:1rem}article{flex:0 0 auto;width:23.5rem}
h3{display:flex;gap:1rem;font-size:1rem;margin:0 0 .5rem}h3 a{font-weight:400}p{margin:.25rem 0}
iframe{width:100%;height:34rem;border:1px solid #8886;border-radius:.75rem;background:#fff}
.sms{white-space:pre-wrap;overflow-wrap:anywhere;background:#8882;border-radius:1rem;padding:.75rem 1rem}`

function escaped(text: string): string {
  const names: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
  return text.replaceAll(/[&<>"]/g, found => names[found] ?? found)
}
