import { Ajv, type ValidateFunction } from 'ajv'
import { findKind, messageKinds, PLAIN_KIND, UNIT_MS as STATED } from '../messages/kinds.ts'
import type { Channel } from '../messages/message.ts'
import { isObject } from '../runtime/json-object.ts'
import { parseYaml } from '../runtime/yaml-text.ts'
import { TemplateFault } from './template-engine.ts'
import { wordVariables } from './template-variables.ts'

/** The words of one kind of mail. Plain text with Liquid in it, never HTML: the layout escapes them. */
export interface MailWordsSource {
  readonly heading: string
  readonly preheader: string
  readonly before?: string | readonly string[]
  readonly button?: string
  readonly after?: string | readonly string[]
  /** Parameter to label: printed as rows, those that the message has. */
  readonly details?: Readonly<Record<string, string>>
}

/** One language, as its file states it, but for kinds that have the words of another one: the file names that one. */
export interface LanguageSource {
  readonly language: string
  readonly dir: 'ltr' | 'rtl'
  /** Unit, those that it uses, to plural category (CLDR) to words; `{{ n }}` is the number. */
  readonly validity: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly common: { readonly link: string; readonly footer: string }
  readonly mail: Readonly<Record<string, MailWordsSource>>
  /** Variants from the fullest to the shortest: the first that fits one segment is sent. */
  readonly sms: Readonly<Record<string, string | readonly string[]>>
}

/** The units that a language may have words for, from the smallest. */
const DURATION_UNITS = ['second', 'minute', 'hour', 'day'] as const
type DurationUnit = (typeof DURATION_UNITS)[number]

const UNIT_MS: Readonly<Record<DurationUnit, number>> = { second: 1000, ...STATED, day: 24 * STATED.hour }

/**
 * A life in the unit that a person would say it in: 90 minutes, 24 hours, 3 days. Rounded down where it does not come
 * out even, so that nothing is promised longer than it holds; never 0.
 * @param has whether there are words for a unit; in place of one that there are none for, the next smaller one is said
 * @returns null when there are only words for larger units
 */
export function toReadableDuration(
  ms: number,
  has: (unit: DurationUnit) => boolean,
): { readonly n: number; readonly unit: DurationUnit } | null {
  const usual = DURATION_UNITS.indexOf(usualUnit(ms))
  const unit = DURATION_UNITS.slice(0, usual + 1).findLast(has)
  return unit === undefined ? null : { n: Math.max(1, Math.floor(ms / UNIT_MS[unit])), unit }
}

function usualUnit(ms: number): DurationUnit {
  const { minute, hour, day } = UNIT_MS
  if (ms < minute) return 'second'
  if (ms >= 3 * day || (ms >= 2 * day && ms % day === 0)) return 'day'
  return ms >= 3 * hour || ms % hour === 0 ? 'hour' : 'minute'
}

const text = { type: 'string', pattern: '\\S' } as const
const texts = { type: ['string', 'array'], pattern: '\\S', minItems: 1, items: text } as const

/** An object that has the members of `properties`, those of `required` at least, and no other. */
const closed = (properties: Readonly<Record<string, object>>, required: readonly string[] = []) =>
  ({ type: 'object', properties, required, additionalProperties: false }) as const

const pluralForms = closed(
  Object.fromEntries(['zero', 'one', 'two', 'few', 'many', 'other'].map(category => [category, text])),
  ['other'],
)

const mailWords = (name: string) => {
  const kind = findKind('email', name)
  const labels = Object.fromEntries([...wordVariables('email', kind)].map(key => [key, text]))
  const button = kind?.linkParam === undefined ? [] : ['button']
  return closed(
    { heading: text, preheader: text, before: texts, button: text, after: texts, details: closed(labels) },
    ['heading', 'preheader', ...button],
  )
}

/** Every kind of a channel is known, and may be missing: it is then said in the fallback language. */
const byKind = (channel: Channel, schemaOf: (name: string) => object) => {
  const kinds = messageKinds.filter(kind => kind.channel === channel).map(({ name }) => name)
  return closed(Object.fromEntries([...kinds, PLAIN_KIND].map(name => [name, schemaOf(name)])))
}
const top = {
  language: text,
  dir: { enum: ['ltr', 'rtl'] },
  validity: closed(Object.fromEntries(DURATION_UNITS.map(unit => [unit, pluralForms]))),
  common: closed({ link: text, footer: text }, ['link', 'footer']),
  mail: byKind('email', mailWords),
  sms: byKind('sms', () => texts),
}
const schema = closed(top, Object.keys(top))

let validate: ValidateFunction<LanguageSource> | undefined

/**
 * Reads the operator's file of a language, and checks that the language has everything it needs and nothing that nobody would read (a
 * mistyped name would otherwise just never show).
 * @param base the built-in file of that language, parsed, which the operator's may override in parts; undefined: there is none
 * @returns `lineAt` gives the line of a key in the file, or of the nearest thing around it
 * @throws TemplateFault for the first fault
 */
export function readLanguageFile(text: string, base: unknown) {
  // Compiled when a file is checked: the service's own languages never are, and most services have no other.
  validate ??= new Ajv({ allowUnionTypes: true, validateSchema: false }).compile<LanguageSource>(schema)
  const read = parseYaml(text, validate, own => withWordsByName(merge(base, own)))
  if ('fault' in read) throw new TemplateFault(read.fault.reason, read.fault.line)
  return read
}

/** `over` on top of `base`: objects member by member, everything else replaced. */
function merge(base: unknown, over: unknown): unknown {
  if (!isObject(base) || !isObject(over)) return over
  const merged = Object.entries(over).map(([key, value]) => [key, merge(base[key], value)])
  return { ...base, ...Object.fromEntries(merged) }
}

/** Puts the words of a kind in the place of its name, where another kind has the same. */
export function withWordsByName(language: unknown): unknown {
  if (!isObject(language) || !isObject(language['mail'])) return language
  const { mail } = language
  const entries = Object.entries(mail).map(([name, words]) => [
    name,
    (typeof words === 'string' && mail[words]) || words,
  ])
  return { ...language, mail: Object.fromEntries(entries) }
}
