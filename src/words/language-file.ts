import type { Channel } from '../messages/message.ts'
import { messageKinds, PLAIN_KIND } from '../messages/registry.ts'
import { DURATION_UNITS } from './duration.ts'
import { jsonLines, lineOfSyntaxError } from './json-lines.ts'
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
  /** Unit to plural category (CLDR) to words; `{{ n }}` is the number. */
  readonly validity: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly common: { readonly link: string; readonly footer: string }
  readonly mail: Readonly<Record<string, string | MailWordsSource>>
  /** Variants from the fullest to the shortest: the first that fits one segment is sent. */
  readonly sms: Readonly<Record<string, string | readonly string[]>>
}

/** Reads a language file's JSON. @throws TemplateFault with the line */
export function readJson(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/ in JSON at position.*$/, '') : 'not JSON'
    throw new TemplateFault(`not JSON: ${reason}`, lineOfSyntaxError(text), { cause: error })
  }
  throw new TemplateFault('not a JSON object', 1)
}

/** `over` on top of `base`: objects member by member, everything else replaced. */
export function merge(
  base: Readonly<Record<string, unknown>>,
  over: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key]
    merged[key] = isObject(below) && isObject(value) ? merge(below, value) : value
  }
  return merged
}

/**
 * Checks that a language has everything it needs and nothing that nobody would read (a mistyped name would otherwise
 * just never show). Kinds may be missing: they are then said in the fallback language.
 * @param text the file's own text, to name lines
 * @throws TemplateFault for the first fault
 */
export function checkLanguage(value: Readonly<Record<string, unknown>>, text: string): LanguageSource {
  const lines = jsonLines(text)
  const fail = (pointer: string, reason: string): never => {
    throw new TemplateFault(`${pointer} ${reason}`, lineFor(lines, pointer))
  }
  const string = (at: unknown, pointer: string) =>
    typeof at === 'string' && at.trim() !== '' ? at : fail(pointer, 'must be text')
  const strings = (at: unknown, pointer: string) => {
    if (Array.isArray(at) && at.length > 0)
      for (const [i, item] of at.entries()) string(item, `${pointer}/${i}`)
    else string(at, pointer)
  }
  const members = (at: unknown, pointer: string, allowed?: readonly string[]) => {
    if (!isObject(at)) return fail(pointer, 'must be an object')
    const stranger = allowed && Object.keys(at).find(key => !allowed.includes(key))
    if (stranger !== undefined)
      fail(`${pointer}/${stranger}`, `is not known; known are ${allowed?.join(', ')}`)
    return at
  }

  const top = members(value, '', ['language', 'dir', 'validity', 'common', 'mail', 'sms'])
  string(top['language'], '/language')
  if (top['dir'] !== 'ltr' && top['dir'] !== 'rtl') fail('/dir', 'must be ltr or rtl')
  const validity = members(top['validity'], '/validity', DURATION_UNITS)
  for (const unit of DURATION_UNITS) {
    const forms = members(validity[unit], `/validity/${unit}`, ['zero', 'one', 'two', 'few', 'many', 'other'])
    string(forms['other'], `/validity/${unit}/other`)
    for (const [category, form] of Object.entries(forms)) string(form, `/validity/${unit}/${category}`)
  }
  const common = members(top['common'], '/common', ['link', 'footer'])
  string(common['link'], '/common/link')
  string(common['footer'], '/common/footer')

  const mail = members(top['mail'], '/mail', names('email'))
  for (const [name, words] of Object.entries(mail)) {
    const at = `/mail/${name}`
    const hasLink = messageKinds.some(kind => kind.name === name && kind.link !== undefined)
    if (typeof words === 'string') {
      const same = mail[words]
      if (!isObject(same))
        fail(at, `must be the words, or the name of a kind that has them; ${words} is none`)
      else if (hasLink) string(same['button'], `/mail/${words}/button`)
      continue
    }
    const fields = members(words, at, ['heading', 'preheader', 'before', 'button', 'after', 'details'])
    string(fields['heading'], `${at}/heading`)
    string(fields['preheader'], `${at}/preheader`)
    if (hasLink) string(fields['button'], `${at}/button`)
    if (fields['before'] !== undefined) strings(fields['before'], `${at}/before`)
    if (fields['after'] !== undefined) strings(fields['after'], `${at}/after`)
    const details = fields['details'] === undefined ? {} : members(fields['details'], `${at}/details`)
    for (const [key, label] of Object.entries(details)) string(label, `${at}/details/${key}`)
  }
  const sms = members(top['sms'], '/sms', names('sms'))
  for (const [name, words] of Object.entries(sms)) strings(words, `/sms/${name}`)
  return value as unknown as LanguageSource
}

/** The line of a value, or of the nearest thing around it that the file has. */
export function lineFor(lines: ReadonlyMap<string, number>, pointer: string): number | undefined {
  for (let at = pointer; ; at = at.slice(0, at.lastIndexOf('/'))) {
    const line = lines.get(at)
    if (line !== undefined || at === '') return line
  }
}

function names(channel: Channel): readonly string[] {
  return [...messageKinds.filter(kind => kind.channel === channel).map(kind => kind.name), PLAIN_KIND]
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
