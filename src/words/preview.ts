import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type ReaderLanguage, say, translateText } from '../language/sentence.ts'
import type { Channel } from '../messages/message.ts'
import { type Sample, sampleMessage, samples } from '../messages/samples.ts'
import { countSegments, type Segments } from '../messages/sms-segments.ts'
import { escapeHtml } from '../runtime/html.ts'
import type { MailView } from './mails.ts'
import type { Renderer } from './render.ts'

/**
 * Renders one sample: for the console and the gallery.
 * @param kind a kind's name, or `plain`
 * @returns null when there is no such kind of that channel
 */
export function renderPreview(
  renderer: Renderer,
  channel: Channel,
  kind: string,
  locale: string,
): Preview | null {
  const sample = samples.find(one => one.channel === channel && one.name === kind)
  return sample ? previewOf(renderer, sample, locale) : null
}

/**
 * Writes every kind in every language, mails first, into a directory: `mail/KIND.LOCALE.html` and `.txt`, `sms/KIND.LOCALE.txt`, and
 * `index.html` to look through them.
 * @param locales only these languages
 * @param language of the index around them.
 * @returns the path of the index
 * @throws Error of node:fs when it cannot be written
 */
export async function writeGallery(
  renderer: Renderer,
  out: string,
  locales: readonly string[] = renderer.locales,
  language: ReaderLanguage = 'en',
): Promise<string> {
  const all = samples.flatMap(sample => locales.map(locale => previewOf(renderer, sample, locale)))
  for (const folder of ['mail', 'sms']) await makeFolder(join(out, folder))
  for (const one of all) {
    const name = `${one.kind}.${one.locale}`
    if (one.channel === 'sms') await writeFile(join(out, 'sms', `${name}.txt`), `${one.text}\n`)
    else {
      await writeFile(join(out, 'mail', `${name}.html`), one.mail.html)
      await writeFile(join(out, 'mail', `${name}.txt`), one.mail.text)
    }
  }
  const index = join(out, 'index.html')
  await writeFile(index, galleryPage(all, language))
  return index
}

/** Makes a folder and those that it is in. Node's own way to do so never ends where a file system has no room for folders, such as /proc. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return
    if (code !== 'ENOENT' || dirname(path) === path) throw error
    await makeFolder(dirname(path))
    await mkdir(path)
  }
}

function previewOf(renderer: Renderer, sample: Sample, locale: string): Preview {
  const message = sampleMessage(sample, locale)
  const { channel, name: kind } = sample
  if (channel === 'email') return { channel, kind, locale, mail: renderer.viewMail(message) }
  const outgoing = renderer.render(message)
  const text = outgoing.channel === 'sms' ? outgoing.text() : ''
  return { channel, kind, locale, text, size: countSegments(text) }
}

/** One sample message in one language, as a reader would get it. */
export type Preview = { readonly kind: string; readonly locale: string } & (
  | { readonly channel: 'email'; readonly mail: MailView }
  | { readonly channel: 'sms'; readonly text: string; readonly size: Segments }
)

const STYLE = `
:root { color-scheme: light dark; --page: #f3f4f6; --card: #fff; --text: #16191d; --soft: #5b636e; --rule: #e3e5e9; --bubble: #e7e9ee; }
@media (prefers-color-scheme: dark) { :root { --page: #101216; --card: #1b1e24; --text: #e9ebee; --soft: #a9b0bb; --rule: #2c313a; --bubble: #2b303a; } }
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
header, section { max-width: 1500px; margin: 0 auto; padding: 24px; box-sizing: border-box; }
h1 { font-size: 24px; margin: 0; } h2 { font-size: 18px; margin: 0 0 12px; }
nav a { margin-inline-end: 12px; } a { color: inherit; }
.row { display: grid; grid-auto-flow: column; grid-auto-columns: 375px; gap: 20px; overflow-x: auto; padding-bottom: 12px; }
figure { margin: 0; } figcaption { color: var(--soft); font-size: 13px; margin-bottom: 6px; }
iframe { width: 100%; height: 660px; border: 1px solid var(--rule); border-radius: 10px; background: var(--card); }
.phone { background: var(--card); border: 1px solid var(--rule); border-radius: 22px; padding: 20px 14px; }
.bubble { background: var(--bubble); border-radius: 18px; padding: 10px 14px; max-width: 290px; white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext; }
`

/** The page that shows the gallery's files, kind by kind, each in every language. No script, nothing from elsewhere. */
function galleryPage(all: readonly Preview[], language: ReaderLanguage): string {
  const kinds = [...new Set(all.map(({ channel, kind }) => `${channel}/${kind}`))]
  const sections = kinds.map(key => {
    const own = all.filter(({ channel, kind }) => `${channel}/${kind}` === key)
    const id = key.replace('/', '-')
    return `<section id="${id}"><h2>${titleOf(key, language)}</h2><div class="row">${own.map(each => figure(each, language)).join('')}</div></section>`
  })
  const links = kinds.map(key => `<a href="#${key.replace('/', '-')}">${titleOf(key, language)}</a>`)
  return [
    '<!DOCTYPE html>',
    `<html lang="${language}">`,
    `<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${say('Words and layouts').in(language)}</title><style>${STYLE}</style></head>`,
    `<body><header><h1>${say('What people get to read').in(language)}</h1><nav>${links.join(' ')}</nav></header>`,
    ...sections,
    '</body></html>',
    '',
  ].join('\n')
}

/** @param key such as `sms/login-code` */
function titleOf(key: string, language: ReaderLanguage): string {
  const [channel, kind = ''] = key.split('/')
  const about = say(channel === 'email' ? 'E-mail' : 'SMS')
  return escapeHtml(say('{about}: {what}', { about, what: translateText(kind) }).in(language))
}

function figure(one: Preview, language: ReaderLanguage): string {
  const name = `${one.kind}.${one.locale}`
  if (one.channel === 'sms') {
    const { encoding, units, segments } = one.size
    const billed =
      segments === 1 ? say('billed as 1 segment') : say('billed as {n} segments', { n: segments })
    const cost = `${billed.in(language)}, ${encoding}, ${units}`
    return (
      `<figure><figcaption>${one.locale} · ${cost} · <a href="sms/${name}.txt">${say('text').in(language)}</a></figcaption>` +
      `<div class="phone"><div class="bubble">${escapeHtml(one.text)}</div></div></figure>`
    )
  }
  const size = `${(Buffer.byteLength(one.mail.html) / 1024).toFixed(1)} KB`
  return (
    `<figure><figcaption>${one.locale} · ${size} · <a href="mail/${name}.html">html</a> · <a href="mail/${name}.txt">${say('text').in(language)}</a></figcaption>` +
    `<iframe src="mail/${name}.html" title="${escapeHtml(name)}" sandbox="" loading="lazy"></iframe></figure>`
  )
}
