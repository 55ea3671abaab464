import { providerSettings } from '../../providers/list.ts'
import {
  readAddress,
  readAreaCode,
  readChannels,
  readColor,
  readDkimName,
  readDomain,
  readHosts,
  readLocale,
  readMailbox,
  readSwitch,
} from '../../settings/readers.ts'
import {
  readCountries,
  readLocalesByCountry,
  readRoutes,
  readSenders,
  readSendersByCountry,
} from '../../settings/senders.ts'
import type { Group, Settings } from '../../settings/setting.ts'
import { integerSetting, settingWithReader, textSetting } from '../../settings/setting.ts'
import { readBrandUrl, readImapUrl, readProxyUrl } from '../../settings/urls.ts'

/** Makes the default that is a part of MAIL_FROM, when that can be read. */
const fromSender = (part: 'name' | 'address') => (given: Readonly<Record<string, string>>) => {
  const from = readMailbox(given.MAIL_FROM ?? '')
  return 'value' in from ? from.value[part] : undefined
}

export const mail = {
  title: 'Send mails',
  about: 'SMTP_URL and MAIL_FROM are needed when EMAIL_TOKEN is set.',
  settings: {
    ...providerSettings('email'),
    MAIL_FROM: settingWithReader(readMailbox, {
      meaning: 'Who mails are from.',
      example: 'Example <no-reply@example.com>',
    }),
    MAIL_REPLY_TO: settingWithReader(readMailbox, {
      meaning: 'Where answers of readers go, when not to MAIL_FROM.',
      example: 'Example Support <support@example.com>',
    }),
    DKIM_NAME: settingWithReader(readDkimName, {
      meaning:
        'Signs mails with DKIM, when your mail server does not: the name under which the public key stands in the DNS. Needs DKIM_KEY_FILE.',
      example: 'courier._domainkey.example.com',
    }),
    DKIM_KEY_FILE: textSetting({
      meaning: 'DKIM: PEM file of the private key. Needs DKIM_NAME.',
      example: '/secrets/dkim.pem',
    }),
  },
} as const satisfies Group<Settings>

export const bounces = {
  title: 'Learn of mails that came back',
  about: 'None of them is needed.',
  settings: {
    MAIL_BOUNCE_TO: settingWithReader(readAddress, {
      defaultFrom: fromSender('address'),
      meaning:
        'Envelope sender: where mail servers report what they could not deliver. Left out: the address of MAIL_FROM.',
      example: 'bounces@example.com',
    }),
    BOUNCE_IMAP_URL: settingWithReader(readImapUrl, {
      secret: true,
      meaning:
        'The mailbox that mails come back to, read by IMAP: imaps://user:password@host/INBOX, percent-encoded; the user alone with SMTP_OAUTH2_TOKEN_URL. What reports on our mails is moved to the folder callback-courier; all else stays. Or let your mail server hand them over (docs/bounces.md).',
      example: 'imaps://bounces%40example.com:password@imap.example.com/INBOX',
    }),
    BOUNCE_REFUSE: settingWithReader(readSwitch, {
      default: 'on',
      meaning:
        'on: registration links, alarms and files to an address from which mail has just come back are refused for a while (docs/bounces.md). Codes and all other links never are.',
      example: 'off',
    }),
  },
} as const satisfies Group<Settings>

/** SMS, whoever carries them. */
export const sms = {
  title: 'Send SMS',
  about: 'When SMS_TOKEN is set, DEFAULT_AREA_CODE or SMS_COUNTRIES is needed, and the account at a carrier.',
  settings: {
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
    DEFAULT_AREA_CODE: settingWithReader(readAreaCode, {
      meaning: 'Country calling code of a number that comes without one.',
      example: '86',
    }),
    SMS_COUNTRIES: settingWithReader(readCountries, {
      meaning:
        'Countries that SMS may go to, in two letters. Left out: the country of DEFAULT_AREA_CODE. * opens every country, and your bill with them.',
      example: 'CN, HK, SG',
    }),
    SMS_MAX_SEGMENTS: integerSetting([1, 30], {
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
      meaning:
        'Adds the line "@domain #code" to SMS and mails, by which phones fill the code into pages of this domain.',
      example: 'www.example.com',
    }),
  },
} as const satisfies Group<Settings>

/** The providers that carry SMS. */
export const carriers = {
  title: 'Reach SMS carriers',
  about: 'One carrier is enough; with several, SMS_ROUTES says which of them is asked.',
  settings: providerSettings('sms'),
} as const satisfies Group<Settings>

export const outgoing = {
  title: 'Connect through a proxy, or trust authorities of your own',
  about: 'Needed only behind a proxy, or where servers have certificates of an authority of your own.',
  settings: {
    TLS_CA_FILE: textSetting({
      meaning:
        'PEM file of certificate authorities of your own, trusted beside the public ones wherever this service connects to: mail server, carriers, Postgres, the platform, and its own URLs by `check` and `send`.',
      example: '/certs/company-ca.pem',
    }),
    HTTPS_PROXY: settingWithReader(readProxyUrl, {
      secret: true,
      meaning:
        'Proxy for the requests to SMS carriers, to SMTP_OAUTH2_TOKEN_URL and to EVENTS_URL. Mail servers, Postgres and the platform are reached directly.',
      example: 'http://proxy.example.com:3128',
    }),
    NO_PROXY: textSetting({
      meaning:
        'Hosts that are reached without HTTPS_PROXY: names, *.example.com, * for all, parted by commas.',
      example: 'localhost,127.0.0.1,.example.com',
    }),
  },
} as const satisfies Group<Settings>

/** Texts that people read. */
export const words = {
  title: 'Choose words and brand',
  about: 'Languages built in: en, zh-CN, zh-TW, es, ar. A further one is a file in TEMPLATES_DIR.',
  settings: {
    BRAND_NAME: textSetting({
      pattern: /\P{Cc}{1,40}/u,
      form: '1 to 40 characters on one line',
      defaultFrom: fromSender('name'),
      meaning: 'The name people know you by; stands in every mail and SMS. Left out: the name in MAIL_FROM.',
      example: 'Example',
    }),
    PLATFORM_WORDS: settingWithReader(readChannels, {
      default: '',
      meaning:
        "Channels, email or sms or both, in which the platform's own plain text is sent, when there is one; mails keep this service's layout.",
      example: 'email, sms',
    }),
    BRAND_URL: settingWithReader(readBrandUrl, {
      meaning: 'Your web site, at the foot of mails.',
      example: 'https://www.example.com',
    }),
    BRAND_COLOR: settingWithReader(readColor, {
      default: '1f5fd6',
      meaning: 'Colour of buttons and codes in mails: six hex digits, with or without #.',
      example: '0a7d55',
    }),
    LOCALE: settingWithReader(readLocale, {
      default: 'en',
      meaning: 'Language of mails and SMS.',
      example: 'zh-CN',
    }),
    TEMPLATES_DIR: textSetting({
      meaning: 'Folder with templates of your own, in place of the built-in ones.',
      example: '/templates',
    }),
    LINK_HOSTS: settingWithReader(readHosts, {
      default: '',
      meaning:
        'Hosts that links in messages may lead to; *.example.com means everything under it. Empty: any host.',
      example: 'www.example.com, *.iot.example.com',
    }),
    LINKS_HTTPS_ONLY: settingWithReader(readSwitch, {
      default: 'off',
      meaning: 'on: a message whose link is not https is refused.',
      example: 'on',
    }),
  },
} as const satisfies Group<Settings>
