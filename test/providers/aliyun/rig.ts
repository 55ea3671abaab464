import {
  type AliyunStandIn,
  type AliyunStandInOptions,
  createAliyunStandIn,
  refusalOf,
} from '../../../sandbox/carriers/aliyun.ts'
import type { CarrierFault } from '../../../sandbox/carriers/api-server.ts'
import { createAliyunProvider } from '../../../src/providers/aliyun.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import type { TemplateUse } from '../../../src/providers/sms-templates.ts'
import type { TemplateCarrierSettings } from '../../../src/providers/template-carrier.ts'
import { startStandIn } from '../../rigs/stand-in.ts'
import { SHORT_HTTP } from '../short.ts'

export const LOGIN = { keyId: 'LTAItest', secret: 'canary-secret-7d1c' }
export const NUMBER = '13711112222'
export const SIGN_NAME = '示例科技'

/** Settings by which Aliyun alone sends SMS. */
export const ALONE = {
  TWILIO_ACCOUNT_SID: '',
  TWILIO_AUTH_TOKEN: '',
  TWILIO_FROM: '',
  ALIYUN_ACCESS_KEY_ID: LOGIN.keyId,
  ALIYUN_ACCESS_KEY_SECRET: LOGIN.secret,
  ALIYUN_SMS_SIGN_NAME: SIGN_NAME,
}

export const SIGNATURES = [
  { SignName: SIGN_NAME, AuditStatus: 'AUDIT_STATE_PASS', BusinessType: '通用类型' },
  { SignName: '待审科技', AuditStatus: 'AUDIT_STATE_INIT', BusinessType: '验证码类型' },
]
const template = (TemplateCode: string, TemplateContent: string, TemplateType: number, review = 'PASS') => ({
  TemplateCode,
  TemplateContent,
  AuditStatus: `AUDIT_STATE_${review}`,
  TemplateType,
})
export const TEMPLATES = [
  template('SMS_4', '设备已离线。', 0),
  template('SMS_1', '您的验证码为${code}，5分钟内有效。', 2),
  template('SMS_2', 'Your code is ${code}.', 6),
  template('SMS_3', '您的验证码为${code}。', 2, 'INIT'),
]

/** The same template for everything. */
export const templatesOf = (use: Partial<TemplateUse> = {}): TemplateCarrierSettings['templates'] => ({
  templateFor: (_carrier, { params }) => ({
    template: 'SMS_1',
    params: { code: params['code'] ?? '' },
    ...use,
  }),
})

export function startAliyunServer(options: Partial<AliyunStandInOptions> = {}) {
  const account = { ...LOGIN, signatures: SIGNATURES, templates: TEMPLATES }
  return startStandIn<AliyunStandIn>(fault => createAliyunStandIn({ ...account, fault, ...options }))
}

export function openAliyun(url: string, settings: Partial<TemplateCarrierSettings> = {}): Provider {
  return createAliyunProvider({
    ...LOGIN,
    apiUrl: url,
    signName: SIGN_NAME,
    templates: templatesOf(),
    concurrency: 2,
    clock: { now: Date.now },
    limits: SHORT_HTTP,
    ...settings,
  })
}

/** A refusal of SendSms by a published code; `words` of it. */
export function refuse(code: string, words?: string): CarrierFault {
  return { is: 'answer', ...refusalOf(code, words) }
}
