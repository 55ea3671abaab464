import { providerSettings } from '../../providers/list.ts'
import { readAreaCode, readDomain } from '../../settings/readers.ts'
import { readRoutes } from '../../settings/routes.ts'
import {
  readCountries,
  readLocalesByCountry,
  readSenders,
  readSendersByCountry,
} from '../../settings/senders.ts'
import {
  choiceSetting,
  type Group,
  integerSetting,
  settingWithReader,
  textSetting,
} from '../../settings/setting.ts'

const settings = {
  SMS_ROUTES: settingWithReader(readRoutes, {
    meaning:
      'Which carriers an SMS takes, by the country of its number, * for all others: the second one is asked when the first surely has not sent it. Needed with several carriers only. To a country without a route nothing is sent.',
    example: 'CN=aliyun,tencent; US,CA=twilio; *=twilio',
  }),
  SMS_TEMPLATES_FILE: textSetting({
    meaning:
      'Which approved template of a carrier says which kind of message, as YAML or JSON: see docs/sms.md. Read again when it changes.',
    example: '/templates/sms-templates.yaml',
  }),
  ...providerSettings('sms'),
  DEFAULT_AREA_CODE: settingWithReader(readAreaCode, {
    fill: true,
    meaning: 'Country calling code of a number that comes without one.',
    example: '86',
  }),
  SMS_COUNTRIES: settingWithReader(readCountries, {
    meaning:
      'Countries that SMS may go to, in two letters. Left out: the country of DEFAULT_AREA_CODE. * opens every country, and your bill with them.',
    example: 'CN, HK, SG',
  }),
  SMS_WORDS: choiceSetting(['ours', 'platform'], {
    default: 'ours',
    meaning: "Whose words SMS use. platform: the platform's own plain text, when it sends one.",
    example: 'platform',
  }),
  SMS_MAX_SEGMENTS: integerSetting({
    minimum: 1,
    maximum: 30,
    default: 10,
    meaning: 'Refuses an SMS that would be billed as more segments than this: quotas count messages.',
    example: '1',
  }),
  PLUGIN_SENDERS: settingWithReader(readSenders, {
    default: '{}',
    meaning:
      'Signature and sender by plugin_id, as JSON on one line; signatures: the one that is registered at a carrier.',
    example:
      '{"plugin-1": {"signature": "Example", "from": "+15005550006", "signatures": {"aliyun": "Example"}}}',
  }),
  SENDER_BY_COUNTRY: settingWithReader(readSendersByCountry, {
    default: '{}',
    meaning: 'Sender by country, as JSON on one line: a number, a name or a messaging service.',
    example: '{"US": "+15005550006", "DE": "Example"}',
  }),
  LOCALE_BY_COUNTRY: settingWithReader(readLocalesByCountry, {
    default: '{}',
    meaning: 'Language of SMS by country, as JSON on one line. Other countries get LOCALE.',
    example: '{"CN": "zh-CN", "TW": "zh-TW"}',
  }),
  WEBOTP_DOMAIN: settingWithReader(readDomain, {
    meaning: 'Adds the line "@domain #code", by which phones fill the code into pages of this domain.',
    example: 'www.example.com',
  }),
} as const

/** SMS, and the providers that carry them. */
export const sms: Group<typeof settings> = {
  title: 'SMS',
  about:
    'When SMS_TOKEN is set, these are needed: the account; its Auth Token or an API key; TWILIO_FROM or a messaging service; DEFAULT_AREA_CODE or SMS_COUNTRIES.',
  settings,
}
