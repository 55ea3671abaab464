import { type Sample, samples, withOtherValues } from '../messages/samples.ts'
import type { Brand } from './brand.ts'
import type { Catalog } from './catalog.ts'
import { type Body, encodeBody, encodedLines } from './mime.ts'
import { createPrecompiledLayouts, type PrecompiledLayouts } from './precompiled-layouts.ts'
import { formatStatedValidity, scopeOf } from './template-variables.ts'

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

  function kindCache({ kinds }: CatalogCache, catalog: Catalog, name: string, tag: string): KindCache {
    const key = `${name}/${tag}`
    const cached = kinds.get(key)
    if (cached) return cached
    const made = {
      known: sharedLines(catalog, name, tag),
      isPrecompilable: catalog.isPrecompilable(name, tag),
    }
    kinds.set(key, made)
    return made
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
      const { known, isPrecompilable } = kindCache(cache, catalog, sample.name, language.tag)
      if (isPrecompilable && words.text === null) {
        const key = `${sample.name}/${language.tag}`
        return { subject, ...cache.layouts.encode({ key, scope, words, html, text, known }) }
      }
      const full = { ...scope, words }
      return { subject, html: encodeBody(html(full), known), text: encodeBody(text(full)) }
    },
  }
}

/** The words of a mail, and its layouts with the scope that they are rendered with. */
function prepare(catalog: Catalog, { kind, name, content }: Sample, { brand, locale }: MailOptions) {
  const language = catalog.languageFor(content.locale ?? locale, `email/${name}`)
  const validity = formatStatedValidity(language, 'email', content)
  const values = scopeOf('email', kind, content, { brand, locale: language, validity })
  const words = language.mailWords(name, values)
  // The platform gives its mails a subject; an alert of the service has its heading for one.
  const subject = content.subject ?? words.heading
  const html = catalog.template('html', name, language.tag)
  const text = catalog.template('txt', name, language.tag)
  return { language, words, subject, scope: { ...values, subject }, html, text }
}
