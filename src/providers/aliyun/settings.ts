import {
  missingSettings,
  type SettingFault,
  settingWithReader,
  textSetting,
  type Values,
} from '../../settings/setting.ts'
import { readApiUrl } from '../../settings/urls.ts'
import type { HttpLimits } from '../http-exchange.ts'

/** Settings of the enterprise's Aliyun (Alibaba Cloud) account. */
export const aliyunSettings = {
  ALIYUN_ACCESS_KEY_ID: textSetting({
    minLength: 1,
    meaning: 'Your Aliyun key, of a RAM user that may only send SMS (docs/sms.md).',
    example: 'LTAI5tExampleExampleExam',
  }),
  ALIYUN_ACCESS_KEY_SECRET: textSetting({
    minLength: 1,
    secret: true,
    meaning: "The key's secret.",
    example: 'the-secret-of-the-access-key',
  }),
  ALIYUN_SMS_SIGN_NAME: textSetting({
    pattern: '^[^【】\\s]{2,64}$',
    form: 'the approved signature without 【】 and blanks',
    meaning: 'Your approved signature, unless a template or plugin_id has its own.',
    example: '示例科技',
  }),
  ALIYUN_API_URL: settingWithReader(readApiUrl, {
    default: 'https://dysmsapi.aliyuncs.com',
    meaning: "Aliyun's SMS API.",
    example: 'https://dysmsapi.ap-southeast-1.aliyuncs.com',
  }),
} as const

/** Aliyun answers within a second as a rule, and its own SDK waits ten. */
export const ALIYUN_LIMITS: HttpLimits = { connectMs: 5_000, answerMs: 10_000, bodyMs: 5_000 }

/** The faults of these settings together, when SMS goes by Aliyun. */
export function findAliyunFaults(s: Partial<Values<typeof aliyunSettings>>): readonly SettingFault[] {
  return missingSettings(s, {
    ALIYUN_ACCESS_KEY_ID: 'SMS by Aliyun need the AccessKey of a RAM user',
    ALIYUN_ACCESS_KEY_SECRET: 'it belongs to ALIYUN_ACCESS_KEY_ID',
  })
}
