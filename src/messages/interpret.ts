import { faultInLine, faultInText, isBlank } from './characters.ts'
import type { Kind } from './kind.ts'
import { type LinkPolicy, linksIn } from './links.ts'
import type { Channel, Content, Purpose } from './message.ts'
import { kindOf, PLAIN_KIND } from './registry.ts'
import { segments } from './sms-segments.ts'
import { defaultValidity, parseValidity } from './validity.ts'

/** Whose words are said when the platform sent plain text as well. */
export type WordsPolicy = 'ours' | 'platform'

export interface InterpreterOptions {
  readonly emailWords: WordsPolicy
  readonly smsWords: WordsPolicy
  readonly linkPolicy: LinkPolicy
  /** Plain SMS text longer than this is unusable. What our own words come to is only known once rendered. */
  readonly smsMaxSegments?: number
}

export type Interpretation =
  | {
      readonly ok: true
      /** Name of the kind, or `plain` for an unknown type. */
      readonly kind: string
      /** Whether this version knows the type. */
      readonly known: boolean
      readonly purpose: Purpose
      readonly content: Content
      readonly lifeMs: number
    }
  | {
      readonly ok: false
      /** JSON pointer (RFC 6901) to the field at fault. */
      readonly pointer: string
      /** Goes after the pointer in a sentence; never holds the value. */
      readonly why: string
    }

/** `body`: a parsed JSON body that passed emailBodySchema or smsBodySchema. */
export type Interpret = (channel: Channel, body: object) => Interpretation

const FORMS = {
  email: { param: 'email_param', plain: 'plain_email', life: 'hour' },
  sms: { param: 'sms_param', plain: 'plain_sms', life: 'minute' },
} as const

/** Longest value of a parameter that is no link: room for any code, token or name. */
const MAX_VALUE = 1024

/** Most links in running text. */
const MAX_LINKS = 100

/** A field as it was found: nothing, a usable text, or unusable and why. */
type Field = { readonly text: string } | { readonly fault: string } | null

/**
 * Reads a body of the contract into what is to be said: which kind, its parameters as text, whose words, for how long.
 * The contract contradicts itself, so: null, "" and blank are absent; numbers are as good as strings; only a kind's
 * needed keys are insisted on; when one is missing or unusable the platform's plain text is said instead, if there is
 * one; an unknown type is delivered as plain text. Own properties only.
 */
