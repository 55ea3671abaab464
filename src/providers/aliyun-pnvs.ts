import { checksOf } from '../runtime/check-result.ts'
import { objectOf } from '../runtime/json-object.ts'
import { isRouted } from '../settings/senders.ts'
import { settingWithReader } from '../settings/setting.ts'
import { readApiUrl } from '../settings/urls.ts'
import { aliyunApi, aliyunKeySettings, parcelParams } from './aliyun.ts'
import { textOf } from './json-answer.ts'
import { defineTemplateCarrier, type TemplateCarrierSettings } from './template-carrier.ts'

const NAME = 'aliyun-pnvs'

/** Settings of Aliyun's 短信认证; the key is that of `aliyun`. */
const pnvsSettings = {
  ...aliyunKeySettings,
  ALIYUN_PNVS_API_URL: settingWithReader(readApiUrl, {
    default: 'https://dypnsapi.aliyuncs.com',
    meaning: "The API of Aliyun's 短信认证, for the carrier aliyun-pnvs (docs/sms.md).",
    example: 'https://dypnsapi.aliyuncs.com',
  }),
} as const

/** What nobody can set here, and what an operator should know before it surprises somebody. */
const NATURE = checksOf('aliyun-pnvs limits').ok(
  "sends codes to +86 only, in Aliyun's own words and without your brand, and a number gets one in 60 s (Interval)",
  'look at its gift signature and template in the console: Aliyun exchanges them',
)

/**
 * Aliyun's 短信认证 (PNVS, Dypnsapi 2017-05-25): verification codes to the mainland under a signature and a template of Aliyun's own,
 * from the day on which an account is opened. The code is ours, and Aliyun is never asked to check one.
 * It can be asked for no message of ours: its list of sent ones is not described.
 */
export const { module: aliyunPnvs, createProvider: createAliyunPnvsProvider } = defineTemplateCarrier<
  typeof NAME,
  typeof pnvsSettings,
  TemplateCarrierSettings
>({
  ...aliyunApi,
  name: NAME,
  title: 'Aliyun PNVS',
  settings: pnvsSettings,
  isByRoute: true,
  // What `aliyun` lacks of the key is said there.
  needed: {},
  urlSetting: 'ALIYUN_PNVS_API_URL',
  signature: { abroad: true },
  account({ ALIYUN_ACCESS_KEY_ID: keyId, ALIYUN_ACCESS_KEY_SECRET: secret, ...others }) {
    if (keyId === undefined || secret === undefined || !isRouted(others.SMS_ROUTES, NAME)) return undefined
    return { keyId, secret, apiUrl: others.ALIYUN_PNVS_API_URL }
  },
  misfit({ to, params }) {
    if (!to.startsWith('+86')) return 'it sends to numbers of mainland China (+86) only'
    return params['code'] === undefined ? 'it sends verification codes only' : null
  },
  sendAction: 'SendSmsVerifyCode',
  /** @see https://help.aliyun.com/zh/pnvs/developer-reference/api-dypnsapi-2017-05-25-sendsmsverifycode */
  sendParams: (_settings, message, parcel) => ({
    PhoneNumber: aliyunApi.numberOf(message),
    ...parcelParams(message, parcel),
  }),
  readSent: body => ({ code: 'OK', message: '', id: textOf(objectOf(body['Model'])?.['BizId']) }),
  notes: [NATURE],
})
