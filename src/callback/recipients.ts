import { Buffer } from 'node:buffer'
import { domainToASCII, domainToUnicode } from 'node:url'
import type { CountryCode } from 'libphonenumber-js/max'
import { isSupportedCountry, Metadata, parsePhoneNumberFromString } from 'libphonenumber-js/max'
import { getDomain } from 'tldts'
import { trimBlanks } from '../messages/characters.ts'
import type { Channel } from '../messages/message.ts'
import type { KeyedHashes } from '../outbox/encryption.ts'
import type { DestinationOf } from '../outbox/outbox.ts'
import mailboxProviders from './mailbox-providers.json' with { type: 'json' }

/** One recipient that a message can be sent to. */
export interface Recipient {
  /** A bare address, or E.164. */
  readonly to: string
  readonly masked: string
  /** ISO 3166 code, SMS only. */
  readonly country?: string
}

/** The recipients in a `to`, and how many cannot be written to; each counts once, however often it is there. */
export interface Recipients {
  readonly valid: readonly Recipient[]
  readonly invalid: number
  readonly why: RecipientFault
}

/** Why recipients cannot be written to; of several faults the first one here counts. `area`: the callback's area_code does not fit. */
type RecipientFault = 'recipient' | 'country' | 'area'

/** Reads a `to`: split at commas, trimmed, without duplicates; of more than `most` recipients one more than that. */
export type ReadRecipients = (
  channel: Channel,
  to: string,
  areaCode: string | undefined,
  most?: number,
) => Recipients

/**
 * @param parsePhone reads one number.
 */
export function createRecipientReader(
  parsePhone: (text: string, areaCode: string | undefined) => PhoneVerdict,
): ReadRecipients {
  const readAddress = (text: string): Recipient | RecipientFault => {
    const to = parseAddress(text)
    return to === null ? 'recipient' : { to, masked: maskAddress(to) }
  }
  const readNumber = (text: string, areaCode: string | undefined): Recipient | RecipientFault => {
    const read = parsePhone(text, areaCode)
    if (typeof read === 'string') return read
    return { to: read.number, masked: maskNumber(read.number), country: read.country }
  }
  return (channel, to, areaCode, most = Number.POSITIVE_INFINITY) => {
    // An empty place between two commas, or after the last one, is nobody.
    const seen = new Set([''])
    const valid = new Map<string, Recipient>()
    let invalid = 0
    const faults = new Set<RecipientFault>()
    for (const part of to.split(',')) {
      const trimmed = trimBlanks(part)
      if (seen.has(trimmed)) continue
      seen.add(trimmed)
      // A number takes 30 µs to read, and thousands fit into a body.
      if (valid.size + invalid > most) break
      const read = channel === 'email' ? readAddress(trimmed) : readNumber(trimmed, areaCode)
      if (typeof read === 'string') {
        invalid += 1
        faults.add(read)
        continue
      }
      const same = read.to.toLowerCase()
      if (!valid.has(same)) valid.set(same, read)
    }
    const why =
      faults.has('recipient') || faults.size === 0 ? 'recipient' : faults.has('country') ? 'country' : 'area'
    return { valid: [...valid.values()], invalid, why }
  }
}

/** Octets of the local part and of the whole path without brackets (RFC 5321 4.5.3.1.1, 4.5.3.1.3). */
const MAX_LOCAL = 64
const MAX_ADDRESS = 254
/**
 * RFC 5322 3.2.3, dot-atom, with the letters, digits and marks of all scripts (RFC 6531 3.3), less what nobody would see.
 * It has no `%` and no `!`: many servers route by them, so that `victim%example.com@…` and `example.com!victim@…` are further
 * names of the mailbox victim@example.com, each with quotas of its own.
 */
