import type { Group, Settings } from '../../settings/setting.ts'
import { integerSetting, settingWithReader, textSetting } from '../../settings/setting.ts'
import { readApiUrl, readDdqUrl, readEventsUrl, readSigningSecrets } from '../../settings/urls.ts'

/** Alerts of devices, which the platform does not send by itself. */
export const alerts = {
  title: 'Tell people of device alerts',
  about:
    'Off unless DDQ_URL is set. Then these are needed: DDQ_AUTH_URL, DDQ_APP_ID, DDQ_APP_SECRET and ALERTS.',
  settings: {
    DDQ_URL: settingWithReader(readDdqUrl, {
      meaning:
        "The platform's data subscription service (DDQ). Set it to be told of device alerts by mail and SMS (docs/alerts.md); without it nothing of this runs. On port 80, as on the public cloud, it is http, and the credential can be read on the way. What the platform does not publish is guessed; what differs stands behind a ?, with & between:",
      parts: {
        'auth=/auth': 'Path of the authentication request.',
        'subscribe=/subscribe': 'Path of the subscription request.',
        'any-product=+':
          'What stands for any product in a topic. Not used when every row of ALERTS names its product.',
        'heartbeat=ping':
          'What is sent each second to keep the connection alive: an HTTP/2 PING; settings: an empty SETTINGS frame; post:/path: a POST.',
      },
      example: 'http://ddq.example.com?subscribe=/v2/subscribe',
    }),
    DDQ_AUTH_URL: settingWithReader(readApiUrl, {
      meaning: "The platform API's address, for the login that DDQ asks for.",
      example: 'https://api.example.com',
    }),
    DDQ_APP_ID: textSetting({
      meaning: "The application's identifier, as the platform's console shows it under application details.",
      example: '2e07d2b0c4e84f21',
    }),
    DDQ_APP_SECRET: textSetting({
      secret: true,
      meaning: 'The secret of the application DDQ_APP_ID.',
      example: 'the-secret-of-the-application',
    }),
    ALERTS: textSetting({
      secret: true,
      meaning:
        'Who is told of what: rows of TOPIC (alert, state or event), PRODUCT (* any), MINUTES (at most once in so many per device and rule), LANGUAGE (- usual), RECIPIENTS; rows parted by ; or, in a file (ALERTS_FILE), one a line.',
      example: 'alert * 30 - ops@example.com, +8613800138000; state * 60 - ops@example.com',
    }),
  },
} as const satisfies Group<Settings>

/** Settings of the machine that is told what becomes of messages. */
export const events = {
  title: 'Tell other machines what became of messages',
  about: 'Off unless EVENTS_URL is set.',
  settings: {
    EVENTS_URL: settingWithReader(readEventsUrl, {
      secret: true,
      meaning:
        'Where another machine of yours takes what became of messages, as signed webhooks (docs/events.md). https, or http on this machine.',
      example: 'https://hooks.example.com/courier',
    }),
    EVENTS_SECRET: settingWithReader(readSigningSecrets, {
      secret: true,
      meaning:
        'Key that the webhooks are signed with, the same at the receiver: whsec_ and 24 to 64 random bytes in base64 (`echo "whsec_$(openssl rand -base64 32)"`). Two, parted by a space, while one is being replaced.',
      example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    }),
    EVENTS_MAX_WAITING: integerSetting([1000, 10_000_000], {
      default: 100_000,
      meaning:
        'Most events that wait for a receiver that is down, of 100 to 200 bytes on disk each; beyond it the oldest are dropped.',
    }),
  },
} as const satisfies Group<Settings>
