import { readNetworks, readSwitch } from '../../settings/readers.ts'
import {
  choiceSetting,
  type Group,
  integerSetting,
  settingWithReader,
  textSetting,
} from '../../settings/setting.ts'
import { readPublicUrl } from '../../settings/urls.ts'

const TOKEN = { minLength: 1, secret: true } as const
const KEY = {
  pattern: '^[A-Za-z0-9._~-]{22,128}$',
  form: '22 to 128 characters, each a letter, a digit or one of . _ ~ -',
  secret: true,
} as const

const settings = {
  CORP_ID: textSetting({
    fill: true,
    pattern: '^[A-Za-z0-9][A-Za-z0-9._~-]{0,63}$',
    form: 'up to 64 letters, digits and . _ ~ -, beginning with a letter or digit',
    required: true,
    meaning: "Your enterprise's identifier on the platform, as its console shows it.",
    example: '100fa4b2c3d4e5f6',
  }),
  EMAIL_TOKEN: textSetting({
    fill: true,
    ...TOKEN,
    meaning:
      'The Token entered in the console beside the e-mail URL. E-mail is off without it. `callback-courier token` makes a good one.',
    example: 'bVq3xGm7RzKp2wTnYh8LdJfs',
  }),
  SMS_TOKEN: textSetting({
    fill: true,
    ...TOKEN,
    meaning: 'The Token entered in the console beside the SMS URL. SMS is off without it.',
    example: 'sWt9cNk4HvXr6zQmPg3BjDyf',
  }),
  EMAIL_TOKEN_PREVIOUS: textSetting({
    ...TOKEN,
    meaning: 'While the e-mail Token is being replaced: the old one, accepted as well.',
    example: 'the-old-token-of-e-mail-x',
  }),
  SMS_TOKEN_PREVIOUS: textSetting({
    ...TOKEN,
    meaning: 'While the SMS Token is being replaced: the old one, accepted as well.',
    example: 'the-old-token-of-sms-x',
  }),
  EMAIL_CALLBACK_KEY: textSetting({
    ...KEY,
    meaning:
      'The secret part of the e-mail URL. Usually left out: it then follows from the Token. Needed only to keep the URL when the Token changes.',
    example: 'a-key-of-22-or-more-characters',
  }),
  SMS_CALLBACK_KEY: textSetting({
    ...KEY,
    meaning: 'The same for the SMS URL.',
    example: 'another-key-of-22-or-more-characters',
  }),
  EMAIL_CALLBACK_KEY_PREVIOUS: textSetting({
    ...KEY,
    meaning: 'While the key of the e-mail URL is being replaced: the old one, accepted as well.',
    example: 'the-old-key-of-the-e-mail-url',
  }),
  SMS_CALLBACK_KEY_PREVIOUS: textSetting({
    ...KEY,
    meaning: 'The same for the SMS URL.',
    example: 'the-old-key-of-the-sms-url',
  }),
  PUBLIC_URL: settingWithReader(readPublicUrl, {
    fill: true,
    meaning:
      'This service as the platform reaches it. `callback-courier urls` prints the full URLs from it; Twilio reports final delivery to it.',
    example: 'https://courier.example.com',
  }),
  POST_SIGNATURE: choiceSetting(['observe', 'required', 'off'], {
    default: 'observe',
    meaning:
      'What to do with the signature of a POST. observe: refuse nothing, but count whether POSTs come signed, and say when required would be safe. required: refuse a POST without a right one. off: do not look.',
    example: 'required',
  }),
  SIGNATURE_MAX_AGE_SECONDS: integerSetting({
    minimum: 10,
    maximum: 86_400,
    default: 300,
    meaning: 'With POST_SIGNATURE=required: how far the timestamp of a POST may be from now.',
    example: '300',
  }),
  ALLOWED_SOURCES: settingWithReader(readNetworks, {
    default: '',
    meaning: 'Networks and addresses that callbacks may come from. Empty: from anywhere.',
    example: '203.0.113.0/24, 2001:db8::/32',
  }),
  TRUSTED_PROXIES: settingWithReader(readNetworks, {
    default: '',
    meaning:
      'Proxies in front of this service whose X-Forwarded-For is believed. Empty: nobody is, and the caller is whoever connects.',
    example: '10.0.0.0/8',
  }),
  ERROR_STATUS: choiceSetting(['code', '200'], {
    default: 'code',
    meaning:
      "HTTP status of a refused POST. code: the err_code's first three digits. 200: for a platform that reads the body of nothing else.",
    example: '200',
  }),
  ANSWER_WITHIN_MS: integerSetting({
    minimum: 100,
    maximum: 30_000,
    default: 2000,
    meaning:
      'How long an answer may wait for the mail server or Twilio, in milliseconds. After it the answer is 0 and delivery goes on.',
    example: '2000',
  }),
  MAX_RECIPIENTS: integerSetting({
    minimum: 1,
    maximum: 1000,
    default: 50,
    meaning: 'Most recipients of one callback.',
    example: '50',
  }),
  ROUTED_ADDRESSES: settingWithReader(readSwitch, {
    default: 'off',
    meaning:
      'on: mail goes to addresses with % or ! before the @, or a quoted part there. Many mail servers route by these, so one mailbox then has many names, each with quotas of its own.',
    example: 'on',
  }),
} as const

/** Settings of who may call, and how callbacks are answered. */
export const callbacks: Group<typeof settings> = {
  title: 'The enterprise and its callbacks',
  about: 'CORP_ID and at least one Token are needed.',
  settings,
}
