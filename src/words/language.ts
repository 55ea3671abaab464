import { kindNamed, PLAIN_KIND } from '../messages/registry.ts'
import { transliterate } from '../messages/sms-segments.ts'
import { DURATION_UNITS, toReadableDuration } from './duration.ts'
import { jsonLines } from './json-lines.ts'
import type { LanguageSource, MailWordsSource } from './language-file.ts'
import { lineFor } from './language-file.ts'
import type { Engine, Scope } from './template-engine.ts'
import { TemplateFault } from './template-engine.ts'
import { type LocaleView, wordVariables } from './template-variables.ts'

/** A mail's words, ready for a layout: text that still has to be escaped. */
export interface MailWords {
  readonly heading: string
  /** What a list of mails shows beside the subject; under 90 characters. */
  readonly preheader: string
  readonly before: readonly string[]
  /** The platform's plain text, when that is what is said. */
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

export interface Language extends LocaleView {
  /** Kinds that it has words for, `channel/name`. */
  readonly has: ReadonlySet<string>
  /** Plural forms that its rules ask for and it has not: `validity/hour/two`. */
  readonly lacks: readonly string[]
  /** "10 minutes". */
  validity(ms: number): string
  /** `name`: a kind that it has, or `plain`. */
  mail(name: string, scope: Scope): MailWords
  /** The variants of an SMS, from the fullest to the shortest, each as written and in the GSM-7 alphabet. */
  sms(name: string, scope: Scope): Iterable<string>
}

type Phrase = (scope: Scope) => string

/** Preheaders are cut by mail clients anywhere from 35 to 90 characters. */
const PREHEADER_MAX = 89

/**
 * Compiles a language's words.
 * @param text the file, to name lines
 * @throws TemplateFault for words that do not compile or name what their kind does not have
 */
export function compileLanguage(tag: string, source: LanguageSource, text: string, engine: Engine): Language {
  const lines = jsonLines(text)
  const phrase = (words: string, known: ReadonlySet<string>, pointer: string): Phrase => {
    if (!/\{[{%]/.test(words)) return () => words
    try {
      const compiled = engine.compile(words, known)
      return engine.namesIn(words).every(name => SHARED.test(name)) ? remembered(compiled) : compiled
    } catch (error) {
      throw new TemplateFault(`${pointer}: ${(error as Error).message}`, lineFor(lines, pointer), {
        cause: error,
      })
    }
  }
  const phrases = (
    words: string | readonly string[] | undefined,
    known: ReadonlySet<string>,
    pointer: string,
  ) =>
    words === undefined
      ? []
      : typeof words === 'string'
        ? [phrase(words, known, pointer)]
        : words.map((one, i) => phrase(one, known, `${pointer}/${i}`))

  const validities = new Map<number, string>()
  const plurals = new Intl.PluralRules(tag)
  /** The forms that the numbers of a validity, 1 to a month in hours, ever ask for. */
  const asked = [...new Set(Array.from({ length: 720 }, (_, i) => plurals.select(i + 1)))]
  const anyMail = wordVariables('email', undefined)
  const units = mapValues(source.validity, (forms, unit) =>
    mapValues(forms, (form, category) => phrase(form, new Set(['n']), `/validity/${unit}/${category}`)),
  )
  const common = {
    link: phrase(source.common.link, anyMail, '/common/link'),
    footer: phrase(source.common.footer, anyMail, '/common/footer'),
  }
  const mail = new Map(Object.keys(source.mail).map(name => [name, mailPhrases(name)]))
  const sms = new Map(
    Object.entries(source.sms).map(([name, words]) => {
      const known = wordVariables('sms', kindNamed('sms', name))
      const variants = typeof words === 'string' ? [words] : words
      return [
        name,
        variants.map((words, i) => {
          const pointer = typeof source.sms[name] === 'string' ? `/sms/${name}` : `/sms/${name}/${i}`
          return {
            written: phrase(words, known, pointer),
            plain: phrase(transliterate(words), known, pointer),
          }
        }),
      ]
    }),
  )

  function mailPhrases(name: string) {
    const entry = source.mail[name]
    const from = typeof entry === 'string' ? entry : name
    const words = source.mail[from] as MailWordsSource
    const kind = kindNamed('email', name)
    const known = wordVariables('email', kind)
    const at = `/mail/${from}`
    for (const key of Object.keys(words.details ?? {})) {
      if (!known.has(key))
        throw new TemplateFault(
          `${at}/details: unknown parameter: ${key}`,
          lineFor(lines, `${at}/details/${key}`),
        )
    }
    return {
      heading: phrase(words.heading, known, `${at}/heading`),
      preheader: phrase(words.preheader, known, `${at}/preheader`),
      before: phrases(words.before, known, `${at}/before`),
      after: phrases(words.after, known, `${at}/after`),
      button: words.button === undefined ? null : phrase(words.button, known, `${at}/button`),
      details: Object.entries(words.details ?? {}).map(([key, label]) => ({
        key,
        label: phrase(label, known, `${at}/details/${key}`),
      })),
      showsCode: kind?.needed.includes('code') ?? false,
    }
  }

  return {
    tag,
    language: source.language,
    dir: source.dir,
    start: source.dir === 'rtl' ? 'right' : 'left',
    end: source.dir === 'rtl' ? 'left' : 'right',
    has: new Set([
      ...[...mail.keys()].map(name => `email/${name}`),
      ...[...sms.keys()].map(name => `sms/${name}`),
    ]),
    lacks: DURATION_UNITS.flatMap(unit =>
      asked.filter(category => !units[unit]?.[category]).map(category => `validity/${unit}/${category}`),
    ),
    validity(ms) {
      const known = validities.get(ms)
      if (known !== undefined) return known
      const { n, unit } = toReadableDuration(ms)
      const forms = units[unit]
      const form = forms?.[plurals.select(n)] ?? forms?.['other']
      const said = form ? form({ n }) : ''
      if (validities.size < OUTCOMES) validities.set(ms, said)
      return said
    },
    mail(name, scope) {
      const words = mail.get(name)
      if (!words) throw new Error(`${tag} has no words for mail ${name}`)
      const said = (list: readonly Phrase[]) => list.map(one => one(scope).trim()).filter(text => text !== '')
      return {
        heading: words.heading(scope).trim(),
        preheader: cut(words.preheader(scope)),
        before: said(words.before),
        text: name === PLAIN_KIND && typeof scope['plain_email'] === 'string' ? scope['plain_email'] : null,
        shows_code: words.showsCode,
        code_length: lengthOf(scope['code']),
        details: words.details.flatMap(({ key, label }) => {
          const value = scope[key]
          return typeof value === 'string' ? [{ label: label(scope), value }] : []
        }),
        button: words.button?.(scope) ?? null,
        link: words.button ? common.link(scope) : null,
        after: said(words.after),
        footer: common.footer(scope),
      }
    },
    *sms(name, scope) {
      const variants = sms.get(name)
      if (!variants) throw new Error(`${tag} has no words for SMS ${name}`)
      const validity = scope['validity']
      const inGsm = typeof validity === 'string' ? transliterate(validity) : validity
      for (const { written, plain } of variants) {
        yield written(scope)
        if (plain !== null || inGsm !== validity) yield (plain ?? written)({ ...scope, validity: inGsm })
      }
    },
  }
}

/** Names whose values many messages share; with nothing else in it, a phrase has few different outcomes. */
const SHARED = /^(?:validity|brand\.\w+|locale\.\w+)$/
const OUTCOMES = 100

/** Renders once for each validity. Nothing that belongs to one message is ever kept. */
function remembered(compiled: Phrase): Phrase {
  const outcomes = new Map<unknown, string>()
  return scope => {
    const known = outcomes.get(scope['validity'])
    if (known !== undefined) return known
    const said = compiled(scope)
    if (outcomes.size < OUTCOMES) outcomes.set(scope['validity'], said)
    return said
  }
}

function lengthOf(code: unknown): MailWords['code_length'] {
  const length = typeof code === 'string' ? code.length : 0
  return length <= 8 ? 'short' : length <= 16 ? 'medium' : 'long'
}

/** One line, short enough for a preheader, cut between words where there are any. */
function cut(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  const chars = Array.from(line)
  if (chars.length <= PREHEADER_MAX) return line
  const short = chars.slice(0, PREHEADER_MAX - 1).join('')
  const space = short.lastIndexOf(' ')
  return `${space > PREHEADER_MAX / 2 ? short.slice(0, space) : short}…`
}

function mapValues<T, U>(
  record: Readonly<Record<string, T>>,
  change: (value: T, key: string) => U,
): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]))
}
