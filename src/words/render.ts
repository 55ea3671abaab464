import { parsePhoneNumberFromString } from 'libphonenumber-js/max'
import { findKind, PLAIN_KIND } from '../messages/kinds.ts'
import type {
  Content,
  NewMessage,
  Outgoing,
  OutgoingSms,
  PluginSender,
  SmsSender,
} from '../messages/message.ts'
import type { Sample } from '../messages/samples.ts'
import { countSegments } from '../messages/sms-segments.ts'
import { createMailRenderer, type EncodedMail, type MailView } from './mails.ts'
import { type ComposerOptions, createComposer } from './mime.ts'
import type { TemplateProblem } from './template-files.ts'
import { type Brand, type BrandSettings, createBrand, scopeOf, webotpLine } from './template-variables.ts'
import { createTemplates, type Templates, type TemplatesOptions } from './templates.ts'

export interface RendererOptions {
  readonly brand: BrandSettings
  /** Language of the words, BCP 47. */
  readonly locale: string
  /** ISO 3166 country of a number to the language of its SMS. */
  readonly localeByCountry?: ReadonlyMap<string, string>
  /** The operator's own words and layouts. */
  readonly templatesDir?: string
  readonly mail: ComposerOptions
  readonly sms: {
    readonly pluginSenders?: ReadonlyMap<string, PluginSender>
    /** ISO 3166 country of a number to its sender; a plugin's own sender comes first. */
    readonly countrySenders?: ReadonlyMap<string, SmsSender>
    /** Adds the line by which a browser fills the code in, to mails as well. */
    readonly webotpDomain?: string
    /** A text that comes out longer is refused. */
    readonly maxSegments?: number
  }
  readonly log?: NonNullable<TemplatesOptions['log']>
  /** How often TEMPLATES_DIR is checked for changes, ms. */
  readonly pollEveryMs?: number
}

/** The message must not be sent: there are no words for it, or they come out too long. */
export class Unrenderable extends Error {
  override readonly name = 'Unrenderable'
}

export interface Renderer {
  /**
   * The message as its provider gets it, the same bytes for the same message and templates (Message-ID and Date come
   * from it). The text of an SMS is made when it is asked for.
   * @param country of its number, ISO 3166, when it is known: finding it takes longer than the rest
   * @throws Unrenderable when it must be refused as it is; of an SMS, its `text()` does
   */
  render(message: NewMessage, country?: string): Outgoing
  /** The same without the envelope of MIME, for a folder and the console. */
  viewMail(message: NewMessage): MailView
  /** Tags of the languages there are. */
  readonly locales: readonly string[]
  /** Problems of the templates now. */
  problems(): readonly TemplateProblem[]
  /** Reads the templates again now. @returns their problems */
  reload(): readonly TemplateProblem[]
  /** Stops watching for changes. */
  close(): void
}

/**
 * Turns stored parameters into finished messages. Templates are compiled at start and on change; parameters never are.
 * @throws TypeError for a brand colour, sender or domain that cannot be used
 */
export function createRenderer(options: RendererOptions): Renderer {
  const { locale, localeByCountry } = options
  const brand = createBrand(options.brand)
  const compose = createComposer(options.mail)
  const templates = createTemplates({
    dir: options.templatesDir,
    brand,
    wantedLocales: [locale, ...(localeByCountry?.values() ?? [])],
    log: options.log,
    pollEveryMs: options.pollEveryMs ?? 1000,
  })
  const mails = createMailRenderer({ brand, locale, webotpDomain: options.sms.webotpDomain })
  const renderSms = createSmsRenderer(options, brand, templates)
  let latest: { readonly content: Content; readonly parts: EncodedMail } | undefined

  /**
   * Encodes what the recipients of one callback have in common once: they share one content, and are rendered one after the other
   * without a pause. It is kept for as long as that takes alone, since it may hold a code or a link.
   */
  function encodeParts(sample: Sample): EncodedMail {
    const { content } = sample
    if (latest?.content !== content) {
      const parts = templates.renderWith(`email/${sample.name}`, catalog => mails.encode(catalog, sample))
      latest = { content, parts }
      queueMicrotask(() => {
        latest = undefined
      })
    }
    return latest.parts
  }

  return {
    render(message, country) {
      if (message.channel === 'sms') return renderSms(message, country)
      const { id, recipient: to, arrivedAt, expiresAt } = message
      const raw = compose({ ...encodeParts(chooseWords(message)), id, to, arrivedAt })
      return { channel: 'email', id, to, raw, content: message.content, expiresAt }
    },
    viewMail(message) {
      const sample = chooseWords(message)
      return templates.renderWith(`email/${sample.name}`, catalog => mails.view(catalog, sample))
    },
    get locales() {
      return [...templates.current().languages.keys()]
    },
    problems: templates.problems,
    reload: templates.reload,
    close: templates.close,
  }
}

