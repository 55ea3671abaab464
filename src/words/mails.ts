import { type Sample, samples, withOtherValues } from '../messages/samples.ts'
import { escapeHtml } from '../runtime/html.ts'
import type { Catalog } from './catalog.ts'
import type { MailWords } from './language.ts'
import { type Body, encodeBody, encodedLine, encodedLines, quotedPrintable } from './mime.ts'
import type { Compiled, Scope } from './template-engine.ts'
import { type Brand, scopeOf } from './template-variables.ts'

/** A mail in the parts that people look at. */
export interface MailView {
  readonly subject: string
  readonly html: string
  readonly text: string
  readonly locale: string
  readonly dir: 'ltr' | 'rtl'
}

/** The parts that all mails of a catalog share. */
interface CatalogCache {
  readonly layouts: PrecompiledLayouts
  readonly kinds: Map<string, KindCache>
}

interface KindCache {
  /** Lines of the layout, encoded. */
  readonly known: ReadonlyMap<string, string>
  readonly isPrecompilable: boolean
}

interface MailOptions {
  readonly brand: Brand
  /** The language of a mail that names none. */
  readonly locale: string
}

/** Renders mails: puts words into layouts. */
export function createMailRenderer(options: MailOptions) {
  const caches = new WeakMap<Catalog, CatalogCache>()

  function view(catalog: Catalog, sample: Sample): MailView {
    const { language, words, subject, scope, html, text } = prepare(catalog, sample, options)
    const full = { ...scope, words }
    return { subject, html: html(full), text: text(full), locale: language.tag, dir: language.dir }
  }

  /** Finds the lines of layout and words, which do not depend on a message: those that two invented mails of the kind share. */
  function sharedLines(catalog: Catalog, name: string, tag: string): ReadonlyMap<string, string> {
    const sample = samples.find(one => one.channel === 'email' && one.name === name)
    if (!sample) return new Map()
    const htmlOf = (one: Sample) => view(catalog, { ...one, content: { ...one.content, locale: tag } }).html
    try {
      return encodedLines(htmlOf(sample), htmlOf(withOtherValues(sample)))
    } catch {
      // An operator's template need not be fit for invented values.
      return new Map()
    }
  }

  return {
    view,
    /** The same as it goes into a message. */
    encode(
      catalog: Catalog,
      sample: Sample,
    ): { readonly subject: string; readonly html: Body; readonly text: Body } {
      const { language, words, subject, scope, html, text } = prepare(catalog, sample, options)
      const cache = caches.get(catalog) ?? { layouts: createPrecompiledLayouts(), kinds: new Map() }
      caches.set(catalog, cache)
      const key = `${sample.name}/${language.tag}`
      let kind = cache.kinds.get(key)
      if (kind === undefined) {
        kind = {
          known: sharedLines(catalog, sample.name, language.tag),
          isPrecompilable: catalog.isPrecompilable(sample.name, language.tag),
        }
        cache.kinds.set(key, kind)
      }
      const { known, isPrecompilable } = kind
      if (isPrecompilable && words.text === null) {
        return { subject, ...cache.layouts.encode({ key, scope, words, html, text, known }) }
      }
      const full = { ...scope, words }
      return { subject, html: encodeBody(html(full), known), text: encodeBody(text(full)) }
    },
  }
}

/** The words of a mail, and its layouts with the scope that they are rendered with. */
function prepare(catalog: Catalog, sample: Sample, { brand, locale }: MailOptions) {
  const { name, content } = sample
  const language = catalog.languageFor(content.locale ?? locale, `email/${name}`)
  const values = scopeOf(sample, language, brand)
  const words = language.mailWords(name, values)
  // The platform gives its mails a subject; an alert of the service has its heading for one.
  const subject = content.subject ?? words.heading
  const html = catalog.template('html', name, language.tag)
  const text = catalog.template('txt', name, language.tag)
  return { language, words, subject, scope: { ...values, subject }, html, text }
}

interface LayoutInput {
  /** Names the language and kind whose words these are. */
  readonly key: string
  readonly scope: Scope
  readonly words: MailWords
  readonly html: Compiled
  readonly text: Compiled
  /** Lines that many mails share, encoded; see `encodedLines`. */
  readonly known: ReadonlyMap<string, string>
}

/** A line in pieces: text, or the number of the string that goes there. */
type Line = readonly (string | number)[]
/** Lines that are always the same are text, encoded already, a line break before each. */
type Part = string | Line

interface PrecompiledLayout {
  readonly html: readonly Part[]
  readonly text: Line
}

/** A placeholder's number between characters of Unicode's private use area, which no template has. */
const PLACEHOLDER = /\uE000(\d+)\uE001/
/** Far more than there are kinds, languages and numbers of rows. */
const MAX_LAYOUTS = 2000

