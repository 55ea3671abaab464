import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Channel } from '../messages/message.ts'
import { type Sample, sampleMessage, samples } from '../messages/samples.ts'
import { countSegments, type Segments } from '../messages/sms-segments.ts'
import type { MailView } from './mails.ts'
import type { Renderer } from './render.ts'

/**
 * Renders one sample: for the console and for files.
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
 * Writes every kind in every language into a directory: `mail/KIND.LOCALE.html` and `.txt`, `sms/KIND.LOCALE.txt`.
 * @param locales only these languages
 * @throws Error of node:fs when it cannot be written
 */
export async function writePreviews(
  renderer: Renderer,
  out: string,
  locales: readonly string[] = renderer.locales,
): Promise<void> {
  const all = samples.flatMap(sample => locales.map(locale => previewOf(renderer, sample, locale)))
  for (const folder of ['mail', 'sms']) await mkdir(join(out, folder), { recursive: true })
  for (const one of all) {
    const name = `${one.kind}.${one.locale}`
    if (one.channel === 'sms') await writeFile(join(out, 'sms', `${name}.txt`), `${one.text}\n`)
    else {
      await writeFile(join(out, 'mail', `${name}.html`), one.mail.html)
      await writeFile(join(out, 'mail', `${name}.txt`), one.mail.text)
    }
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