export function createInterpreter(options: InterpreterOptions): Interpret {
  const { linkPolicy } = options
  return (channel, body) => {
    const form = FORMS[channel]
    const given = own(body, form.param)
    if (typeof given !== 'object' || given === null || Array.isArray(given)) {
      return invalid(`/${form.param}`, 'is not an object')
    }
    const subject = channel === 'email' ? line(own(body, 'subject')) : null
    if (channel === 'email' && subject === null) return invalid('/subject', 'is missing or blank')
    if (subject && 'fault' in subject) return invalid('/subject', subject.fault)

    const plain = plainText(own(body, form.plain), channel)
    const type = line(own(given, 'type'))
    const kind = type && 'text' in type ? kindOf(channel, type.text) : undefined
    const stated = line(own(given, form.life))
    const { params, faults } = kind ? readParams(kind, given) : { params: {}, faults: [] }
    const statedMs = stated && 'text' in stated ? parseValidity(form.life, stated.text) : null
    if (stated && 'text' in stated && statedMs !== null) params[form.life] = stated.text

    const preferPlain = (channel === 'email' ? options.emailWords : options.smsWords) === 'platform'
    const usablePlain = plain && 'text' in plain ? plain.text : undefined
    const missing = kind
      ? faults[0]
      : { pointer: `/${form.param}/type`, why: 'is not a known type, and there is no plain text' }
    if (missing && usablePlain === undefined) {
      // The plain text would have been said, had it been usable: that is then the fault to name.
      if (plain && 'fault' in plain) return invalid(`/${form.plain}`, plain.fault)
      return { ok: false, ...missing }
    }
    const sayPlain = usablePlain !== undefined && (missing !== undefined || preferPlain)
    const purpose = kind?.purpose ?? 'plain'
    const pluginId = channel === 'sms' ? line(own(body, 'plugin_id')) : null
    return {
      ok: true,
      kind: kind?.name ?? PLAIN_KIND,
      known: kind !== undefined,
      purpose,
      content: {
        params,
        ...(subject && { subject: subject.text }),
        ...(usablePlain !== undefined && { plain: usablePlain }),
        words: sayPlain ? 'plain' : 'ours',
        ...(pluginId && 'text' in pluginId && { pluginId: pluginId.text }),
      },
      lifeMs: statedMs ?? defaultValidity(purpose, usableCode(given)),
    }
  }

  /** A kind's parameters as text; `faults` names the needed ones that are missing or unusable. */
  function readParams(kind: Kind, given: object) {
    const params: Record<string, string> = {}
    const faults: { readonly pointer: string; readonly why: string }[] = []
    const { param } = FORMS[kind.channel]
    for (const key of [...kind.needed, ...kind.also]) {
      if (key === kind.life) continue
      const field = key === kind.link ? link(own(given, key)) : line(own(given, key))
      if (field && 'text' in field) params[key] = field.text
      else if (kind.needed.includes(key))
        faults.push({ pointer: `/${param}/${key}`, why: field?.fault ?? 'is missing or blank' })
    }
    return { params, faults }
  }

  /** A link is not even trimmed: the reader gets it as it came, or not at all. */
  function link(value: unknown): Field {
    if (absent(value)) return null
    if (typeof value !== 'string') return { fault: 'is not a string' }
    const fault = linkPolicy(value)
    return fault === null ? { text: value } : { fault }
  }

  /** Running text. Its links are held to the same rules: mail clients make them clickable all the same. */
  function plainText(value: unknown, channel: Channel): Field {
    if (absent(value)) return null
    if (typeof value === 'number') return numberAsText(value)
    if (typeof value !== 'string') return { fault: 'is not a string' }
    const text = value.trim()
    const fault = faultInText(text) ?? linkFault(text)
    if (fault !== null) return { fault }
    const max = options.smsMaxSegments
    if (channel === 'sms' && max !== undefined && segments(text).segments > max) {
      return { fault: `is longer than SMS_MAX_SEGMENTS (${max}) allows` }
    }
    return { text }
  }

  function linkFault(text: string): string | null {
    const links = linksIn(text)
    // Each is looked at and marked up, for every recipient: thousands would hold up everybody else.
    if (links.length > MAX_LINKS) return `holds more than ${MAX_LINKS} links`
    for (const url of links) {
      const fault = linkPolicy(url)
      if (fault !== null) return `holds a link that ${fault}`
    }
    return null
  }
}

/** A value on one line: code, name, time, number. */
function line(value: unknown): Field {
  if (absent(value)) return null
  if (typeof value === 'number') return numberAsText(value)
  if (typeof value !== 'string') return { fault: 'is neither text nor a number' }
  const fault = faultInLine(value)
  if (fault !== null) return { fault }
  if (value.length > MAX_VALUE) return { fault: `is longer than ${MAX_VALUE} characters` }
  return { text: value.trim() }
}

/**
 * A number as it was written. JSON.parse rounds integers beyond 2^53 and decimals beyond 15 digits, makes Infinity of
 * 1e400, and String writes 1e-7 for 0.0000001: any of them would send a wrong code.
 */
function numberAsText(value: number): Field {
  const text = String(value)
  const exact = Number.isSafeInteger(value) || /^-?(?=[\d.]{3,16}$)\d+\.\d+$/.test(text)
  return exact ? { text } : { fault: 'is a number that cannot be read exactly' }
}

function absent(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && isBlank(value))
}

function usableCode(given: object): boolean {
  const code = line(own(given, 'code'))
  return code !== null && 'text' in code
}

function own(object: object, key: string): unknown {
  return Object.hasOwn(object, key) ? Reflect.get(object, key) : undefined
}

function invalid(pointer: string, why: string): Interpretation {
  return { ok: false, pointer, why }
}
