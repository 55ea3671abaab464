import { readFrom } from '../../settings/senders.ts'
import {
  integerSetting,
  missingSetting,
  missingSettings,
  type SettingFault,
  settingWithReader,
  textSetting,
  type Values,
} from '../../settings/setting.ts'
import { readApiUrl } from '../../settings/urls.ts'

export const twilioSettings = {
  TWILIO_ACCOUNT_SID: textSetting({
    fill: true,
    pattern: '^AC[0-9a-fA-F]{32}$',
    form: 'AC and 32 hex digits',
    meaning: "Your Twilio account, as Twilio's console shows it.",
    example: 'AC00000000000000000000000000000000',
  }),
  TWILIO_AUTH_TOKEN: textSetting({
    fill: true,
    minLength: 1,
    secret: true,
    meaning: "The account's Auth Token. Also proves that a delivery report really comes from Twilio.",
    example: 'the-auth-token-of-the-account',
  }),
  TWILIO_API_KEY_SID: textSetting({
    pattern: '^SK[0-9a-fA-F]{32}$',
    form: 'SK and 32 hex digits',
    meaning: 'Instead of the Auth Token: an API key. Without an Auth Token there are no delivery reports.',
    example: 'SK00000000000000000000000000000000',
  }),
  TWILIO_API_KEY_SECRET: textSetting({
    minLength: 1,
    secret: true,
    meaning: "The API key's secret.",
    example: 'the-secret-of-the-api-key',
  }),
  TWILIO_FROM: settingWithReader(readFrom, {
    fill: true,
    meaning: 'Who SMS are from: a Twilio number, or a name of up to 11 letters where the country allows it.',
    example: '+15005550006',
  }),
  TWILIO_MESSAGING_SERVICE_SID: textSetting({
    pattern: '^MG[0-9a-fA-F]{32}$',
    form: 'MG and 32 hex digits',
    meaning: 'Instead of TWILIO_FROM: a messaging service that chooses the sender.',
    example: 'MG00000000000000000000000000000000',
  }),
  TWILIO_API_URL: settingWithReader(readApiUrl, {
    default: 'https://api.twilio.com',
    meaning: "Twilio's API.",
    example: 'https://api.dublin.ie1.twilio.com',
  }),
  TWILIO_CONCURRENCY: integerSetting({
    minimum: 1,
    maximum: 2000,
    default: 200,
    meaning:
      'Requests to Twilio at the same time, at most. Fewer are used when more do not pay, or when it asks for fewer.',
    example: '200',
  }),
} as const

/** The faults of these settings together, when SMS is on. */
export function findTwilioFaults(s: Partial<Values<typeof twilioSettings>>): readonly SettingFault[] {
  const because = 'SMS is on (SMS_TOKEN)'
  const faults = missingSettings(s, {
    TWILIO_ACCOUNT_SID: `${because}, so name your Twilio account (AC…)`,
  })
  if (s.TWILIO_API_KEY_SID === undefined && s.TWILIO_AUTH_TOKEN === undefined)
    faults.push(
      missingSetting(
        'TWILIO_AUTH_TOKEN',
        `${because}: set it, or TWILIO_API_KEY_SID and TWILIO_API_KEY_SECRET`,
      ),
    )
  if (s.TWILIO_API_KEY_SID !== undefined && s.TWILIO_API_KEY_SECRET === undefined)
    faults.push(missingSetting('TWILIO_API_KEY_SECRET', 'it belongs to TWILIO_API_KEY_SID'))
  if (s.TWILIO_API_KEY_SID === undefined && s.TWILIO_API_KEY_SECRET !== undefined)
    faults.push(missingSetting('TWILIO_API_KEY_SID', 'it belongs to TWILIO_API_KEY_SECRET'))
  if (s.TWILIO_FROM === undefined && s.TWILIO_MESSAGING_SERVICE_SID === undefined)
    faults.push(
      missingSetting(
        'TWILIO_FROM',
        `${because}: set it to a number of yours, or set TWILIO_MESSAGING_SERVICE_SID`,
      ),
    )
  if (s.TWILIO_FROM !== undefined && s.TWILIO_MESSAGING_SERVICE_SID !== undefined)
    faults.push({
      name: 'TWILIO_FROM',
      problem: 'and TWILIO_MESSAGING_SERVICE_SID are both set: remove one of them',
    })
  return faults
}
