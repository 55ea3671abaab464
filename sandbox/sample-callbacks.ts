import { findMarkedParam, markValue } from '../src/commands/send.ts'
import type { ReaderLanguage } from '../src/language/sentence.ts'
import { type CallbackKind, callbackKinds, PLAIN_KIND } from '../src/messages/kinds.ts'
import type { Channel } from '../src/messages/message.ts'
import { sampleIn } from '../src/messages/samples.ts'

/** A kind of callback as samples are made of it. */
export interface SampleKind {
  readonly channel: Channel
  readonly kind: string
  /** The contract's number; for `plain` one that the contract does not list. */
  readonly type: number
  /** For people: `Registration activation`. */
  readonly title: string
  /** E-mail only. */
  readonly subject: string
  readonly params: Readonly<Record<string, string>>
  /** The parameter that the mark goes into: the code, the link, a name. Empty for `plain`. */
  readonly markedParam: string
}

export interface SampleOptions {
  /** Recipients, separated by commas; SMS in E.164. Default: one that belongs to nobody. */
  readonly to?: string
  /** Chooses among the platform's layouts: its numbers also come as strings, an area code in four forms. Default 0. */
  readonly round?: number
  /** Six digits that make this message unlike any other: the code, a part of the link, a part of the words. */
  readonly mark?: string
  /** Of the subject, and of the names and sentences in it. Default English. */
  readonly language?: ReaderLanguage
}

/** A callback's body, and the words of it that must reach the reader as they are. */
export interface SampleCallback {
  readonly body: Readonly<Record<string, unknown>>
  readonly words: string
  readonly subject: string | null
}

const PLAIN = {
  en: {
    subject: 'Maintenance',
    words: 'Your maintenance window is tonight from 22:00 to 23:00.',
    mark: ' Reference {mark}.',
  },
  'zh-CN': { subject: '系统维护', words: '系统将于今晚 22:00 至 23:00 维护。', mark: '编号 {mark}。' },
} as const satisfies Readonly<Record<ReaderLanguage, object>>

/** Every kind of the registry, and after each channel's a type that no version knows, with the platform's own text. */
export const SAMPLE_KINDS: readonly SampleKind[] = [
  ...callbackKinds.filter(kind => kind.channel === 'email').map(sampleKindOf),
  unknownType('email', 4),
  ...callbackKinds.filter(kind => kind.channel === 'sms').map(sampleKindOf),
  unknownType('sms', 99),
]

export const SAMPLE_RECIPIENT: Readonly<Record<Channel, string>> = {
  email: 'lin.wei@example.com',
  sms: '+8613800138000',
}

export function findSampleKind(channel: Channel, kind: string): SampleKind | undefined {
  return SAMPLE_KINDS.find(sample => sample.channel === channel && sample.kind === kind)
}

/**
 * The body of a callback as the platform would post it.
 * @param kind a kind's name in the registry, or `plain`; undefined comes back for any other.
 */
export function createSampleBody(
  channel: Channel,
  kind: string,
  options?: SampleOptions,
): SampleCallback['body'] | undefined {
  const found = findSampleKind(channel, kind)
  return found && createSampleCallback(found, options).body
}

/** Makes such a body, with the words that must reach the reader. */
export function createSampleCallback(kind: SampleKind, options: SampleOptions = {}): SampleCallback {
  const { to = SAMPLE_RECIPIENT[kind.channel], round = 0, mark, language = 'en' } = options
  const told = sampleIn(language, { sample: kind })
  const subject = kind.kind === PLAIN_KIND ? PLAIN[language].subject : (told.subject ?? kind.subject)
  const { params, words } = markParams({ ...kind, params: told.params }, PLAIN[language], mark)
  const plain = kind.kind === PLAIN_KIND ? words : null
  const laidOut = { type: round % 2 === 0 ? kind.type : String(kind.type), ...varyNumbers(params, round) }
  if (kind.channel === 'sms')
    return {
      body: { sms_param: laidOut, ...varyNumberForm(to, round), plain_sms: plain, plugin_id: null },
      words,
      subject: null,
    }
  return { body: { subject, to, email_param: laidOut, plain_email: plain }, words, subject }
}

function sampleKindOf(kind: CallbackKind): SampleKind {
  const { channel, name, type, sample } = kind
  const { subject = titleOf(name), params } = sample
  const title = titleOf(name)
  return { channel, kind: name, type, title, subject, params, markedParam: findMarkedParam(kind) }
}

function unknownType(channel: Channel, type: number): SampleKind {
  const title = 'Unknown type'
  return { channel, kind: PLAIN_KIND, type, title, subject: PLAIN.en.subject, params: {}, markedParam: '' }
}

function titleOf(name: string): string {
  const words = name.replaceAll('-', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Puts the mark into the parameters. @returns them, and the words that must reach the reader */
function markParams(
  kind: SampleKind,
  plain: (typeof PLAIN)[ReaderLanguage],
  mark?: string,
): { params: Record<string, string>; words: string } {
  if (kind.kind === PLAIN_KIND)
    return {
      params: {},
      words: mark === undefined ? plain.words : `${plain.words}${plain.mark.replace('{mark}', mark)}`,
    }
  const value = kind.params[kind.markedParam] ?? ''
  const words = mark === undefined ? value : markValue(kind.markedParam, value, mark)
  return { params: { ...kind.params, [kind.markedParam]: words }, words }
}

/** Durations and codes come as text or as numbers, depending on which of the platform's clients wrote them. */
function varyNumbers(params: Record<string, string>, round: number): Record<string, unknown> {
  const numeric = round % 2 === 0 ? ['code'] : ['hour', 'minute']
  return Object.fromEntries(
    Object.entries(params).map(([key, value]) => [key, numeric.includes(key) ? Number(value) : value]),
  )
}

/** A single mainland number comes in national form with an area code, in any of its forms; others as they are. */
function varyNumberForm(to: string, round: number): { to: unknown; area_code: unknown } {
  const national = /^\+86(\d{11})$/.exec(to)?.[1]
  if (national === undefined) return { to, area_code: null }
  const forms = [
    { to: national, area_code: '86' },
    { to: national, area_code: '+86' },
    { to: Number(national), area_code: 86 },
    { to: national, area_code: '0086' },
    { to, area_code: null },
  ] as const
  return forms[round % forms.length] ?? forms[0]
}
