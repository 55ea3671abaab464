import { type Group, integerSetting, settingWithReader } from '../../settings/setting.ts'
import { readEventsUrl, readSigningSecrets } from '../../settings/webhooks.ts'

const settings = {
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
  EVENTS_MAX_WAITING: integerSetting({
    minimum: 1000,
    maximum: 10_000_000,
    default: 100_000,
    meaning:
      'Most events that wait for a receiver that is down, of 100 to 200 bytes on disk each; beyond it the oldest are dropped.',
    example: '100000',
  }),
} as const

/** Settings of the machine that is told what becomes of messages. */
export const events: Group<typeof settings> = {
  title: 'Outcomes for other machines',
  about: 'Off unless EVENTS_URL is set.',
  settings,
}
