import { type MessageKind, messageKinds, parseValidity, VALIDITY_UNIT } from '../messages/kinds.ts'
import { hostOf } from '../messages/links.ts'
import type { Channel, Content } from '../messages/message.ts'
import type { Brand } from './brand.ts'
import type { Scope } from './template-engine.ts'

/** The variables of words and layouts: the kind's parameters, the plain text, brand, locale, validity; no other. */

/** The language of a message, as templates see it. */
export interface LocaleView {
  /** BCP 47. */
  readonly tag: string
  /** Its name in itself. */
  readonly language: string
  readonly dir: 'ltr' | 'rtl'
  /** The sides on which its lines start and end: mail clients read `left` and `right` only. */
  readonly start: 'left' | 'right'
  readonly end: 'left' | 'right'
}

const BRAND = ['name', 'url', 'url_text', 'color', 'on_color', 'ink', 'ink_dark', 'edge'].map(
  field => `brand.${field}`,
)
const LOCALE = ['tag', 'language', 'dir', 'start', 'end'].map(field => `locale.${field}`)
const COMMON = [...BRAND, ...LOCALE, 'validity']
const OF_CHANNEL: Readonly<Record<Channel, readonly string[]>> = {
  email: [...COMMON, 'subject', 'plain_email', 'link.url', 'link.host'],
  sms: [...COMMON, 'plain_sms', 'signature'],
}
/** A mail's finished words, for layouts. */
const WORDS = 'heading preheader before text shows_code code_length details button link after footer'
  .split(' ')
  .map(field => `words.${field}`)

/** The parameters that a kind's words may name. */
function variablesOf(kind: MessageKind): readonly string[] {
  return [...new Set([...kind.required, ...kind.optional, VALIDITY_UNIT[kind.channel]])]
}

/** The names that words may use; of every kind of the channel when `kind` is undefined. */
export function wordVariables(channel: Channel, kind: MessageKind | undefined): ReadonlySet<string> {
  const own = kind ? [kind] : []
  return new Set([...OF_CHANNEL[channel], ...own.flatMap(variablesOf)])
}

/** The names that a mail's layout, or a message's own HTML, may use. */
export const layoutVariables: ReadonlySet<string> = new Set([
  ...OF_CHANNEL.email,
  ...WORDS,
  ...allParams('email'),
])

const NOTHING: Readonly<Record<Channel, Scope>> = { email: blank('email'), sms: blank('sms') }

/**
 * The values of those variables. One that the message does not have is null, so that `if` can ask for it; a variable
 * that no message has is a fault.
 * @param validity the stated validity in words; null when nothing is to be said of it.
 */
export function scopeOf(
  channel: Channel,
  kind: MessageKind | undefined,
  content: Content,
  view: {
    readonly brand: Brand
    readonly locale: LocaleView
    readonly validity: string | null
    readonly signature?: string
  },
): Scope {
  const url = kind?.linkParam === undefined ? undefined : content.params[kind.linkParam]
  const shared = {
    ...NOTHING[channel],
    ...content.params,
    brand: view.brand,
    locale: view.locale,
    validity: view.validity,
  }
  if (channel === 'sms')
    return { ...shared, plain_sms: content.plain ?? null, signature: view.signature ?? view.brand.name }
  return {
    ...shared,
    subject: content.subject ?? null,
    plain_email: content.plain ?? null,
    link: url === undefined ? { url: null, host: null } : { url, host: hostOf(url) },
  }
}

/** The variables that are the same in every message of one language: brand and locale. */
export function fixedVariables(
  brand: Brand,
  { tag, language, dir, start, end }: LocaleView,
): ReadonlyMap<string, string> {
  const fixed = new Map<string, string>()
  for (const [key, value] of Object.entries(brand))
    if (typeof value === 'string') fixed.set(`brand.${key}`, value)
  for (const [key, value] of Object.entries({ tag, language, dir, start, end }))
    fixed.set(`locale.${key}`, value)
  return fixed
}

/** The stated validity of a message in a language's words; null when the platform stated none, or it has no words for one so short. */
export function formatStatedValidity(
  language: { formatValidity(ms: number): string | null },
  channel: Channel,
  content: Content,
): string | null {
  const unit = VALIDITY_UNIT[channel]
  const ms = parseValidity(unit, content.params[unit])
  return ms === null ? null : language.formatValidity(ms)
}

function allParams(channel: Channel): readonly string[] {
  return [...new Set(messageKinds.filter(kind => kind.channel === channel).flatMap(variablesOf))]
}

function blank(channel: Channel): Scope {
  return Object.fromEntries(allParams(channel).map(key => [key, null]))
}
