import { Ajv, type DefinedError, type ValidateFunction } from 'ajv'
import { quote, say, tell, type Words, withRemedy } from '../language/sentence.ts'
import { findKind, messageKinds, PLAIN_KIND, UNIT_MS as STATED } from '../messages/kinds.ts'
import type { Channel } from '../messages/message.ts'
import { isObject } from '../runtime/json-object.ts'
import { lineInJson, tellSchemaFault } from '../runtime/yaml-text.ts'
import { TemplateFault } from './template-engine.ts'

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

/** One language, as its file states it. In place of a kind's words may stand the name of a kind that has the same. */
export interface LanguageSource {
  readonly language: string
  readonly dir: 'ltr' | 'rtl'
  /** Unit, those that it uses, to plural category (CLDR) to words; `{{ n }}` is the number. */
  readonly validity: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly common: { readonly link: string; readonly footer: string }
  readonly mail: Readonly<Record<string, string | MailWordsSource>>
  /** Variants from the fullest to the shortest: the first that fits one segment is sent. */
  readonly sms: Readonly<Record<string, string | readonly string[]>>
}

/** The units that a language may have words for, from the smallest. */
const DURATION_UNITS = ['second', 'minute', 'hour', 'day'] as const
export type DurationUnit = (typeof DURATION_UNITS)[number]

const UNIT_MS: Readonly<Record<DurationUnit, number>> = { second: 1000, ...STATED, day: 24 * STATED.hour }

/**
 * A life in the unit that a person would say it in: 90 minutes, 24 hours, 3 days. Rounded down where it does not come
 * out even, so that nothing is promised longer than it holds; never 0.
 * @param has whether there are words for a unit; in place of one that there are none for, the next smaller one is said
 * @returns null when there are only words for larger units
 */
export function toReadableDuration(
  ms: number,
  has: (unit: DurationUnit) => boolean = () => true,
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
const labels = { type: 'object', additionalProperties: text } as const

/** An object that has the members of `properties`, those of `required` at least, and no other. */
const closed = (properties: Readonly<Record<string, object>>, required: readonly string[] = []) =>
  ({ type: 'object', properties, required, additionalProperties: false }) as const

const pluralForms = closed(
  Object.fromEntries(['zero', 'one', 'two', 'few', 'many', 'other'].map(category => [category, text])),
  ['other'],
)

const mailWords = (required: readonly string[]) => ({
  ...closed(
    { heading: text, preheader: text, before: texts, button: text, after: texts, details: labels },
    required,
  ),
  type: ['string', 'object'],
})
const withoutLink = mailWords(['heading', 'preheader'])
const withLink = mailWords(['heading', 'preheader', 'button'])

/** Every kind of a channel is known, and may be missing: it is then said in the fallback language. */
const byKind = (channel: Channel, schemaOf: (name: string) => object) => {
  const kinds = messageKinds.filter(kind => kind.channel === channel).map(({ name }) => name)
  return closed(Object.fromEntries([...kinds, PLAIN_KIND].map(name => [name, schemaOf(name)])))
}
const hasLink = (mail: string) => findKind('email', mail)?.linkParam !== undefined

const top = {
  language: text,
  dir: { enum: ['ltr', 'rtl'] },
  validity: closed(Object.fromEntries(DURATION_UNITS.map(unit => [unit, pluralForms]))),
  common: closed({ link: text, footer: text }, ['link', 'footer']),
  mail: byKind('email', name => (hasLink(name) ? withLink : withoutLink)),
  sms: byKind('sms', () => texts),
}
const schema = closed(top, Object.keys(top))

let validate: ValidateFunction<LanguageSource> | undefined

/** `over` on top of `base`: objects member by member, everything else replaced. */
export function mergeLanguage(
  base: Readonly<Record<string, unknown>>,
  over: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key]
    merged[key] = isObject(below) && isObject(value) ? mergeLanguage(below, value) : value
  }
  return merged
}

/**
 * Checks that a language has everything it needs and nothing that nobody would read (a mistyped name would otherwise
 * just never show).
 * @param source the file's own text, to name lines
 * @throws TemplateFault for the first fault
 */
export function checkLanguage(value: Readonly<Record<string, unknown>>, source: string): LanguageSource {
  // Compiled when a file is checked: the service's own languages never are, and most services have no other.
  validate ??= new Ajv({ allowUnionTypes: true, verbose: true }).compile<LanguageSource>(schema)
  if (!validate(value)) {
    const { pointer, reason } = describe(validate.errors?.[0] as DefinedError)
    throw new TemplateFault(
      say('{path} {problem}', { path: pointer, problem: tell(reason) }),
      lineInJson(source, pointer),
    )
  }
  for (const [name, words] of Object.entries(value.mail)) {
    if (typeof words !== 'string') continue
    const same = value.mail[words]
    const fault =
      typeof same !== 'object'
        ? say('must be the words, or the name of a kind that has them; {words} is none', { words })
        : same.button === undefined && hasLink(name)
          ? say('needs a button; {words} has none', { words })
          : null
    const path = `/mail/${name}`
    if (fault !== null)
      throw new TemplateFault(say('{path} {problem}', { path, problem: fault }), lineInJson(source, path))
  }
  return value
}

/** The pointer to the value at fault, and what is wrong with it: the end of a sentence that quotes no value. */
function describe(error: DefinedError): { readonly pointer: string; readonly reason: Words } {
  const { instancePath: pointer } = error
  switch (error.keyword) {
    case 'additionalProperties': {
      const known = Object.keys(error.parentSchema?.['properties'] as object).join(', ')
      const name = error.params.additionalProperty.replaceAll('~', '~0').replaceAll('/', '~1')
      return { pointer: `${pointer}/${name}`, reason: say('is not known; known are {known}', { known }) }
    }
    case 'required':
      return { pointer: `${pointer}/${error.params.missingProperty}`, reason: 'is missing' }
    case 'pattern':
      return { pointer, reason: 'must not be blank' }
    case 'minItems':
      return { pointer, reason: 'must not be empty' }
    default:
      return { pointer, reason: tellSchemaFault(error) }
  }
}

/** Parses a JSON object. @throws TemplateFault with the line, which quotes nothing of the text */
export function parseJsonFile(text: string): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    // V8's words for it: `Expected ',' or '}' after property value in JSON at position 12 (line 3 column 6)`.
    const { message } = error as SyntaxError
    const [reason = 'a fault'] = /^Unexpected token|^.*?(?= (?:in|after|of) JSON)/.exec(message) ?? []
    const line = Number(/\(line (\d+) /.exec(message)?.[1] ?? lineOfToken(text))
    throw new TemplateFault(withRemedy('not JSON', quote(reason.toLowerCase())), line, { cause: error })
  }
  if (!isObject(value)) throw new TemplateFault('not a JSON object', 1)
  return value
}

/** The line of a token that is not expected, of which V8 does not say where it is: the first that nothing could follow on; else the last. */
function lineOfToken(text: string): number {
  const lines = text.split('\n')
  const before = lines.findIndex((_, at) => {
    try {
      JSON.parse(lines.slice(0, at + 1).join('\n'))
      return false
    } catch (error) {
      return /^Unexpected token\b/.test((error as SyntaxError).message)
    }
  })
  return before < 0 ? lines.length : before + 1
}
