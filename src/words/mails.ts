import { type Sample, samples, withOtherValues } from '../messages/samples.ts'
import type { Brand } from './brand.ts'
import type { Catalog } from './catalog.ts'
import { type Body, encodeBody, encodedLines } from './mime.ts'
import { createPrecompiledLayouts, type PrecompiledLayouts } from './precompiled-layouts.ts'
import { scopeOf, statedValidity } from './template-variables.ts'

/** A mail in the parts that people look at. */
export interface MailView {
  readonly subject: string
  readonly html: string
  readonly text: string
  readonly locale: string
  readonly dir: 'ltr' | 'rtl'
}

export interface MailRenderer {
  view(catalog: Catalog, sample: Sample): MailView
  /** The same as it goes into a message. */
  encode(
    catalog: Catalog,
    sample: Sample,
  ): { readonly subject: string; readonly html: Body; readonly text: Body }
}

/** What is worked out once for all mails of a catalog. */
interface Once {
  readonly forms: PrecompiledLayouts
  readonly ofKind: Map<string, { readonly known: ReadonlyMap<string, string>; readonly standard: boolean }>
}

/** Puts words into layouts. @param locale the language of a mail that names none */
export function createMailRenderer({
  brand,
  locale,
}: {
  readonly brand: Brand
  readonly locale: string
}): MailRenderer {
  const once = new WeakMap<Catalog, Once>()
  return {
    view,
    encode(catalog, sample) {
      const { language, words, subject, scope, html, text } = wordsOf(catalog, sample)
      const { forms, ofKind } = onceOf(catalog)
      const key = `${sample.name}/${language.tag}`
      let kind = ofKind.get(key)
      if (!kind) {
        kind = {
          known: knownLines(catalog, sample.name, language.tag),
          standard: catalog.isBuiltIn(sample.name, language.tag),
        }
        ofKind.set(key, kind)
      }
      const { known, standard } = kind
      if (standard && words.text === null) {
        return { subject, ...forms.encode({ key, scope, words, html, text, known }) }
      }
      const full = { ...scope, words }
      return { subject, html: encodeBody(html(full), known), text: encodeBody(text(full)) }
    },
  }

  function view(catalog: Catalog, sample: Sample): MailView {
    const { language, words, subject, scope, html, text } = wordsOf(catalog, sample)
    const full = { ...scope, words }
    return { subject, html: html(full), text: text(full), locale: language.tag, dir: language.dir }
  }

  /** What a layout is rendered with, and the layouts. */
  function wordsOf(catalog: Catalog, { kind, name, content }: Sample) {
    const language = catalog.languageFor(content.locale ?? locale, `email/${name}`)
    const validity = statedValidity(language, 'email', content)
    const values = scopeOf('email', kind, content, { brand, locale: language, validity })
    const words = language.mailWords(name, values)
    // The platform gives its mails a subject; what the service says of itself is headed by it.
    const subject = content.subject ?? words.heading
    const html = catalog.template('html', name, language.tag)
    const text = catalog.template('txt', name, language.tag)
    return { language, words, subject, scope: { ...values, subject }, html, text }
  }

  function onceOf(catalog: Catalog): Once {
    const made = once.get(catalog) ?? { forms: createPrecompiledLayouts(), ofKind: new Map() }
    once.set(catalog, made)
    return made
  }

  /** Learnt from two invented mails of the kind: what they share is of the layout and the words, not of a message. */
  function knownLines(catalog: Catalog, name: string, tag: string): ReadonlyMap<string, string> {
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
}
