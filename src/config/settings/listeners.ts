import { ADMIN_TOKEN, readOperators } from '../../settings/operators.ts'
import { readHosts, readSwitch } from '../../settings/readers.ts'
import {
  choiceSetting,
  type Group,
  integerSetting,
  settingWithReader,
  textSetting,
} from '../../settings/setting.ts'

const settings = {
  HOST: textSetting({
    default: '0.0.0.0',
    meaning: 'Address that the callbacks are served on.',
    example: '0.0.0.0',
  }),
  PORT: integerSetting({
    minimum: 0,
    maximum: 65_535,
    default: 8443,
    meaning: 'Port that the callbacks are served on.',
    example: '8443',
  }),
  TLS: settingWithReader(readSwitch, {
    default: 'on',
    meaning: 'on: serve HTTPS from the two files below. off: behind a proxy that ends TLS.',
    example: 'off',
  }),
  TLS_CERT_FILE: textSetting({
    fill: true,
    meaning:
      'PEM file: the certificate, then its intermediates (the "full chain"). A renewed file is picked up without a restart.',
    example: '/certs/fullchain.pem',
  }),
  TLS_KEY_FILE: textSetting({
    fill: true,
    meaning: 'PEM file: the private key of the certificate.',
    example: '/certs/privkey.pem',
  }),
  DRAIN_SECONDS: integerSetting({
    minimum: 0,
    maximum: 10,
    default: 5,
    meaning: 'How long callbacks are still served after SIGTERM, so that a load balancer notices.',
    example: '5',
  }),
  ADMIN_HOST: textSetting({
    default: '127.0.0.1',
    meaning:
      'Address of the private listener (health, metrics, console). Anything but this machine needs ADMIN_TOKEN or ADMIN_TOKENS.',
    example: '0.0.0.0',
  }),
  ADMIN_PORT: integerSetting({
    minimum: 0,
    maximum: 65_535,
    default: 9090,
    meaning: 'Port of the private listener.',
    example: '9090',
  }),
  ADMIN_TOKEN: textSetting({
    ...ADMIN_TOKEN,
    fill: true,
    secret: true,
    meaning: 'Password of console and metrics. Make one with `callback-courier token`.',
    example: 'a-long-random-password',
  }),
  ADMIN_TOKENS: settingWithReader(readOperators, {
    secret: true,
    meaning:
      'Passwords of operators, name:token each, one a line or with spaces between them, so that the log says who did what in the console. Beside or instead of ADMIN_TOKEN; many are better kept in a file (ADMIN_TOKENS_FILE).',
    example: 'ann:a-long-random-password',
  }),
  METRICS_TOKEN: textSetting({
    ...ADMIN_TOKEN,
    secret: true,
    meaning: 'What Prometheus sends as bearer token: it opens /metrics and nothing else.',
    example: 'another-long-random-password',
  }),
  STATUS_TOKEN: textSetting({
    ...ADMIN_TOKEN,
    secret: true,
    meaning:
      'What a program of yours sends as bearer token to ask what became of messages: it opens /api and nothing else.',
    example: 'one-more-long-random-password',
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
} as const

export const listeners: Group<typeof settings> = {
  title: 'HTTPS, the private listener, logs',
  about: 'The platform calls HTTPS only: either this service serves it, or a proxy in front does (TLS=off).',
  settings,
}
