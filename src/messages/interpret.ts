import {
  confineName,
  findCodeFault,
  findLineFault,
  findTextFault,
  isAbsent,
  trimBlanks,
} from './characters.ts'
import type { CallbackKind } from './kinds.ts'
import { defaultValidity, findKindByType, PLAIN_KIND, parseValidity, VALIDITY_UNIT } from './kinds.ts'
import { defuseLinks, findLinksInText, LINK_IN_TEXT, type LinkPolicy } from './links.ts'
import type { Channel, Content, Purpose } from './message.ts'
import { countSegments } from './sms-segments.ts'

export interface InterpreterOptions {
  /** Channels in which the platform's plain text is sent, when it sent some. */
  readonly platformWords?: ReadonlySet<Channel>
  readonly linkPolicy: LinkPolicy
  /** Plain SMS text longer than this is unusable. How long our own words are is only known once rendered. */
  readonly smsMaxSegments?: number
}

export type Interpretation =
  | {
      readonly ok: true
      /** Name of the kind, or `plain` for an unknown type. */
      readonly kind: string
      readonly purpose: Purpose
      readonly content: Content
      readonly validityMs: number
    }
  | Invalid

interface Invalid {
  readonly ok: false
  /** JSON pointer (RFC 6901) to the field at fault. */
  readonly pointer: string
  /** Goes after the pointer in a sentence; never holds the value. */
  readonly why: string
}

/** `body`: a parsed JSON body that passed emailBodySchema or smsBodySchema. */
export type Interpret = (channel: Channel, body: object) => Interpretation

const KEYS = {
  email: { param: 'email_param', plain: 'plain_email' },
  sms: { param: 'sms_param', plain: 'plain_sms' },
} as const

/** Most links in running text. */
const MAX_LINKS = 100

/**
 * Interprets a body of the contract: which kind, its parameters as text, whose words, for how long.
 * The contract contradicts itself, so: null, "" and blank are absent; numbers are as good as strings; only a kind's
 * required parameters are insisted on; when one is missing or unusable the platform's plain text is sent instead, if
 * there is one; an unknown type is delivered as plain text. Own properties only.
 */
export function createInterpreter(options: InterpreterOptions): Interpret {
  return (channel, body) => {
    const keys = KEYS[channel]
    const given = readOwn(body, keys.param) as object
    const subject = channel === 'email' ? readName(readOwn(body, 'subject')) : ABSENT
    if (channel === 'email' && subject.text === undefined)
      return invalid('/subject', subject.fault ?? 'is missing or blank')

    const plainField = readField(
      readOwn(body, keys.plain),
      text => findTextFault(text) ?? findPlainTextFault(channel, text, options),
      text => text.trim(),
    )
    const { text: plain } = plainField
    const { text: type } = readLine(readOwn(given, 'type'))
    const kind = type === undefined ? undefined : findKindByType(channel, type)
    const { params, fault } = kind
      ? readParams(kind, given, options.linkPolicy)
      : {
          params: {},
          fault: invalid(`/${keys.param}/type`, 'is not a known type, and there is no plain text'),
        }
    if (fault && plain === undefined) {
      // The plain text would have been sent, had it been usable: that is then the fault to name.
      return plainField.fault === undefined ? fault : invalid(`/${keys.plain}`, plainField.fault)
    }

    const unit = VALIDITY_UNIT[channel]
    const { text: stated } = readLine(readOwn(given, unit))
    const statedMs = parseValidity(unit, stated)
    const purpose = kind?.purpose ?? 'plain'
    const pluginId = channel === 'sms' ? readLine(readOwn(body, 'plugin_id')).text : undefined
    return {
      ok: true,
      kind: kind?.name ?? PLAIN_KIND,
      purpose,
      content: {
        params: stated !== undefined && statedMs !== null ? { ...params, [unit]: stated } : params,
        ...(subject.text !== undefined && { subject: subject.text }),
        ...(plain !== undefined && { plain }),
        words: plain !== undefined && (fault || options.platformWords?.has(channel)) ? 'plain' : 'ours',
        ...(pluginId !== undefined && { pluginId }),
      },
      validityMs: statedMs ?? defaultValidity(purpose, readLine(readOwn(given, 'code')).text !== undefined),
    }
  }
}

/** A kind's parameters as text, without its validity, and the first required one that is missing or unusable. */
function readParams(kind: CallbackKind, given: object, linkPolicy: LinkPolicy) {
  const params: Record<string, string> = {}
  let fault: Invalid | undefined
  for (const key of kind.params) {
    if (key === VALIDITY_UNIT[kind.channel]) continue
    const value = readOwn(given, key)
    const findFault = { [kind.linkParam ?? '']: linkPolicy, code: findTypedFault }[key]
    const field = findFault === undefined ? readName(value) : readField(value, findFault)
    if (field.text !== undefined) params[key] = field.text
    else if (kind.required.includes(key))
      fault ??= invalid(`/${KEYS[kind.channel].param}/${key}`, field.fault ?? 'is missing or blank')
  }
  return { params, fault }
}

