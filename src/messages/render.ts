import { fileURLToPath } from 'node:url'
import { parsePhoneNumberFromString } from 'libphonenumber-js/max'
import { type BrandSettings, createBrand } from './brand.ts'
import { type Catalog, createCatalogLoader, FALLBACK } from './catalog.ts'
import { faultOf } from './engine.ts'
import type { Language } from './language.ts'
import { matchLocale } from './locales.ts'
import type { NewMessage, Outgoing, OutgoingMail, OutgoingSms, SmsSender } from './message.ts'
import { type ComposerOptions, createComposer, encodedLines } from './mime.ts'
import { kindNamed, PLAIN_KIND } from './registry.ts'
import { otherwise, type Sample, samples } from './samples.ts'
import { segments } from './segments.ts'
import { chooseText } from './sms-text.ts'
import { fingerprint, type Problem } from './template-files.ts'
import { lifeIn, scopeOf } from './vocabulary.ts'

/** What a plugin_id chooses. */
export interface PluginSender {
  /** Stands in the SMS where the brand's name would. */
  readonly signature?: string
  readonly from?: string
  readonly messagingServiceSid?: string
}

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
    /** Adds the line by which a browser fills the code in. */
    readonly webotpDomain?: string
    /** A text that comes out longer is refused. */
    readonly maxSegments?: number
  }
  /** Told of every problem when it is new, and of a mended one. */
  readonly log?: { warn(fields: object, text: string): void; info(fields: object, text: string): void }
  /** How often TEMPLATES_DIR is looked at, ms. A look is a handful of stat calls, which work on mounts that send no events. */
  readonly lookEveryMs?: number
}

/** A mail in the parts that people look at. */
export interface MailView {
  readonly subject: string
  readonly html: string
  readonly text: string
  readonly locale: string
  readonly dir: 'ltr' | 'rtl'
}

export interface Renderer {
  /**
   * The finished message, the same bytes for the same message and templates (Message-ID and Date come from it).
   * @throws Unrenderable when it must be refused as it is
   */
  render(message: NewMessage): Outgoing
  /** The same without the envelope of MIME, for the gallery and the console. */
  viewMail(message: NewMessage): MailView
  /** Tags of the languages there are. */
  readonly locales: readonly string[]
  /** What is wrong with templates now. */
  problems(): readonly Problem[]
  /** Reads the templates again now, and says what is wrong with them. */
  reload(): readonly Problem[]
  /** Stops looking for changes. */
  close(): void
}

/** Words were found, but the message must not go out with them. */
export class Unrenderable extends Error {
  override readonly name = 'Unrenderable'
}

const BUILT_IN = fileURLToPath(new URL('../templates/', import.meta.url))

/**
 * Turns stored parameters into finished messages. Templates are compiled at start and on change; parameters never are.
 * @throws TypeError for a brand colour, sender or domain that cannot be used
 */
