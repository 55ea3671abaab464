import type { Sample } from '../messages/samples.ts'
import { escapeHtml } from '../runtime/html.ts'
import type { Catalog, MailLayouts } from './catalog.ts'
import type { MailWords } from './language.ts'
import { type Body, encodeBody, encodePiece, quotedPrintable, SOFT_BREAK } from './mime.ts'
import { createPrerenderer, fillPieces, type Pieces, type Prerender, piecesOf } from './prerender.ts'
import type { Scope } from './template-engine.ts'
import { type Brand, scopeOf, webotpLine } from './template-variables.ts'

/** A mail in the parts that people look at. */
export interface MailView {
  readonly subject: string
  readonly html: string
  readonly text: string
  readonly locale: string
  readonly dir: 'ltr' | 'rtl'
}

/** A mail in the parts that go into a message. */
export interface EncodedMail {
  readonly subject: string
  readonly html: Body
  readonly text: Body
}

interface MailOptions {
  readonly brand: Brand
  /** The language of a mail that names none. */
  readonly locale: string
  readonly webotpDomain: string | undefined
}

/** Renders mails: puts words into layouts. */
export function createMailRenderer(options: MailOptions) {
  const prerenderers = new WeakMap<MailLayouts, Prerender<Prerendered>>()

  function view(catalog: Catalog, sample: Sample): MailView {
    const { language, scope, layouts } = prepare(catalog, sample, options)
    const { subject } = scope
    const [html, text] = [layouts.html(scope), layouts.txt(scope)]
    return { subject, html, text, locale: language.tag, dir: language.dir }
  }

  return {
    view,
    /** The same as it goes into a message. */
    encode(catalog: Catalog, sample: Sample): EncodedMail {
      const { scope, layouts } = prepare(catalog, sample, options)
      const { subject } = scope
      if (!layouts.isBuiltIn || scope.words.text !== null)
        return { subject, html: encodeBody(layouts.html(scope)), text: encodeBody(layouts.txt(scope)) }
      const { brand, locale, webotp, code, link, words } = scope
      const prerender =
        prerenderers.get(layouts) ??
        createPrerenderer(places => prerenderLayouts(layouts, { brand, locale, ...places }), 'code_length')
      prerenderers.set(layouts, prerender)
      const { rendered, strings } = prerender({ subject, webotp, code, link, words })
      const html = quotedPrintable(fillPieces(rendered.html, strings, encodeString))
      return { subject, html, text: encodeBody(fillPieces(rendered.text, strings)) }
    },
  }
}

/** The layouts of a mail, and the scope that they are rendered with. */
function prepare(catalog: Catalog, sample: Sample, { brand, locale, webotpDomain }: MailOptions) {
  const { name, content, kind } = sample
  const language = catalog.languageFor(content.locale ?? locale, `email/${name}`)
  const values = scopeOf(sample, language, brand)
  const words = language.mailWords(name, values)
  // The platform gives its mails a subject; an alert of the service has its heading for one.
  const webotp = kind?.purpose === 'code' ? webotpLine(webotpDomain, content) : null
  const scope: MailScope = { ...values, words, subject: content.subject ?? words.heading, webotp }
  return { language, scope, layouts: catalog.layoutsFor(name, language.tag) }
}

interface MailScope extends Scope {
  readonly words: MailWords
  readonly subject: string
}

interface Prerendered {
  /** Its text is encoded. */
  readonly html: Pieces
  readonly text: Pieces
}

/** A message's own string, as it stands between two pieces that are encoded already. */
function encodeString(string: string): string {
  return SOFT_BREAK + encodePiece(escapeHtml(string)) + SOFT_BREAK
}

/**
 * Makes layouts ready with places for a message's own strings (the engine walks some 60 nodes for a layout, and most of what it prints
 * is the same in every mail).
 *
 * This holds for the built-in layouts, because they print the strings of a message as they are and decide only on which there are, and
 * on `code_length`. A test compares both over random messages. An operator's layout is rendered as it stands, every time.
 */
function prerenderLayouts({ html, txt }: MailLayouts, places: Scope): Prerendered {
  const encoded = piecesOf(html(places)).map(each => (typeof each === 'string' ? encodePiece(each) : each))
  return { html: encoded, text: piecesOf(txt(places)) }
}