function createSmsRenderer(
  { locale, localeByCountry, sms }: RendererOptions,
  brand: Brand,
  templates: Templates,
): (message: NewMessage, country?: string) => OutgoingSms {
  const { pluginSenders, countrySenders, webotpDomain, maxSegments } = sms

  function renderText(message: NewMessage, country: string, tag: string, signature?: string): string {
    const words = chooseWords(message)
    const { name, content } = words
    // No browser in China reads the line, and carriers compare a text with the registered one, so it must always be the same.
    const isPlain = country === 'CN'
    const text = templates.renderWith(`sms/${name}`, catalog => {
      const language = catalog.languageFor(tag, `sms/${name}`)
      const variants = language.smsVariants(name, scopeOf(words, language, brand, signature))
      if (!isPlain) return chooseText(variants, content, webotpDomain)
      // Each variant is put together when it is asked for.
      const [fullest = ''] = variants
      return present(fullest)
    })
    if (maxSegments !== undefined && countSegments(text).segments > maxSegments) {
      throw new Unrenderable(`longer than SMS_MAX_SEGMENTS (${maxSegments}) allows`)
    }
    return text
  }

  return (message, country = countryOf(message.recipient)) => {
    const { id, recipient: to, kind, content, expiresAt } = message
    const { pluginId } = content
    const tag = content.locale ?? localeByCountry?.get(country) ?? locale
    const plugin = pluginId === undefined ? undefined : pluginSenders?.get(pluginId)
    const sender = senderOf(plugin) ?? countrySenders?.get(country)
    let text: string | undefined
    return {
      channel: 'sms',
      id,
      to,
      country,
      kind,
      params: templateParams(message),
      locale: tag,
      ...(pluginId !== undefined && { pluginId }),
      content,
      expiresAt,
      text: () => (text ??= renderText(message, country, tag, plugin?.signature)),
      ...(sender && { sender }),
    }
  }
}

/** The values for a carrier's template. The minutes of a code are those that it lives for: a template cannot leave them out. */
function templateParams({
  purpose,
  content: { params },
  arrivedAt,
  expiresAt,
}: NewMessage): OutgoingSms['params'] {
  if (purpose !== 'code') return params
  return { ...params, minute: String(Math.max(1, Math.floor((expiresAt - arrivedAt) / 60_000))) }
}

/** The words of a message: its kind's, or those around the platform's plain text. */
function chooseWords({ channel, kind: name, content }: NewMessage): Sample {
  const kind = content.words === 'plain' ? undefined : findKind(channel, name)
  if (!kind && content.plain === undefined) throw new Unrenderable(`no words for ${name}, and no plain text`)
  return { channel, name: kind?.name ?? PLAIN_KIND, kind, content }
}

function senderOf(plugin: PluginSender | undefined): SmsSender | undefined {
  if (plugin?.messagingServiceSid !== undefined) return { messagingServiceSid: plugin.messagingServiceSid }
  return plugin?.from === undefined ? undefined : { from: plugin.from }
}

/** The country of a number, ISO 3166-1 alpha-2; `ZZ` when it has none. @param number E.164. */
export function countryOf(number: string): string {
  return parsePhoneNumberFromString(number)?.country ?? 'ZZ'
}

/**
 * Matches what phones take for a command at the beginning of a text, and do not show: `//SCKL` (an application's port, Nokia Smart
 * Messaging), `//VVM` (visual voicemail), `//BREW`, `//ANDROID` and others of that form.
 */
const COMMAND = /^\/\/(?=[a-z])/i

/**
 * Chooses what an SMS says so that it is paid for once: the first variant that fits one segment, with the line that
 * lets a browser fill the code in if at all possible; when none fits, the one with the fewest segments.
 * @param variants from the fullest to the shortest, at least one
 */
function chooseText(variants: Iterable<string>, content: Content, webotpDomain: string | undefined): string {
  const webotp = webotpLine(webotpDomain, content)
  const line = webotp === null ? '' : `\n${webotp}`
  const texts: string[] = []
  for (const variant of variants) {
    const text = present(variant)
    if (countSegments(text + line).segments === 1) return text + line
    texts.push(text)
  }
  const count = (text: string) => countSegments(text).segments
  return texts.reduce((best, text) => (count(text) < count(best) ? text : best))
}

/** A text as a phone shows it, whole: a command at its beginning is taken apart. */
function present(variant: string): string {
  // Conditions in the words leave blanks behind. Lines stay as they are. The look behind is for blanks before something
  // else: without it each of them would be a place to begin from, which takes the square of the time.
  return variant
    .replace(/(?<![ \t])[ \t]+$/gm, '')
    .trim()
    .replace(COMMAND, '/ /')
}
