import { readAreaCode, readDomain } from '../../settings/readers.ts'
import {
  readCountries,
  readFrom,
  readLocalesByCountry,
  readSenders,
  readSendersByCountry,
} from '../../settings/senders.ts'
import { choice, type Group, integer, read, text } from '../../settings/setting.ts'
import { readApiUrl } from '../../settings/urls.ts'

const settings = {
  TWILIO_ACCOUNT_SID: text({
    fill: true,
    pattern: '^AC[0-9a-fA-F]{32}$',
    form: 'AC and 32 hex digits',
    meaning: "Your Twilio account, as Twilio's console shows it.",
    example: 'AC00000000000000000000000000000000',
  }),
  TWILIO_AUTH_TOKEN: text({
    fill: true,
    minLength: 1,
    secret: true,
    meaning: "The account's Auth Token. Also proves that a delivery report really comes from Twilio.",
    example: 'the-auth-token-of-the-account',
  }),
  TWILIO_API_KEY_SID: text({
    pattern: '^SK[0-9a-fA-F]{32}$',
    form: 'SK and 32 hex digits',
    meaning: 'Instead of the Auth Token: an API key. Without an Auth Token there are no delivery reports.',
    example: 'SK00000000000000000000000000000000',
  }),
  TWILIO_API_KEY_SECRET: text({
    minLength: 1,
    secret: true,
    meaning: "The API key's secret.",
    example: 'the-secret-of-the-api-key',
  }),
  TWILIO_FROM: read(readFrom, {
    fill: true,
    meaning: 'Who SMS are from: a Twilio number, or a name of up to 11 letters where the country allows it.',
    example: '+15005550006',
  }),
  TWILIO_MESSAGING_SERVICE_SID: text({
    pattern: '^MG[0-9a-fA-F]{32}$',
    form: 'MG and 32 hex digits',
    meaning: 'Instead of TWILIO_FROM: a messaging service that chooses the sender.',
    example: 'MG00000000000000000000000000000000',
  }),
  TWILIO_API_URL: read(readApiUrl, {
    default: 'https://api.twilio.com',
    meaning: "Twilio's API.",
    example: 'https://api.dublin.ie1.twilio.com',
  }),
  TWILIO_CONCURRENCY: integer({
    minimum: 1,
    maximum: 2000,
    default: 200,
    meaning: 'Requests to Twilio at the same time.',
    example: '200',
  }),
  DEFAULT_AREA_CODE: read(readAreaCode, {
    fill: true,
    meaning: 'Country calling code of a number that comes without one.',
    example: '86',
  }),
  SMS_COUNTRIES: read(readCountries, {
    meaning:
      'Countries that SMS may go to, in two letters. Left out: the country of DEFAULT_AREA_CODE. * opens every country, and your bill with them.',
    example: 'CN, HK, SG',
  }),
  SMS_WORDS: choice(['ours', 'platform'], {
    default: 'ours',
    meaning: "Whose words SMS use. platform: the platform's own plain text, when it sends one.",
    example: 'platform',
  }),
  SMS_MAX_SEGMENTS: integer({
    minimum: 1,
    maximum: 10,
    meaning: 'Refuses an SMS that would be billed as more segments than this. Left out: no limit of ours.',
    example: '1',
  }),
  PLUGIN_SENDERS: read(readSenders, {
    default: '{}',
    meaning: 'Signature and sender by plugin_id, as JSON on one line.',
    example: '{"plugin-1": {"signature": "Example", "from": "+15005550006"}}',
  }),
  SENDER_BY_COUNTRY: read(readSendersByCountry, {
    default: '{}',
    meaning: 'Sender by country, as JSON on one line: a number, a name or a messaging service.',
    example: '{"US": "+15005550006", "DE": "Example"}',
  }),
  LOCALE_BY_COUNTRY: read(readLocalesByCountry, {
    default: '{}',
    meaning: 'Language of SMS by country, as JSON on one line. Other countries get LOCALE.',
    example: '{"CN": "zh-CN", "TW": "zh-TW"}',
  }),
  WEBOTP_DOMAIN: read(readDomain, {
    meaning: 'Adds the line "@domain #code", by which phones fill the code into pages of this domain.',
    example: 'www.example.com',
  }),
} as const

/** The enterprise's Twilio account. */
export const sms: Group<typeof settings> = {
  title: 'SMS',
  about:
    'When SMS_TOKEN is set, these are needed: the account; its Auth Token or an API key; TWILIO_FROM or a messaging service; DEFAULT_AREA_CODE or SMS_COUNTRIES.',
  settings,
}