const DOT_ATOM = /^[\p{L}\p{M}\p{N}#$&'*+/=?^_`{|}~-]+(?:\.[\p{L}\p{M}\p{N}#$&'*+/=?^_`{|}~-]+)*$/u
/**
 * The beginning of an encoded word (RFC 2047), which is no word in an address; but some libraries decode it there, so that
 * `=?utf-8?q?victim=40example.com=3e?=@…` may end at another mailbox behind them.
 */
const ENCODED_WORD = /=\?[^?]*\?[bq]\?/i
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/u

/**
 * Reads one bare address, strictly, in front of nodemailer, whose own parser is made for people's headers and lets
 * groups, routes, quotes and look-alike domains through.
 *
 * @param text one address, already split from its list; spaces and tabs around it are ignored.
 * @returns the address with its domain as lower-case A-labels (UTS 46), or null when it is not one. A domain that
 *   UTS 46 would map to something that reads differently (`ⅇvil.test`, full-width dots) is refused, not mapped.
 */
export function parseAddress(text: string): string | null {
  const trimmed = trimBlanks(text)
  const at = trimmed.lastIndexOf('@')
  if (at < 1 || Buffer.byteLength(trimmed) > MAX_ADDRESS) return null
  const local = trimmed.slice(0, at)
  if (Buffer.byteLength(local) > MAX_LOCAL || INVISIBLE.test(local)) return null
  if (!DOT_ATOM.test(local) || ENCODED_WORD.test(local)) return null
  const domain = parseDomain(trimmed.slice(at + 1))
  if (domain === null) return null
  const address = `${local}@${domain}`
  return Buffer.byteLength(address) > MAX_ADDRESS ? null : address
}

function parseDomain(text: string): string | null {
  const lower = text.normalize('NFC').toLowerCase()
  let domain = lower
  // eslint-disable-next-line no-control-regex -- anything outside ASCII goes through UTS 46
  if (/[^\x00-\x7f]/.test(lower)) {
    domain = domainToASCII(lower)
    if (domain === '' || domainToUnicode(domain) !== lower) return null
  } else if (/(?:^|\.)xn--/.test(lower) && domainToASCII(domainToUnicode(lower)) !== lower) {
    return null
  }
  const labels = domain.split('.')
  if (labels.length < 2) return null
  for (const label of labels) if (!LABEL.test(label)) return null
  // A last label of digits only is an IPv4 address or nonsense, never a top-level domain (RFC 3696 2).
  return /^\d+$/.test(labels[labels.length - 1] ?? '') ? null : domain
}

/** The signs that people put between the digits of a number. */
const BETWEEN_DIGITS = /[\s()./\u00b7\p{Pd}]/gu

/**
 * Reads a recipient as people write or paste one: an address with a name before it or `mailto:`, a number with brackets, in
 * full-width digits, or with the invisible marks of a phone's address book. What comes of it is read as a callback's recipient is.
 */
export function readTypedRecipient(typed: string): string {
  const plain = typed
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .trim()
  const bare = (/<([^<>]*)>$/.exec(plain)?.[1] ?? plain).replace(/^(?:mailto|tel|sms):/i, '').trim()
  // The 0 in `+44 (0)20…` is dialled without the code of the country only.
  const full = /^\(?\+/.test(bare) ? bare.replace('(0)', '') : bare
  const number = full.replace(BETWEEN_DIGITS, '')
  return /^\+?\d+$/.test(number) ? number : bare
}

/** Mail providers that document which addresses lead to the same mailbox: their domains, what they ignore in a local part, and what it is to them. */
const PROVIDERS: readonly (readonly [domains: readonly string[], ignored?: RegExp, replacement?: string])[] =
  [
    // https://support.google.com/mail/answer/7436150
    [['gmail.com', 'googlemail.com'], /\./g],
    // https://proton.me/support/addresses-and-aliases
    [['proton.me', 'protonmail.com', 'pm.me'], /[._-]/g],
    // https://yandex.com/support/id/authorization/email.html; a dot and a hyphen in a user name are the same.
    [['yandex.ru', 'ya.ru', 'yandex.com', 'yandex.by', 'yandex.kz', 'yandex.ua'], /\./g, '-'],
    // https://support.apple.com/en-us/102540
    [['icloud.com', 'me.com', 'mac.com']],
  ]

/** https://www.fastmail.help/hc/en-us/articles/360060591053: `anything@ann.fastmail.com` is `ann@fastmail.com`. */
const SUBDOMAIN_ADDRESS = /^([^.]+)\.(fastmail\.(?:com|fm))$/

/**
 * Names the mailbox behind an address, for quotas: in lower case, in one form of its letters, without a plus part, and without the
 * characters that its provider ignores. Mail never goes to this name: it may belong to nobody.
 * @param address a bare address.
 */
export function mailboxOf(address: string): string {
  const domain = domainOf(address)
  const [, user, host] = SUBDOMAIN_ADDRESS.exec(domain) ?? []
  if (user !== undefined) return `${user}@${host}`
  const local = address
    .slice(0, address.lastIndexOf('@'))
    .normalize('NFKC')
    .toLowerCase()
    .replace(/(?<=.)\+.*$/, '')
  const [domains, ignored = '', replacement = ''] = PROVIDERS.find(each => each[0].includes(domain)) ?? []
  return `${local.replace(ignored, replacement)}@${domains?.[0] ?? domain}`
}

/** The domain of a bare address, in lower case. */
function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase()
}

const MAILBOX_PROVIDERS: ReadonlySet<string> = new Set(mailboxProviders.domains)

/**
 * Names the domain that an address belongs to as somebody registered it, for quotas: its owner can make up any number of addresses
 * and of subdomains. Which suffixes are open to registration is the Public Suffix List's to say.
 * @param address a bare address.
 * @returns null for a domain of a mailbox provider, whose addresses belong to many people.
 */
export function registeredDomainOf(address: string): string | null {
  const domain = domainOf(address)
  if (MAILBOX_PROVIDERS.has(domain)) return null
  return getDomain(domain, { extractHostname: false, validateHostname: false }) ?? domain
}

/** Names the domain that an address is counted by, be it a mailbox provider's. @param address a bare address, or one that is masked. */
export function countedDomainOf(address: string): string {
  return registeredDomainOf(address) ?? domainOf(address)
}

/**
 * @param address a bare address.
 * @returns the address as logs and pages may show it: `a***@example.com`.
 */
export function maskAddress(address: string): string {
  const [first = ''] = address
  return `${first}***${address.slice(address.lastIndexOf('@'))}`
}

/** A number that SMS can be sent to, or which part of it is wrong. */
type PhoneVerdict = { readonly number: string; readonly country: CountryCode } | RecipientFault

/**
 * The characters are checked first, because libphonenumber-js reads `13800138000;139…` as one number and skips letters
 * and extensions: one leading plus, digits, and the separators people type.
 */
const NUMBER = /^\+?[0-9][0-9 ().-]*$/
const AREA = /^(?:\+|00)?([1-9][0-9]{0,3})$/

/** The library's numbering plans. This method is part of its published class, but not of its published types; it lists the main country first. */
const numberingPlans = new Metadata() as Metadata & {
  getCountryCodesForCallingCode(code: string): readonly string[] | undefined
}

/** Finds the calling code of a number in E.164, digits only: no code is the beginning of another one. */
export function callingCodeOf(number: string): string {
  const lengths = [1, 2, 3].map(length => number.slice(1, 1 + length))
  return lengths.find(code => numberingPlans.getCountryCodesForCallingCode(code) !== undefined) ?? ''
}

interface PhoneRules {
  /** ISO 3166 codes that may be written to; `*` for all. */
  readonly countries: '*' | ReadonlySet<string>
  /** Calling code, digits only, when the callback names none. */
  readonly defaultAreaCode?: string
}

/**
 * Finds the main country of a calling code: CN for 86, US for 1, GB for 44.
 * @param area calling code as `86`, `+86` or `0086`.
 */
export function countryOfAreaCode(area: string): CountryCode | null {
  const code = AREA.exec(area)?.[1]
  if (code === undefined) return null
  const first = numberingPlans.getCountryCodesForCallingCode(code)?.[0]
  return first !== undefined && isSupportedCountry(first) ? first : null
}

/**
 * Makes the parser of SMS recipients.
 *
 * It takes one number, already split from its list, national or international (`+…`, `00…`), and the callback's
 * area_code when there is one. A number with `+` wins; a contradicting area code is a wrong one.
 * It accepts only mobile numbers, and those that may be mobile: an SMS to a premium or shared-cost number costs its sender extra,
 * and one to a number without a country (satellite, +881…) always does.
 */
export function createPhoneParser(
  rules: PhoneRules,
): (text: string, areaCode: string | undefined) => PhoneVerdict {
  return (text, areaCode) => {
    const trimmed = trimBlanks(text)
    if (trimmed.length > 32 || !NUMBER.test(trimmed)) return 'recipient'
    const area = areaCode === undefined ? rules.defaultAreaCode : AREA.exec(areaCode)?.[1]
    if (areaCode !== undefined && area === undefined) return 'area'
    const international = trimmed.startsWith('+')
      ? trimmed
      : /^00[1-9]/.test(trimmed)
        ? `+${trimmed.slice(2)}`
        : null
    if (international === null && area === undefined) return 'area'
    const parsed =
      international === null ? parseNational(trimmed, area ?? '') : parsePhoneNumberFromString(international)
    if (parsed === undefined || parsed === null)
      return international === null && countryOfAreaCode(area ?? '') === null ? 'area' : 'recipient'
    if (areaCode !== undefined && !parsed.number.startsWith(`+${area}`)) return 'area'
    // A number has a type if and only if it is valid; to ask for both would try its country's patterns twice.
    const type = parsed.getType()
    if (type === undefined) return 'recipient'
    const { country } = parsed
    if (country === undefined) return 'country'
    if (type !== 'MOBILE' && type !== 'FIXED_LINE_OR_MOBILE') return 'recipient'
    if (rules.countries !== '*' && !rules.countries.has(country)) return 'country'
    return { number: parsed.number, country }
  }
}

/** Parses a national number under its calling code; an area code such as 1684 is a calling code and the start of the number. */
function parseNational(text: string, area: string) {
  return countryOfAreaCode(area) === null
    ? parsePhoneNumberFromString(`+${area}${text}`)
    : parsePhoneNumberFromString(text, { defaultCallingCode: area })
}

/**
 * @param number E.164.
 * @returns the number as logs and pages may show it: `+86*******8000`.
 */
export function maskNumber(number: string): string {
  const shown = number.slice(-4)
  const head = number.slice(0, 3)
  return `${head}${'*'.repeat(Math.max(3, number.length - head.length - shown.length))}${shown}`
}

/**
 * Makes the function that names destinations: a mail's is the domain of its recipient, and that of an SMS the country, as for routes.
 * @param byKind channels with a carrier that judges by template, where the kind of a message counts too.
 */
export function createDestinationOf(
  { destinationHash }: Pick<KeyedHashes, 'destinationHash'>,
  byKind: ReadonlySet<Channel>,
): DestinationOf {
  return ({ channel, kind, recipient }, country = '') => {
    const where = channel === 'email' ? domainOf(recipient) : country
    return destinationHash(channel, where, ...(byKind.has(channel) ? [kind] : []))
  }
}