export function createRenderer(options: RendererOptions): Renderer {
  const { locale, localeByCountry, templatesDir, log, lookEveryMs = 2000 } = options
  const { pluginSenders, countrySenders, webotpDomain, maxSegments } = options.sms
  const brand = createBrand(options.brand)
  const compose = createComposer(options.mail)
  const loader = templatesDir === undefined ? undefined : createCatalogLoader(BUILT_IN, templatesDir, brand)
  const ours = createCatalogLoader(BUILT_IN, undefined, brand).load()
  /** What is said when an operator's template fails on a message that no trial foresaw. */
  const builtIn = ours.catalog

  let catalog = builtIn
  let problems: readonly Problem[] = []
  let lines = new Map<string, ReadonlyMap<string, string>>()
  let failed = new Map<string, Problem>()
  load()

  let seen: string | undefined
  const watch =
    templatesDir === undefined ? undefined : setInterval(() => void look(templatesDir), lookEveryMs)
  watch?.unref()

  return {
    render: message => (message.channel === 'email' ? renderMail(message) : renderSms(message)),
    viewMail: message => viewMail(message).view,
    get locales() {
      return [...catalog.languages.keys()]
    },
    problems: () => [...problems, ...failed.values()],
    reload: load,
    close: () => clearInterval(watch),
  }

  function load(): readonly Problem[] {
    const before = new Set(problems.map(told))
    const loaded = loader?.load() ?? ours
    catalog = loaded.catalog
    lines = new Map()
    failed = new Map()
    const wanted = [locale, ...(localeByCountry?.values() ?? [])].filter(
      tag => matchLocale(tag, catalog.languages.keys()) === null,
    )
    problems = [
      ...loaded.problems,
      ...[...new Set(wanted)].map(tag => ({
        file: `locales/${tag}.json`,
        reason: `there are no words for ${tag}: ${FALLBACK} is used`,
        is: 'warning' as const,
      })),
    ]
    for (const problem of problems)
      if (!before.has(told(problem))) log?.warn({ ...problem }, 'template problem')
    const now = new Set(problems.map(told))
    if ([...before].some(problem => !now.has(problem)))
      log?.info({ problems: problems.length }, 'templates read again')
    return problems
  }

  async function look(dir: string): Promise<void> {
    const now = await fingerprint(dir)
    if (seen !== undefined && now !== seen) load()
    seen = now
  }

  function languageOf(tag: string, name: string, channel: string, from: Catalog): Language {
    const match = matchLocale(tag, from.languages.keys()) ?? FALLBACK
    const language = from.languages.get(match)
    const fallback = from.languages.get(FALLBACK)
    if (!fallback) throw new Error(`no words for ${FALLBACK}`)
    return language?.has.has(`${channel}/${name}`) ? language : fallback
  }

  function renderMail(message: NewMessage): OutgoingMail {
    const { view, name } = viewMail(message)
    const { id, recipient: to, arrivedAt, expiresAt } = message
    const raw = compose({ ...view, id, to, arrivedAt, known: knownLines(name, view.locale) })
    return { channel: 'email', id, to, raw, expiresAt }
  }

  function viewMail(message: NewMessage): { readonly view: MailView; readonly name: string } {
    const kind = message.content.words === 'plain' ? undefined : kindNamed('email', message.kind)
    const name = kind?.name ?? PLAIN_KIND
    if (name === PLAIN_KIND && message.content.plain === undefined)
      throw new Unrenderable(`no words for ${message.kind}`)
    const sample = { channel: 'email' as const, name, kind, content: message.content }
    const tag = message.content.locale ?? locale
    try {
      return { name, view: mailFrom(catalog, sample, tag) }
    } catch (error) {
      report(name, error)
      return { name, view: mailFrom(builtIn, sample, tag) }
    }
  }

  function mailFrom(from: Catalog, { kind, name, content }: Sample, tag: string): MailView {
    const language = languageOf(tag, name, 'email', from)
    const life = lifeIn('email', content)
    const validity = life === null ? null : language.validity(life)
    const scope = scopeOf('email', kind, content, { brand, locale: language, validity })
    const full = { ...scope, words: language.mail(name, scope) }
    return {
      subject: content.subject ?? '',
      html: from.mail('html', name, language.tag)(full),
      text: from.mail('txt', name, language.tag)(full),
      locale: language.tag,
      dir: language.dir,
    }
  }

  /** Lines of the layout that need encoding only once, learnt from two invented mails of the kind. */
  function knownLines(name: string, tag: string): ReadonlyMap<string, string> {
    const key = `${name}/${tag}`
    let known = lines.get(key)
    if (!known) {
      const sample = samples.find(one => one.channel === 'email' && one.name === name)
      try {
        known = sample
          ? encodedLines(mailFrom(catalog, sample, tag).html, mailFrom(catalog, otherwise(sample), tag).html)
          : new Map<string, string>()
      } catch {
        known = new Map<string, string>()
      }
      lines.set(key, known)
    }
    return known
  }

  function renderSms({ id, kind: kindName, recipient: to, content, expiresAt }: NewMessage): OutgoingSms {
    const kind = content.words === 'plain' ? undefined : kindNamed('sms', kindName)
    const name = kind?.name ?? PLAIN_KIND
    if (name === PLAIN_KIND && content.plain === undefined) throw new Unrenderable(`no words for ${kindName}`)
    const country =
      localeByCountry?.size || countrySenders?.size ? parsePhoneNumberFromString(to)?.country : undefined
    const tag = content.locale ?? (country && localeByCountry?.get(country)) ?? locale
    const plugin = content.pluginId === undefined ? undefined : pluginSenders?.get(content.pluginId)
    const say = (from: Catalog) => {
      const language = languageOf(tag, name, 'sms', from)
      const life = lifeIn('sms', content)
      const validity = life === null ? null : language.validity(life)
      const signature = plugin?.signature ?? brand.name
      const scope = scopeOf('sms', kind, content, { brand, locale: language, validity, signature })
      return chooseText(language.sms(name, scope), content, webotpDomain)
    }
    let body: string
    try {
      body = say(catalog)
    } catch (error) {
      report(name, error)
      body = say(builtIn)
    }
    if (maxSegments !== undefined && segments(body).segments > maxSegments) {
      throw new Unrenderable(`longer than SMS_MAX_SEGMENTS (${maxSegments}) allows`)
    }
    const sender = senderOf(plugin) ?? (country && countrySenders?.get(country))
    return { channel: 'sms', id, to, body, ...(sender && { sender }), expiresAt }
  }

  /** An operator's template failed on a real message: said once for each reload; the built-in one is used. */
  function report(name: string, error: unknown): void {
    const { message, line } = faultOf(error)
    if (failed.has(name)) return
    const problem: Problem = {
      file: name,
      ...(line !== undefined && { line }),
      reason: message,
      is: 'refused',
    }
    failed.set(name, problem)
    log?.warn({ ...problem }, 'template failed: the built-in one is used')
  }
}

function senderOf(plugin: PluginSender | undefined): SmsSender | undefined {
  if (plugin?.messagingServiceSid !== undefined) return { messagingServiceSid: plugin.messagingServiceSid }
  return plugin?.from === undefined ? undefined : { from: plugin.from }
}

function told(problem: Problem): string {
  return `${problem.file}:${problem.line ?? ''}:${problem.reason}`
}
