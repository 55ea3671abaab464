import { parsePhoneNumberFromString } from 'libphonenumber-js/max'

/** The country of a number, ISO 3166-1 alpha-2; `ZZ` when it has none. @param number E.164. */
export function countryOf(number: string): string {
  return parsePhoneNumberFromString(number)?.country ?? 'ZZ'
}