type PrecompiledLayouts = ReturnType<typeof createPrecompiledLayouts>

/**
 * A precompiled layout was rendered once, with placeholders where a message's own strings go; rendering a message then
 * fills them, which takes a fraction of the time (the engine walks some 60 nodes for a layout, and most of what it prints
 * is the same in every mail).
 *
 * This holds for the built-in layouts, because they print the strings of a message as they are and decide only on what
 * `shapeOf` tells apart, and for an operator's in which `findDependence` finds nothing else. A test compares both over
 * random messages. Any other layout is rendered as it stands, every time.
 */
function createPrecompiledLayouts() {
  const layouts = new Map<string, PrecompiledLayout>()
  return {
    /** Both parts of a mail, encoded. `tag` and `name` are what the layouts were compiled for. */
    encode(message: LayoutInput): { readonly html: Body; readonly text: Body } {
      const { scope, words, known } = message
      const strings = stringsOf(scope, words)
      const key = `${message.key}/${shapeOf(words, strings)}`
      let layout = layouts.get(key)
      if (!layout) {
        layout = precompile(message)
        if (layouts.size < MAX_LAYOUTS) layouts.set(key, layout)
      }
      return {
        html: fillHtml(layout.html, strings, known),
        text: encodeBody(fillLine(layout.text, strings)),
      }
    },
  }
}

/** Everything that such layouts decide on: what is there, how many of it, and the facts among the words. */
function shapeOf(words: MailWords, strings: readonly (string | null)[]): string {
  const { before, after, details, button, shows_code, code_length } = words
  let there = ''
  for (const string of strings) there += string === null ? '0' : '1'
  return `${before.length}.${after.length}.${details.length}.${button !== null}.${shows_code}.${code_length}.${there}`
}

/** The strings that such layouts print, in an order that the shape alone decides. */
function stringsOf(scope: Scope, words: MailWords): readonly (string | null)[] {
  const { subject, code } = scope
  const link = scope['link'] as { readonly url: string | null; readonly host: string | null }
  return [
    typeof subject === 'string' ? subject : null,
    typeof code === 'string' ? code : null,
    link.url,
    link.host,
    words.heading,
    words.preheader,
    words.button,
    words.link,
    words.footer,
    ...words.before,
    ...words.after,
    ...words.details.flatMap(({ label, value }) => [label, value]),
  ]
}

/** Renders the layouts with a placeholder for each of those strings. */
function precompile({ scope, words, html, text: renderText, known }: LayoutInput): PrecompiledLayout {
  const present = stringsOf(scope, words).map(string => string !== null)
  let number = 0
  const placeholder = () => `\uE000${number++}\uE001`
  const placeholderIf = () => (present[number] ? placeholder() : (number++, null))
  const full = {
    ...scope,
    subject: placeholderIf(),
    code: placeholderIf(),
    link: { url: placeholderIf(), host: placeholderIf() },
    words: {
      ...words,
      heading: placeholder(),
      preheader: placeholder(),
      button: placeholderIf(),
      link: placeholderIf(),
      footer: placeholder(),
      before: words.before.map(placeholder),
      after: words.after.map(placeholder),
      details: words.details.map(() => ({ label: placeholder(), value: placeholder() })),
    },
  }
  const parts: Part[] = []
  for (const line of html(full).split(/\r?\n/)) {
    const pieces = piecesOf(line)
    const last = parts.at(-1)
    if (pieces.length > 1 || typeof pieces[0] === 'number') parts.push(pieces)
    else if (typeof last === 'string') parts[parts.length - 1] = last + encodedLine(line, known)
    else parts.push(encodedLine(line, known))
  }
  return { html: parts, text: piecesOf(renderText(full)) }
}

function piecesOf(line: string): Line {
  return line.split(PLACEHOLDER).map((piece, i) => (i % 2 === 1 ? Number(piece) : piece))
}

function fillHtml(
  parts: readonly Part[],
  strings: readonly (string | null)[],
  known: ReadonlyMap<string, string>,
): Body {
  let encoded = ''
  for (const part of parts) {
    encoded += typeof part === 'string' ? part : encodedLine(fillLine(part, strings, escapeHtml), known)
  }
  return quotedPrintable(encoded)
}

function fillLine(
  line: Line,
  strings: readonly (string | null)[],
  escape?: (string: string) => string,
): string {
  let filled = ''
  for (const piece of line) {
    const string = typeof piece === 'string' ? piece : (strings[piece] ?? '')
    filled += typeof piece === 'string' || escape === undefined ? string : escape(string)
  }
  return filled
}