/** Says why a plain text must not be sent. Its links are judged like any: mail clients make them clickable all the same. */
function findPlainTextFault(
  channel: Channel,
  text: string,
  { linkPolicy, smsMaxSegments: max }: InterpreterOptions,
): string | null {
  const links = text.match(LINK_IN_TEXT) ?? []
  // Each is judged and marked up, for every recipient: thousands would hold up everybody else.
  if (links.length > MAX_LINKS) return `holds more than ${MAX_LINKS} links`
  const faults = [...links.map(linkPolicy), ...findLinksInText(text).map(linkPolicy.inText)]
  const fault = faults.find(each => each !== null)
  if (fault !== undefined) return `holds a link that ${fault}`
  if (channel === 'sms' && max !== undefined && countSegments(text).segments > max) {
    return `is longer than SMS_MAX_SEGMENTS (${max}) allows`
  }
  return null
}

function invalid(pointer: string, why: string): Invalid {
  return { ok: false, pointer, why }
}

/** A field of a callback's body as it was found: a usable text, or unusable and why; neither: it is absent. */
interface FieldResult {
  readonly text?: string
  readonly fault?: string
}
const ABSENT: FieldResult = {}

/** Longest value of a parameter that is no link: room for any code, token or name. */
const MAX_VALUE = 1024
const MAX_CODE = 32

/** An own property of a body; undefined when there is none. */
function readOwn(object: object, key: string): unknown {
  return Object.hasOwn(object, key) ? Reflect.get(object, key) : undefined
}

/**
 * Reads a field. @param findFault says why its text must not be sent. @param clean takes away what stands around the text before it is
 * judged: of a value on one line blanks alone, so that a line end is a fault
 */
function readField(
  value: unknown,
  findFault: (text: string) => string | null,
  clean: (text: string) => string = trimBlanks,
): FieldResult {
  if (isAbsent(value)) return ABSENT
  if (typeof value !== 'string' && typeof value !== 'number') return { fault: 'is neither text nor a number' }
  const text = typeof value === 'string' ? clean(value) : numberAsText(value)
  if (text === null) return { fault: 'is a number that cannot be read exactly' }
  const fault = findFault(text)
  return fault === null ? { text: text.trim() } : { fault }
}

/** A value on one line: code, name, time, number. */
function readLine(value: unknown): FieldResult {
  return readField(value, findValueFault)
}

function findValueFault(line: string): string | null {
  return findLineFault(line) ?? (line.length > MAX_VALUE ? `is longer than ${MAX_VALUE} characters` : null)
}

/** Says why a text is no code that somebody types: short, and nothing that can be clicked. */
function findTypedFault(code: string): string | null {
  const fault = findValueFault(code)
  if (fault !== null) return fault
  if (code.length > MAX_CODE) return `is longer than ${MAX_CODE} characters`
  return findCodeFault(code) ?? (findLinksInText(code).length > 0 ? 'holds a link' : null)
}

/** Reads a name of somebody or something. It keeps its place, a tab in it is a blank, and a link in it is shown and cannot be clicked. */
function readName(value: unknown): FieldResult {
  const field = readLine(typeof value === 'string' ? value.replaceAll('\t', ' ') : value)
  return field.text === undefined ? field : { text: defuseLinks(confineName(field.text)) }
}

/**
 * A number as it was written. JSON.parse rounds integers beyond 2^53 and decimals beyond 15 digits, makes Infinity of
 * 1e400, and String writes 1e-7 for 0.0000001: any of them would send a wrong code, so there is none.
 */
function numberAsText(value: number): string | null {
  const text = String(value)
  return Number.isSafeInteger(value) || /^-?(?=[\d.]{3,16}$)\d+\.\d+$/.test(text) ? text : null
}

/**
 * The coarse shape of the two callback bodies, for ajv with `coerceTypes` off. Only what must hold before anything can
 * be read is refused here; what a kind needs, and what its values must be, is judged in interpret.ts, because a wrong
 * optional parameter costs a message a word, not its delivery.
 */

/** A Java client writes what it does not have as null, and a number where the contract says String. */
const scalar = (maxLength: number) =>
  ({
    anyOf: [{ type: 'string', maxLength }, { type: 'number' }, { type: 'boolean' }, { type: 'null' }],
  }) as const

/** A name of something: a boolean names nothing, nor does an object. */
const name = (maxLength: number) =>
  ({ anyOf: [{ type: 'string', maxLength }, { type: 'number' }, { type: 'null' }] }) as const

/** Recipients, separated by commas. Without it there is nobody: null is as good as a field that is missing. */
const to = { anyOf: [{ type: 'string', maxLength: 32_768 }, { type: 'number' }] } as const
const plain = scalar(32_768)
/** The keys depend on the type; unknown ones are ignored. */
const param = { type: 'object', maxProperties: 100 } as const

export const emailBodySchema = {
  type: 'object',
  required: ['subject', 'to', 'email_param'],
  properties: { subject: scalar(998), to, email_param: param, plain_email: plain },
} as const

export const smsBodySchema = {
  type: 'object',
  required: ['to', 'sms_param'],
  properties: { to, sms_param: param, area_code: name(32), plain_sms: plain, plugin_id: name(128) },
} as const
