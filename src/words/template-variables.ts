import { type MessageKind, messageKinds, parseValidity, VALIDITY_UNIT } from '../messages/kinds.ts'
import { hostOf } from '../messages/links.ts'
import type { Channel, Content } from '../messages/message.ts'
import type { Sample } from '../messages/samples.ts'
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
  email: [...COMMON, 'subject', 'plain_email', 'link.url', 'link.host', 'webotp'],
  sms: [...COMMON, 'plain_sms', 'signature'],
}
/** A mail's finished words, for layouts. */
const WORDS = 'heading preheader before text shows_code code_length details button link after footer'
  .split(' ')
  .map(field => `words.${field}`)

/** The parameters that the words of these kinds may name. */
function paramsOf(kinds: readonly MessageKind[]): readonly string[] {
  return kinds.flatMap(({ channel, params }) => [...params, VALIDITY_UNIT[channel]])
}

const paramsOfAll = (channel: Channel) => paramsOf(messageKinds.filter(kind => kind.channel === channel))

/** The names that words may use; of every kind of the channel when `kind` is undefined. */
export function wordVariables(channel: Channel, kind: MessageKind | undefined): ReadonlySet<string> {
  return new Set([...OF_CHANNEL[channel], ...paramsOf(kind ? [kind] : [])])
}

/** The names that a mail's layout, or a message's own HTML, may use. */
export const layoutVariables: ReadonlySet<string> = new Set([
  ...OF_CHANNEL.email,
  ...WORDS,
  ...paramsOfAll('email'),
])

const blank = (channel: Channel): Scope => Object.fromEntries(paramsOfAll(channel).map(key => [key, null]))
const NOTHING: Readonly<Record<Channel, Scope>> = { email: blank('email'), sms: blank('sms') }

/**
 * The values of those variables. One that the message does not have is null, so that `if` can ask for it; a variable
 * that no message has is a fault.
 */
export function scopeOf(
  { channel, kind, content }: Sample,
  language: LocaleView & { formatValidity(ms: number): string | null },
  brand: Brand,
  signature: string = brand.name,
): Scope {
  const url = kind?.linkParam === undefined ? undefined : content.params[kind.linkParam]
  // In words; null when the platform stated none, or the language has no words for one so short.
  const unit = VALIDITY_UNIT[channel]
  const stated = parseValidity(unit, content.params[unit])
  const shared = {
    ...NOTHING[channel],
    ...content.params,
    brand,
    locale: language,
    validity: stated === null ? null : language.formatValidity(stated),
  }
  if (channel === 'sms') return { ...shared, plain_sms: content.plain ?? null, signature }
  return {
    ...shared,
    subject: content.subject ?? null,
    plain_email: content.plain ?? null,
    webotp: null,
    link: url === undefined ? { url: null, host: null } : { url, host: hostOf(url) },
  }
}

/** The codes that the origin-bound one-time code format allows: a browser would not read any other. */
const WEBOTP_CODE = /^[\w-]{1,64}$/

/** The last line of a message with a code (WICG, "Origin-bound one-time codes delivered via SMS"); null: it has none. */
export function webotpLine(domain: string | undefined, { params }: Content): string | null {
  const { code = '' } = params
  return domain !== undefined && WEBOTP_CODE.test(code) ? `@${domain} #${code}` : null
}

export interface BrandSettings {
  readonly name: string
  readonly url?: string
  /** `#rgb` or `#rrggbb`. */
  readonly color?: string
}

const DEFAULT_COLOR = '#1f5fd0'
const BLACK = '#000000'
const WHITE = '#ffffff'
/** The grounds that the built-in layout puts text on; the harder one of each pair decides. */
const LIGHT_PAGE = '#f3f4f6'
const DARK_CARD = '#1b1e24'
/** WCAG 2.2, 1.4.3: contrast of normal text, level AA. */
const READABLE = 4.5

/** The brand as templates see it: besides the settings, colours that stay readable whatever the brand's own is. */
export interface Brand {
  readonly name: string
  readonly url: string | null
  /** The url without its scheme, as people write it. */
  readonly url_text: string | null
  readonly color: string
  /** Text on `color`: black or white, whichever reads better (4.5:1 or more). */
  readonly on_color: string
  /** Text in the brand's hue on a white card and on the light page, 4.5:1 or more. */
  readonly ink: string
  /** The same on the card of dark mode. */
  readonly ink_dark: string
  /** A border that parts a button in `color` from either card. */
  readonly edge: string
}

/** @throws TypeError when the colour is not `#rgb` or `#rrggbb`. */
export function createBrand({ name, url, color = DEFAULT_COLOR }: BrandSettings): Brand {
  const own = format(parse(color))
  const ink = mixUntilReadable(own, BLACK, LIGHT_PAGE)
  const ink_dark = mixUntilReadable(own, WHITE, DARK_CARD)
  const onWhite = contrastOf(own, WHITE)
  return {
    name,
    url: url ?? null,
    url_text: url === undefined ? null : url.replace(/^https?:\/\//i, '').replace(/\/$/, ''),
    color: own,
    on_color: onWhite >= READABLE || onWhite > contrastOf(own, BLACK) ? WHITE : BLACK,
    ink,
    ink_dark,
    edge: onWhite < 1.5 ? ink : contrastOf(own, DARK_CARD) < 1.5 ? ink_dark : own,
  }
}

/** `from`, mixed with just enough of `to` to be read on `ground`. */
function mixUntilReadable(from: string, to: string, ground: string): string {
  const goal = parse(to)
  for (let share = 0; share < 1; share += 0.02) {
    const mixed = parse(from).map((value, i) => Math.round(value + ((goal[i] ?? 0) - value) * share))
    if (contrastOf(format(mixed), ground) >= READABLE) return format(mixed)
  }
  return to
}

/** WCAG 2.2 contrast ratio of two colours, `#rgb` or `#rrggbb`: 1 to 21. */
export function contrastOf(a: string, b: string): number {
  const [one, other] = [luminance(a) + 0.05, luminance(b) + 0.05]
  return Math.max(one, other) / Math.min(one, other)
}

/** Relative luminance, WCAG 2.2. */
function luminance(color: string): number {
  const [r = 0, g = 0, b = 0] = parse(color).map(value =>
    value <= 10.31475 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4,
  )
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

/** Red, green and blue, 0 to 255 each. */
function parse(color: string): readonly number[] {
  const hex = /^#([\da-f]{3}|[\da-f]{6})$/i.exec(color)?.[1]
  if (hex === undefined) throw new TypeError(`not a colour: ${color} (write #rrggbb)`)
  const full = hex.length === 3 ? hex.replace(/./g, '$&$&') : hex
  const value = Number.parseInt(full, 16)
  return [value >> 16, (value >> 8) & 255, value & 255]
}

function format(color: readonly number[]): string {
  return `#${color.map(value => value.toString(16).padStart(2, '0')).join('')}`
}
