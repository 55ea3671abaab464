import {
  partsOfQuotas,
  readAdminTokens,
  readCallbackKeys,
  readHosts,
  readNetworks,
  readOnlyTo,
  readProbeTo,
  readQuotas,
  readSecrets,
  readSwitch,
} from '../../settings/readers.ts'
import type { Group, Settings } from '../../settings/setting.ts'
import { choiceSetting, integerSetting, settingWithReader, textSetting } from '../../settings/setting.ts'
import { readDatabase, readPublicUrl } from '../../settings/urls.ts'

/** Settings that the platform's console and this service have in common. */
export const platform = {
  title: 'Connect the platform',
  about: 'CORP_ID and at least one Token are needed.',
  settings: {
    CORP_ID: textSetting({
      pattern: /[A-Za-z0-9][A-Za-z0-9._~-]{0,63}/u,
      form: 'up to 64 letters, digits and . _ ~ -, beginning with a letter or digit',
      required: true,
      meaning: "Your enterprise's identifier on the platform, as its console shows it.",
      example: '100fa4b2c3d4e5f6',
    }),
    EMAIL_TOKEN: textSetting({
      secret: true,
      meaning:
        'The Token entered in the console beside the e-mail URL. E-mail is off without it. `callback-courier token` makes a good one.',
      example: 'bVq3xGm7RzKp2wTnYh8LdJfs',
    }),
    SMS_TOKEN: textSetting({
      secret: true,
      meaning: 'The Token entered in the console beside the SMS URL. SMS is off without it.',
      example: 'sWt9cNk4HvXr6zQmPg3BjDyf',
    }),
    EMAIL_TOKEN_PREVIOUS: textSetting({
      secret: true,
      meaning: 'While the e-mail Token is being replaced: the old one, accepted as well.',
      example: 'the-old-token-of-e-mail-x',
    }),
    SMS_TOKEN_PREVIOUS: textSetting({
      secret: true,
      meaning: 'While the SMS Token is being replaced: the old one, accepted as well.',
      example: 'the-old-token-of-sms-x',
    }),
    CALLBACK_KEYS: settingWithReader(readCallbackKeys, {
      secret: true,
      meaning:
        'The secret parts of the URLs, of 22 to 128 letters, digits and . _ ~ -, parted by spaces. Usually left out: they then follow from the Tokens. Needed only to keep a URL when its Token changes.',
      parts: {
        'email:KEY': 'The key of the e-mail URL; sms:KEY that of the SMS URL.',
        'email-previous:KEY':
          'While that key is being replaced: the old one, accepted as well; sms-previous:KEY alike.',
      },
      example: 'email:a-key-of-22-or-more-characters',
    }),
    PUBLIC_URL: settingWithReader(readPublicUrl, {
      meaning:
        'This service as the platform reaches it. `callback-courier urls` prints the full URLs from it; Twilio reports final delivery to it.',
      example: 'https://courier.example.com',
    }),
  },
} as const satisfies Group<Settings>

