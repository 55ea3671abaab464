import type { CarrierFault } from '../../../sandbox/carriers/api-server.ts'
import {
  createTencentStandIn,
  refusalOf,
  type TencentStandIn,
  type TencentStandInOptions,
} from '../../../sandbox/carriers/tencent.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import type { TemplateUse } from '../../../src/providers/sms-templates.ts'
import { createTencentProvider, type TencentSettings } from '../../../src/providers/tencent.ts'
import { startStandIn } from '../../rigs/stand-in.ts'
import { SHORT_HTTP } from '../short.ts'

export const LOGIN = { secretId: 'AKIDtest', secretKey: 'canary-secret-3b8e' }
export const APP_ID = '1400006666'
export const NUMBER = '+8613711112222'
export const SIGN_NAME = '示例科技'

/** Settings by which Tencent Cloud alone sends SMS. */
export const ALONE = {
  TWILIO_ACCOUNT_SID: '',
  TWILIO_AUTH_TOKEN: '',
  TWILIO_FROM: '',
  TENCENT_SECRET_ID: LOGIN.secretId,
  TENCENT_SECRET_KEY: LOGIN.secretKey,
  TENCENT_SMS_APP_ID: APP_ID,
  TENCENT_SMS_SIGN_NAME: SIGN_NAME,
}

export const SIGNATURES = [
  { SignId: 1, SignName: SIGN_NAME, International: 0, StatusCode: 0 },
  { SignId: 2, SignName: '待审科技', International: 0, StatusCode: 1 },
  { SignId: 3, SignName: '未报备', International: 0, StatusCode: -1, ReviewReply: '资质不全' },
]
export const TEMPLATES = [
  { TemplateId: 1110, TemplateContent: '验证码{1}，{2}分钟内有效。', International: 0, StatusCode: 0 },
  { TemplateId: 1111, TemplateContent: 'Your code is {1}.', International: 1, StatusCode: 0 },
  { TemplateId: 1112, TemplateContent: '{1}。', International: 0, StatusCode: 2, ReviewReply: '报备中' },
  { TemplateId: 1113, TemplateContent: '设备{1}离线。', International: 3, StatusCode: 0 },
]

/** The same template for everything. */
export const templatesOf = (use: Partial<TemplateUse> = {}): TencentSettings['templates'] => ({
  templateFor: (_carrier, { params }) => ({
    template: '1110',
    params: [params['code'] ?? '', params['minute'] ?? ''],
    ...use,
  }),
})

export function startTencentServer(options: Partial<TencentStandInOptions> = {}) {
  const account = { ...LOGIN, appId: APP_ID, signatures: SIGNATURES, templates: TEMPLATES }
  return startStandIn<TencentStandIn>(fault => createTencentStandIn({ ...account, fault, ...options }))
}

export function openTencent(url: string, settings: Partial<TencentSettings> = {}): Provider {
  return createTencentProvider({
    keyId: LOGIN.secretId,
    secret: LOGIN.secretKey,
    apiUrl: url,
    appId: APP_ID,
    region: 'ap-guangzhou',
    signName: SIGN_NAME,
    templates: templatesOf(),
    concurrency: 2,
    clock: { now: Date.now },
    limits: SHORT_HTTP,
    ...settings,
  })
}

/** A refusal of the whole request by a published code. */
export function refuse(code: string, words?: string): CarrierFault {
  return { is: 'answer', ...refusalOf(code, words) }
}
