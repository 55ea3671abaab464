import { quote, say, withRemedy, wordsOf } from '../language/sentence.ts'
import { findKind, PLAIN_KIND } from '../messages/kinds.ts'
import { transliterate } from '../messages/sms-segments.ts'
import type { JsonObject } from '../runtime/json-object.ts'
import { lineInJson } from '../runtime/yaml-text.ts'
import { type LanguageSource, type MailWordsSource, toReadableDuration } from './language-file.ts'
import { type Compiled, type Engine, type Scope, TemplateFault } from './template-engine.ts'
import { type LocaleView, wordVariables } from './template-variables.ts'

/** A language with its words compiled. */
export interface WordLanguage extends LocaleView {
  /** Kinds that it has words for, `channel/name`. */
  readonly kinds: ReadonlySet<string>
  /** Plural forms that its rules ask for and it has not: `validity/hour/two`. Not looked for in what comes with the service. */
  readonly missingForms: readonly string[]
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
 * @param text the file, to name lines
 * @param isBuiltIn whether the words come with the service: its tests have tried them, and they are compiled when first
 *   said, since nobody needs all kinds in all languages
 * @throws TemplateFault for words that do not compile or name what their kind does not have
 */
export function compileLanguage(
  tag: string,
  source: LanguageSource,
  text: string,
  engine: Engine,
  isBuiltIn: boolean,
): WordLanguage {
  const compiler = createPhraseCompiler(text, engine, !isBuiltIn)
  const anyMail = wordVariables('email', undefined)
  const common = {
    link: compiler.phrase(source.common.link, anyMail, '/common/link'),
    footer: compiler.phrase(source.common.footer, anyMail, '/common/footer'),
  }
  const mails = new Map(
    Object.keys(source.mail).map(name => [name, compileMail(name, source.mail, compiler, text)]),
  )
  const sms = new Map(
    Object.entries(source.sms).map(([name, words]) => [name, compileSms(name, words, compiler)]),
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
    missingForms: isBuiltIn ? [] : findMissingForms(tag, source.validity),
    formatValidity: compileValidity(tag, source.validity, compiler),
    mailWords(name, scope) {
      const words = mails.get(name)
      if (!words) throw new Error(`${tag} has no words for mail ${name}`)
      return fillMail(words, common, scope)
    },
    smsVariants(name, scope) {
      const variants = sms.get(name)
      if (!variants) throw new Error(`${tag} has no words for SMS ${name}`)
      return fillSms(variants, scope, findKind('sms', name)?.purpose === 'alarm')
    },
  }
}

function compileValidity(
  tag: string,
  source: LanguageSource['validity'],
  { phrase }: PhraseCompiler,
): (ms: number) => string | null {
  const plurals = new Intl.PluralRules(tag)
  const known = new Set(['n'])
  const forms = new Map(
    Object.entries(source).flatMap(([unit, categories]) =>
      Object.entries(categories).map(([category, words]) => {
        const key = `${unit}/${category}`
        return [key, phrase(words, known, `/validity/${key}`)] as const
      }),
    ),
  )
  const formatted = new Map<number, string | null>()
  return ms => {
    const known = formatted.get(ms)
    if (known !== undefined) return known
    const duration = toReadableDuration(ms, unit => source[unit] !== undefined)
    const { n, unit } = duration ?? { n: 0, unit: null }
    const form = forms.get(`${unit}/${plurals.select(n)}`) ?? forms.get(`${unit}/other`)
    const text = form?.({ n }) ?? null
    if (formatted.size < MAX_OUTCOMES) formatted.set(ms, text)
    return text
  }
}

/** The forms of its units that the numbers of a validity, 1 to a month in hours, ask for, and that are not there. */
function findMissingForms(tag: string, source: LanguageSource['validity']): readonly string[] {
  const plurals = new Intl.PluralRules(tag)
  const needed = [...new Set(Array.from({ length: 720 }, (_, i) => plurals.select(i + 1)))]
  return Object.entries(source).flatMap(([unit, forms]) =>
    needed.filter(category => forms[category] === undefined).map(category => `validity/${unit}/${category}`),
  )
}

interface MailPhrases {
  readonly heading: Phrase
  readonly preheader: Phrase
  readonly before: readonly Phrase[]
  readonly after: readonly Phrase[]
  readonly button: Phrase | null
  readonly details: readonly { readonly key: string; readonly label: Phrase }[]
  readonly isPlain: boolean
  readonly showsCode: boolean
}

function compileMail(
  name: string,
  source: LanguageSource['mail'],
  { phrase, phrases }: PhraseCompiler,
  text: string,
): MailPhrases {
  const entry = source[name]
  const from = typeof entry === 'string' ? entry : name
  const words = source[from] as MailWordsSource
  const kind = findKind('email', name)
  const known = wordVariables('email', kind)
  const at = `/mail/${from}`
  const details = Object.entries(words.details ?? {}).map(([key, label]) => {
    const pointer = `${at}/details/${key}`
    if (!known.has(key))
      throw new TemplateFault(
        say('{path}: unknown parameter: {key}', { path: `${at}/details`, key }),
        lineInJson(text, pointer),
      )
    return { key, label: phrase(label, known, pointer) }
  })
  return {
    heading: phrase(words.heading, known, `${at}/heading`),
    preheader: phrase(words.preheader, known, `${at}/preheader`),
    before: phrases(words.before, known, `${at}/before`),
    after: phrases(words.after, known, `${at}/after`),
    button: words.button === undefined ? null : phrase(words.button, known, `${at}/button`),
    details,
    isPlain: name === PLAIN_KIND,
    showsCode: kind?.required.includes('code') ?? false,
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

function fillMail(
  words: MailPhrases,
  common: { readonly link: Phrase; readonly footer: Phrase },
  scope: Scope,
): MailWords {
  const fill = (list: readonly Phrase[]): readonly string[] => {
    const filled: string[] = []
    for (const phrase of list) {
      const text = phrase(scope).trim()
      if (text !== '') filled.push(text)
    }
    return filled
  }
  const { code } = scope
  const length = typeof code === 'string' ? code.length : 0
  const details: { readonly label: string; readonly value: string }[] = []
  for (const { key, label } of words.details) {
    const value = scope[key]
    if (typeof value === 'string') details.push({ label: label(scope), value })
  }
  return {
    heading: words.heading(scope).trim(),
    preheader: cutPreheader(words.preheader(scope)),
    before: fill(words.before),
    text: words.isPlain && typeof scope['plain_email'] === 'string' ? scope['plain_email'] : null,
    shows_code: words.showsCode,
    code_length: length <= 8 ? 'short' : length <= 16 ? 'medium' : 'long',
    details,
    button: words.button?.(scope) ?? null,
    link: words.button ? common.link(scope) : null,
    after: fill(words.after),
    footer: common.footer(scope),
  }
}

interface SmsVariant {
  readonly asWritten: Phrase
  readonly inGsm7: Phrase
}

function compileSms(
  name: string,
  words: string | readonly string[],
  { phrase }: PhraseCompiler,
): readonly SmsVariant[] {
  const known = wordVariables('sms', findKind('sms', name))
  const pointer = `/sms/${name}`
  return [words].flat().map((text, at) => {
    const own = typeof words === 'string' ? pointer : `${pointer}/${at}`
    const plain = transliterate(text)
    const asWritten = phrase(text, known, own)
    return { asWritten, inGsm7: plain === text ? asWritten : phrase(plain, known, own) }
  })
}

/** @param isAlarm what a device reports may be written in plainer letters; a code or a name of a person may not. */
function* fillSms(variants: readonly SmsVariant[], scope: Scope, isAlarm: boolean): Iterable<string> {
  let gsm7Scope: Scope | undefined
  for (const { asWritten, inGsm7 } of variants) {
    yield asWritten(scope)
    // Most texts fit as they are written, and nobody asks for another one.
    gsm7Scope ??= Object.fromEntries(
      Object.entries(scope).map(([name, value]) =>
        typeof value === 'string' && (isAlarm || name === 'validity')
          ? [name, transliterate(value)]
          : [name, value],
      ),
    )
    yield inGsm7(gsm7Scope)
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

/** Far more than a language's words for the lives of messages have. */
const MAX_OUTCOMES = 100

interface PhraseCompiler {
  /**
   * @param known the variables that it may name
   * @param pointer where it stands in the language file, to name the line of a fault
   * @throws TemplateFault for words that do not compile or name another variable; the phrase does, when it is compiled
   *   later
   */
  phrase(words: string, known: ReadonlySet<string>, pointer: string): Phrase
  /** The same for one phrase, several, or none. */
  phrases(
    words: string | readonly string[] | undefined,
    known: ReadonlySet<string>,
    pointer: string,
  ): readonly Phrase[]
}

/**
 * Makes the compiler of a language file's phrases.
 * @param source the file's text
 * @param compileNow whether each phrase is compiled at once, so that a fault shows, or when it is first said
 */
function createPhraseCompiler(source: string, engine: Engine, compileNow: boolean): PhraseCompiler {
  function compile(words: string, known: ReadonlySet<string>, pointer: string): Phrase {
    try {
      const compiled = engine.compile(words, known)
      return PRINTING.test(words) ? putTogether(compiled) : compiled
    } catch (error) {
      throw new TemplateFault(withRemedy(quote(pointer), wordsOf(error)), lineInJson(source, pointer), {
        cause: error,
      })
    }
  }
  function phrase(words: string, known: ReadonlySet<string>, pointer: string): Phrase {
    if (!/\{[{%]/.test(words)) return () => words
    let compiled = compileNow ? compile(words, known, pointer) : undefined
    return scope => (compiled ??= compile(words, known, pointer))(scope)
  }
  return {
    phrase,
    phrases(words = [], known, pointer) {
      if (typeof words === 'string') return [phrase(words, known, pointer)]
      return words.map((one, at) => phrase(one, known, `${pointer}/${at}`))
    },
  }
}

/** Words that only print variables, and ask whether they are there. */
const PRINTING =
  /^(?:[^{\uE000]|\{(?![{%])|\{\{-?\s*\w+(?:\.[a-z]\w*)?\s*-?\}\}|\{%-?\s*(?:if\s+\w+(?:\.[a-z]\w*)?|else|endif)\s*-?%\})*$/

/** A text that was rendered once, in pieces: text, or the number of the string that goes there. */
export type Pieces = readonly (string | number)[]

/** Stands in a scope for string number `at`: between two characters of Unicode's private use area, which no template has. */
export const placeFor = (at: number): string => `\uE000${at}\uE001`

export function piecesOf(rendered: string): Pieces {
  return rendered.split(/\uE000(\d+)\uE001/).map((piece, i) => (i % 2 === 1 ? Number(piece) : piece))
}

/** Puts the strings of a message into their places, which takes a fraction of what Liquid takes. */
export function fillPieces(
  pieces: Pieces,
  strings: readonly (string | null)[],
  escape?: (string: string) => string,
): string {
  let filled = ''
  for (const piece of pieces) {
    const string = typeof piece === 'string' ? piece : (strings[piece] ?? '')
    filled += typeof piece === 'string' || escape === undefined ? string : escape(string)
  }
  return filled
}

/**
 * Renders such words once for each set of variables that are there, with places for their values, and only fills those from then on:
 * Liquid takes 10 µs and 18 KB of garbage for an SMS. A value that is neither text nor null is Liquid's to judge.
 */
function putTogether(compiled: Compiled): Phrase {
  const paths = compiled.variables.map(name => name.split('.') as [string, string?])
  const renderedWith = new Map<string, Pieces>()
  return scope => {
    let there = ''
    const values: (string | null)[] = []
    for (const [name, field] of paths) {
      const own = scope[name]
      const value = field === undefined ? own : (own as JsonObject | null | undefined)?.[field]
      if (typeof value !== 'string' && value !== null) return compiled(scope)
      there += value === null ? '-' : '+'
      values.push(value)
    }
    let pieces = renderedWith.get(there)
    if (pieces === undefined) {
      const places: Record<string, unknown> = {}
      for (const [at, [name, field]] of paths.entries()) {
        const place = values[at] === null ? null : placeFor(at)
        places[name] = field === undefined ? place : { ...(places[name] as object), [field]: place }
      }
      pieces = piecesOf(compiled(places))
      renderedWith.set(there, pieces)
    }
    return fillPieces(pieces, values)
  }
}
