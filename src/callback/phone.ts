import {
  type CountryCode,
  getCountries,
  isSupportedCountry,
  Metadata,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/max'
import { trimBlanks } from '../messages/characters.ts'

/** A number that SMS can be sent to, or which part of it is wrong. */
export type PhoneVerdict =
  | { readonly ok: true; readonly number: string; readonly country: CountryCode }
  | { readonly ok: false; readonly why: 'recipient' | 'country' }

const NO_RECIPIENT: PhoneVerdict = { ok: false, why: 'recipient' }
const NO_COUNTRY: PhoneVerdict = { ok: false, why: 'country' }

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

export interface PhoneRules {
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

/** @returns whether `code` is the ISO 3166 code of a country that has telephone numbers. */
export function hasTelephoneNumbers(code: string): boolean {
  return (getCountries() as string[]).includes(code)
}

/**
 * Makes the parser of SMS recipients.
 *
 * It takes one number, already split from its list, national or international (`+…`, `00…`), and the callback's
 * area_code when there is one. A number with `+` wins; a contradicting area code is a wrong country.
 * It accepts only mobile numbers, and those that may be mobile: an SMS to a premium or shared-cost number costs its sender extra,
 * and one to a number without a country (satellite, +881…) always does.
 */
export function createPhoneParser(
  rules: PhoneRules,
): (text: string, areaCode: string | undefined) => PhoneVerdict {
  return (text, areaCode) => {
    const trimmed = trimBlanks(text)
    if (trimmed.length > 32 || !NUMBER.test(trimmed)) return NO_RECIPIENT
    const area = areaCode === undefined ? rules.defaultAreaCode : AREA.exec(areaCode)?.[1]
    if (areaCode !== undefined && area === undefined) return NO_COUNTRY
    const international = trimmed.startsWith('+')
      ? trimmed
      : /^00[1-9]/.test(trimmed)
        ? `+${trimmed.slice(2)}`
        : null
    if (international === null && area === undefined) return NO_COUNTRY
    const parsed =
      international === null ? parseNational(trimmed, area ?? '') : parsePhoneNumberFromString(international)
    if (parsed === undefined || parsed === null)
      return international === null && !isCallingCode(area ?? '') ? NO_COUNTRY : NO_RECIPIENT
    if (areaCode !== undefined && area !== undefined && !parsed.number.startsWith(`+${area}`))
      return NO_COUNTRY
    // A number has a type if and only if it is valid; to ask for both would try its country's patterns twice.
    const type = parsed.getType()
    if (type === undefined) return NO_RECIPIENT
    const { country } = parsed
    if (country === undefined) return NO_COUNTRY
    if (type !== 'MOBILE' && type !== 'FIXED_LINE_OR_MOBILE') return NO_RECIPIENT
    if (parsed.ext !== undefined) return NO_RECIPIENT
    if (rules.countries !== '*' && !rules.countries.has(country)) return NO_COUNTRY
    return { ok: true, number: parsed.number, country }
  }
}

function isCallingCode(area: string): boolean {
  return countryOfAreaCode(area) !== null
}

/** Parses a national number under its calling code; an area code such as 1684 is a calling code and the start of the number. */
function parseNational(text: string, area: string) {
  return isCallingCode(area)
    ? parsePhoneNumberFromString(text, { defaultCallingCode: area })
    : parsePhoneNumberFromString(`+${area}${text}`)
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
