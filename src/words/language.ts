import { quote, withRemedy, wordsOf } from '../language/sentence.ts'
import { findKind, PLAIN_KIND } from '../messages/kinds.ts'
import { transliterate } from '../messages/sms-segments.ts'
import type { JsonObject } from '../runtime/json-object.ts'
import { type LanguageSource, type MailWordsSource, toReadableDuration } from './language-file.ts'
import { createPrerenderer, fillPieces, piecesOf } from './prerender.ts'
import { type Compiled, type Engine, type Scope, TemplateFault } from './template-engine.ts'
import { type LocaleView, wordVariables } from './template-variables.ts'

/** A language with its words compiled. */
export interface WordLanguage extends LocaleView {
  /** Kinds that it has words for, `channel/name`. */
  readonly kinds: ReadonlySet<string>
  /** "10 minutes"; null when it has words for longer units only. */
  readonly formatValidity: (ms: number) => string | null
  /** @param name a kind that it has, or `plain` */
  mailWords(name: string, scope: Scope): MailWords
  /** The variants of an SMS, from the fullest to the shortest, each as written and in the GSM-7 alphabet. */
  smsVariants(name: string, scope: Scope): Iterable<string>
}

/** Preheaders are cut by mail clients anywhere from 35 to 90 characters. */
const PREHEADER_MAX = 89

/**
 * Compiles a language's words.
 * @param lineAt gives the line of a key in the file; undefined: the words come with the service. Its tests have tried them, and they
 *   are compiled when first said, since nobody needs all kinds in all languages
 * @throws TemplateFault for words that do not compile or name what their kind does not have
 */
export function compileLanguage(
  tag: string,
  source: LanguageSource,
  engine: Engine,
  lineAt?: LineAt,
): WordLanguage {
  const phrase = createPhraseCompiler(engine, lineAt)
  const anyMail = wordVariables('email', undefined)
  const common = {
    link: phrase(source.common.link, anyMail, 'common/link'),
    footer: phrase(source.common.footer, anyMail, 'common/footer'),
  }
  const mails = new Map(
    Object.entries(source.mail).map(([name, words]) => [name, compileMail(name, words, common, phrase)]),
  )
  const sms = new Map(
    Object.entries(source.sms).map(([name, words]) => [name, compileSms(name, words, phrase)]),
  )
  return {
    tag,
    language: source.language,
    dir: source.dir,
    start: source.dir === 'rtl' ? 'right' : 'left',
    end: source.dir === 'rtl' ? 'left' : 'right',
    kinds: new Set([
      ...[...mails.keys()].map(name => `email/${name}`),
      ...[...sms.keys()].map(name => `sms/${name}`),
    ]),
    formatValidity: compileValidity(tag, source.validity, phrase),
    mailWords(name, scope) {
      const say = mails.get(name)
      if (!say) throw new Error(`${tag} has no words for mail ${name}`)
      return say(scope)
    },
    smsVariants(name, scope) {
      const say = sms.get(name)
      if (!say) throw new Error(`${tag} has no words for SMS ${name}`)
      return say(scope)
    },
  }
}

/** So many validities are kept in words, of each language. */
const MOST_FORMATTED = 200

function compileValidity(
  tag: string,
  source: LanguageSource['validity'],
  phrase: CompilePhrase,
): WordLanguage['formatValidity'] {
  const plurals = new Intl.PluralRules(tag)
  const known = new Set(['n'])
  const forms = new Map(
    Object.entries(source).flatMap(([unit, categories]) =>
      Object.entries(categories).map(([category, words]) => {
        const key = `${unit}/${category}`
        return [key, phrase(words, known, `validity/${key}`)] as const
      }),
    ),
  )
  /** Choosing a plural takes 10 µs, and the platform states few different times. */
  const formatted = new Map<number, string | null>()
  return ms => {
    const known = formatted.get(ms)
    if (known !== undefined) return known
    const { n, unit } = toReadableDuration(ms, each => source[each] !== undefined) ?? { n: 0, unit: null }
    const form = forms.get(`${unit}/${plurals.select(n)}`) ?? forms.get(`${unit}/other`)
    const words = form?.({ n }) ?? null
    if (formatted.size >= MOST_FORMATTED) formatted.clear()
    formatted.set(ms, words)
    return words
  }
}

/** A mail's words, ready for a layout: text that still has to be escaped. */
export interface MailWords {
  readonly heading: string
  /** Shown beside the subject in a list of mails; under 90 characters. */
  readonly preheader: string
  readonly before: readonly string[]
  /** The platform's plain text, when it stands in place of the kind's words. */
  readonly text: string | null
  readonly shows_code: boolean
  /** How much room the code takes: up to 8 characters, up to 16, more. */
  readonly code_length: 'short' | 'medium' | 'long'
  readonly details: readonly { readonly label: string; readonly value: string }[]
  readonly button: string | null
  /** Stands before the link as text. */
  readonly link: string | null
  readonly after: readonly string[]
  readonly footer: string
}