/** Settings of who may call, and how callbacks are answered. */
export const callers = {
  title: 'Decide who may call, and what is answered',
  about: 'The key in the URL is the first protection; these add to it.',
  settings: {
    POST_SIGNATURE: choiceSetting(['observe', 'required', 'off'], {
      default: 'observe',
      meaning:
        'What to do with the signature of a POST. observe: refuse nothing, but count how POSTs come signed (console, metrics): required is safe when all of some days are right. required: refuse a POST without a right one. off: do not look.',
      example: 'required',
    }),
    SIGNATURE_MAX_AGE_SECONDS: integerSetting([10, 86_400], {
      default: 300,
      meaning: 'With POST_SIGNATURE=required: how far the timestamp of a POST may be from now.',
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
    ANSWER_WITHIN_MS: integerSetting([100, 30_000], {
      default: 2000,
      meaning:
        'How long an answer may wait for the provider, in milliseconds. After it the answer is 0 and delivery goes on.',
    }),
    MAX_RECIPIENTS: integerSetting([1, 1000], {
      default: 50,
      meaning: 'Most recipients of one callback.',
    }),
    ONLY_TO: settingWithReader(readOnlyTo, {
      secret: true,
      meaning:
        'For a trial: numbers, addresses and @domains that messages may go to. Whatever is for anybody else is answered 0 and ends at once as "held": it is never sent. Console, log and an alert say so as long as it is set. Left out: messages go to everybody.',
      example: '+8613800138000, ann@example.com, @qa.example.com',
    }),
  },
} as const satisfies Group<Settings>

export const listeners = {
  title: 'Serve HTTPS, console and metrics',
  about: 'The platform calls HTTPS only: either this service serves it, or a proxy in front does (TLS=off).',
  settings: {
    HOST: textSetting({ default: '0.0.0.0', meaning: 'Address that the callbacks are served on.' }),
    PORT: integerSetting([0, 65_535], {
      default: 8443,
      meaning: 'Port that the callbacks are served on.',
    }),
    TLS: settingWithReader(readSwitch, {
      default: 'on',
      meaning: 'on: serve HTTPS from TLS_CERT_FILE and TLS_KEY_FILE. off: behind a proxy that ends TLS.',
      example: 'off',
    }),
    TLS_CERT_FILE: textSetting({
      meaning:
        'PEM file: the certificate, then its intermediates (the "full chain"). A renewed file is picked up without a restart.',
      example: '/certs/fullchain.pem',
    }),
    TLS_KEY_FILE: textSetting({
      meaning: 'PEM file: the private key of the certificate.',
      example: '/certs/privkey.pem',
    }),
    DRAIN_SECONDS: integerSetting([0, 10], {
      default: 5,
      meaning: 'How long callbacks are still served after SIGTERM, so that a load balancer notices.',
    }),
    ADMIN_HOST: textSetting({
      default: '127.0.0.1',
      meaning:
        'Address of the private listener (health, metrics, console). Anything but this machine needs ADMIN_TOKENS.',
      example: '0.0.0.0',
    }),
    ADMIN_PORT: integerSetting([0, 65_535], {
      default: 9090,
      meaning: 'Port of the private listener.',
    }),
    ADMIN_TOKENS: settingWithReader(readAdminTokens, {
      secret: true,
      meaning:
        'Password of console and metrics, from `callback-courier token`. Several are parted by spaces or lines, each with a name in front. Without a password every user of this machine may use them, and nobody is given the callback URLs or a backup.',
      parts: {
        'ann:TOKEN': 'An operator, by the name that the log has for what she does in the console.',
        'metrics/prometheus:TOKEN': 'A program that may read /metrics, and nothing else.',
        'status/shop:TOKEN': 'A program that may ask /api what became of messages, and nothing else.',
      },
      example: 'a-long-random-password',
    }),
    ADMIN_NAMES: settingWithReader(readHosts, {
      default: '',
      meaning:
        'Host names that the console may be opened under, beside localhost and plain addresses (a protection against DNS rebinding).',
      example: 'courier-admin.internal.example',
    }),
    LOG_LEVEL: choiceSetting(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
      default: 'info',
      meaning: 'How much is logged. No level ever logs a code, a link, a full recipient or a secret.',
      example: 'debug',
    }),
  },
} as const satisfies Group<Settings>

export const probe = {
  title: 'Notice silence',
  about: 'For installations whose next message may be a day away. Off unless PROBE_TO is set.',
  settings: {
    PROBE_TO: settingWithReader(readProbeTo, {
      secret: true,
      meaning:
        'A number and a mailbox of your own: this service calls itself once a day, as the platform does, and sends a code there. When none arrives, console, log and an alert say so. The number needs a carrier with delivery reports, the mailbox is to be the one of BOUNCE_IMAP_URL. Needs PUBLIC_URL (docs/operations.md).',
      example: '+8613800138000, bounces@example.com',
    }),
    PROBE_AT: textSetting({
      pattern: /([01]\d|2[0-3]):[0-5]\d/u,
      form: 'a time of the day such as 09:00',
      default: '09:00',
      meaning: 'When that is, by TZ.',
      example: '18:30',
    }),
  },
} as const satisfies Group<Settings>

/** The settings of the store, where messages wait. */
export const store = {
  title: 'Keep messages',
  about: 'About 1 KB per waiting message.',
  settings: {
    DATABASE_URL: settingWithReader(readDatabase, {
      default: 'file:data/outbox.db',
      secret: true,
      meaning:
        'Where messages are kept until they are delivered. A file for one instance; postgres://… for several that share it. In the image: file:/data/outbox.db.',
      example: 'postgres://courier:password@db.example.com:5432/courier?sslmode=verify-full',
    }),
    STORE_SECRET: textSetting({
      pattern: /[^]{22,}/,
      form: 'at least 22 characters',
      secret: true,
      meaning:
        'Encrypts codes, links and recipients in the store. Left out with a file: made at the first start, kept beside it. Needed with postgres, the same for every instance.',
      example: 'a-long-random-secret-of-your-own',
    }),
    STORE_SECRET_PREVIOUS: settingWithReader(readSecrets, {
      secret: true,
      meaning:
        'Secrets that messages may have been stored with before, parted by spaces: they are read with these, and written with STORE_SECRET. Only until those messages are sent.',
      example: 'the-secret-that-was-before-this-one',
    }),
    MAX_BACKLOG: integerSetting([100, 100_000_000], {
      default: 1_000_000,
      meaning: 'Most messages that may wait. Beyond it callbacks are answered 503, "try again later".',
    }),
    RETENTION_DAYS: integerSetting([1, 3650], {
      default: 30,
      meaning:
        'How long the facts of a delivered message are kept (time, kind, masked recipient, state). Its content is gone at once.',
    }),
  },
} as const satisfies Group<Settings>

/** What each quota counts. */
export const QUOTA_MEANINGS = {
  'recipient-10m':
    'Codes and links of one kind to one recipient in 10 minutes. Alarms are not held back by it.',
  'recipient-day': 'Codes and links of one kind to one recipient in a day.',
  'alarm-recipient-hour': 'Alarms of one kind to one recipient in an hour.',
  'signup-domain-hour':
    'Sign-up mails (types 1 and 5) in an hour to addresses of one domain to which no mail was sent yet. Large mailbox providers and the domain of MAIL_FROM have no such limit.',
  'sms-newcomers-hour':
    'SMS in an hour to new numbers of one calling code: those to which nothing was delivered on an earlier day. Counted and shown on the console without a limit, too. Alarms are not counted.',
  'sms-prefix-10m': 'SMS in 10 minutes to numbers that differ only in their last four digits.',
  'sms-country-day': 'SMS to one country in a day.',
  'sms-minute': 'All SMS in a minute: the limit of the whole account.',
  'sms-day': 'All SMS in a day. Name a figure that you are willing to pay.',
  'email-minute': 'All mails in a minute.',
  'email-day': 'All mails in a day.',
} as const

/** Limits on the cost of a flood of callbacks. */
export const quotas = {
  title: 'Limit what a flood costs',
  about:
    'Beyond a quota nothing is sent and the answer is 429; half of one for a whole channel is a warning in the log.',
  settings: {
    QUOTAS: settingWithReader(readQuotas, {
      default: '',
      meaning:
        'Those of the following quotas that are to differ, parted by commas or spaces. Each is a number, or off for none.',
      parts: partsOfQuotas(QUOTA_MEANINGS),
      example: 'sms-day=5000, email-day=50000',
    }),
  },
} as const satisfies Group<Settings>
