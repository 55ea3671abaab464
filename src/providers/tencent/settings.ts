import {
  missingSettings,
  type SettingFault,
  settingWithReader,
  textSetting,
  type Values,
} from '../../settings/setting.ts'
import { readApiUrl } from '../../settings/urls.ts'
import type { HttpLimits } from '../http-exchange.ts'

export const tencentSettings = {
  TENCENT_SECRET_ID: textSetting({
    minLength: 1,
    meaning: 'Your Tencent Cloud key, of a CAM user that may only send SMS (docs/sms.md).',
    example: 'AKIDexampleexampleexampleexample',
  }),
  TENCENT_SECRET_KEY: textSetting({
    minLength: 1,
    secret: true,
    meaning: "The key's secret.",
    example: 'the-secret-of-the-tencent-key',
  }),
  TENCENT_SMS_APP_ID: textSetting({
    pattern: '^\\d{6,20}$',
    form: 'the SdkAppId, digits only',
    meaning: "The SMS application's SdkAppId.",
    example: '1400006666',
  }),
  TENCENT_SMS_SIGN_NAME: textSetting({
    pattern: '^[^【】\\s]{2,64}$',
    form: 'the approved signature without 【】 and blanks',
    meaning: 'Your approved signature for the mainland, unless a template or plugin_id has its own.',
    example: '示例科技',
  }),
  TENCENT_SMS_REGION: textSetting({
    pattern: '^[a-z]+-[a-z]+$',
    form: 'a region such as ap-guangzhou',
    default: 'ap-guangzhou',
    meaning: 'Region that requests name, which has nothing to do with the recipients.',
    example: 'ap-beijing',
  }),
  TENCENT_API_URL: settingWithReader(readApiUrl, {
    default: 'https://sms.tencentcloudapi.com',
    meaning: "Tencent Cloud's SMS API.",
    example: 'https://sms.intl.tencentcloudapi.com',
  }),
} as const

/** Tencent answers within a second as a rule; its own SDK waits a minute, which is too long for a code. */
export const TENCENT_LIMITS: HttpLimits = { connectMs: 5_000, answerMs: 10_000, bodyMs: 5_000 }

/** The faults of these settings together, when SMS goes by Tencent. */
export function findTencentFaults(s: Partial<Values<typeof tencentSettings>>): readonly SettingFault[] {
  return missingSettings(s, {
    TENCENT_SECRET_ID: 'SMS by Tencent need the API key of a CAM user',
    TENCENT_SECRET_KEY: 'it belongs to TENCENT_SECRET_ID',
    TENCENT_SMS_APP_ID: "SMS by Tencent need the application's SdkAppId",
  })
}