function compileMail(
  name: string,
  words: MailWordsSource,
  common: { readonly link: Phrase; readonly footer: Phrase },
  phrase: CompilePhrase,
): (scope: Scope) => MailWords {
  const kind = findKind('email', name)
  const known = wordVariables('email', kind)
  const at = `mail/${name}`
  const paragraphs = (part: 'before' | 'after') => {
    const given = words[part] ?? []
    const all =
      typeof given === 'string'
        ? [phrase(given, known, `${at}/${part}`)]
        : given.map((one, n) => phrase(one, known, `${at}/${part}/${n}`))
    return (scope: Scope) => all.map(each => each(scope).trim()).filter(paragraph => paragraph !== '')
  }
  const heading = phrase(words.heading, known, `${at}/heading`)
  const preheader = phrase(words.preheader, known, `${at}/preheader`)
  const [before, after] = [paragraphs('before'), paragraphs('after')]
  const button = words.button === undefined ? null : phrase(words.button, known, `${at}/button`)
  const details = Object.entries(words.details ?? {}).map(([key, label]) => ({
    key,
    label: phrase(label, known, `${at}/details/${key}`),
  }))
  return scope => {
    const { code, plain_email: plain } = scope
    const length = typeof code === 'string' ? code.length : 0
    return {
      heading: heading(scope).trim(),
      preheader: cutPreheader(preheader(scope)),
      before: before(scope),
      text: name === PLAIN_KIND && typeof plain === 'string' ? plain : null,
      shows_code: kind?.required.includes('code') ?? false,
      code_length: length <= 8 ? 'short' : length <= 16 ? 'medium' : 'long',
      details: details.flatMap(({ key, label }) => {
        const value = scope[key]
        return typeof value === 'string' ? [{ label: label(scope), value }] : []
      }),
      button: button?.(scope) ?? null,
      link: button && common.link(scope),
      after: after(scope),
      footer: common.footer(scope),
    }
  }
}

function compileSms(
  name: string,
  words: string | readonly string[],
  phrase: CompilePhrase,
): (scope: Scope) => Iterable<string> {
  const kind = findKind('sms', name)
  const known = wordVariables('sms', kind)
  const variants = [words].flat().map((text, at) => {
    const path = typeof words === 'string' ? `sms/${name}` : `sms/${name}/${at}`
    const plain = transliterate(text)
    const asWritten = phrase(text, known, path)
    return { asWritten, inGsm7: plain === text ? asWritten : phrase(plain, known, path) }
  })
  /** What a device reports may be written in plainer letters; a code or a name of a person may not. */
  const isOurs = (parameter: string) => kind?.purpose === 'alarm' || parameter === 'validity'
  return function* (scope) {
    let gsm7Scope: Scope | undefined
    for (const { asWritten, inGsm7 } of variants) {
      yield asWritten(scope)
      // Most texts fit as they are written, and nobody asks for another one.
      gsm7Scope ??= Object.fromEntries(
        Object.entries(scope).map(([parameter, value]) => [
          parameter,
          typeof value === 'string' && isOurs(parameter) ? transliterate(value) : value,
        ]),
      )
      yield inGsm7(gsm7Scope)
    }
  }
}

/** Cuts a text to one line that is short enough for a preheader, between words where there are any. */
function cutPreheader(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  const chars = Array.from(line)
  if (chars.length <= PREHEADER_MAX) return line
  const short = chars.slice(0, PREHEADER_MAX - 1).join('')
  const space = short.lastIndexOf(' ')
  return `${space > PREHEADER_MAX / 2 ? short.slice(0, space) : short}…`
}

/** Compiled words: plain text with Liquid in it. */
type Phrase = (scope: Scope) => string

type LineAt = (path: readonly string[]) => number

/**
 * @param known the variables that it may name
 * @param path where it stands in the language file, such as `common/link`, to name the line of a fault
 * @throws TemplateFault for words that do not compile or name another variable; the phrase does, when it is compiled
 *   later
 */
type CompilePhrase = (words: string, known: ReadonlySet<string>, path: string) => Phrase

/**
 * Makes the compiler of a language file's phrases.
 * @param lineAt see {@link compileLanguage}
 */
function createPhraseCompiler(engine: Engine, lineAt: LineAt | undefined): CompilePhrase {
  const compile: CompilePhrase = (words, known, path) => {
    try {
      const compiled = engine.compile(words, known)
      return PRINTING.test(words) ? putTogether(compiled) : compiled
    } catch (error) {
      throw new TemplateFault(withRemedy(quote(path), wordsOf(error)), lineAt?.(path.split('/')), {
        cause: error,
      })
    }
  }
  return (words, known, path) => {
    if (!/\{[{%]/.test(words)) return () => words
    let compiled = lineAt && compile(words, known, path)
    return scope => (compiled ??= compile(words, known, path))(scope)
  }
}

/** Words that only print variables, and ask whether they are there. */
const PRINTING =
  /^(?:[^{\uE000]|\{(?![{%])|\{\{-?\s*(?:(?:brand|link|locale)\.)?\w+\s*-?\}\}|\{%-?\s*(?:if\s+(?:(?:brand|link|locale)\.)?\w+|else|endif)\s*-?%\})*$/

/** Such words with places for their values: Liquid takes 10 µs and 18 KB of garbage for an SMS. */
function putTogether(compiled: Compiled): Phrase {
  const paths = compiled.variables.map(name => name.split('.') as [string, string?])
  const prerender = createPrerenderer(places => piecesOf(compiled(places)))
  return scope => {
    const values: Record<string, unknown> = {}
    for (const [name, field] of paths) {
      const value = scope[name]
      values[name] =
        field === undefined
          ? value
          : { ...(values[name] as JsonObject), [field]: (value as JsonObject)[field] }
    }
    const { rendered, strings } = prerender(values)
    return fillPieces(rendered, strings)
  }
}
