import {
  type AliyunRequest,
  type AliyunStandIn,
  type AliyunStandInOptions,
  createAliyunStandIn,
  refusalOf,
} from '../../../sandbox/carriers/aliyun.ts'
import { type CarrierFault } from '../../../sandbox/carriers/api-server.ts'
import type { OutgoingSms } from '../../../src/messages/message.ts'
import { type AliyunSettings, createAliyunProvider } from '../../../src/providers/aliyun.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import type { TemplateUse } from '../../../src/providers/sms-templates.ts'
import { ownHost } from '../../rigs/own-host.ts'
import type { Behaviour, ContractRig } from '../contract.ts'
import { SHORT_HTTP } from '../short.ts'
import { outgoingSms } from '../sms.ts'
import { mail } from '../smtp/rig.ts'

export const LOGIN = { keyId: 'LTAItest', secret: 'canary-secret-7d1c' }
export const NUMBER = '13711112222'
export const CODE = '607182'
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
export const TEMPLATES = [
  {
    TemplateCode: 'SMS_4',
    TemplateContent: '设备已离线。',
    AuditStatus: 'AUDIT_STATE_PASS',
    TemplateType: 0,
  },
  {
    TemplateCode: 'SMS_1',
    TemplateContent: '您的验证码为${code}，5分钟内有效。',
    AuditStatus: 'AUDIT_STATE_PASS',
    TemplateType: 2,
  },
  {
    TemplateCode: 'SMS_2',
    TemplateContent: 'Your code is ${code}.',
    AuditStatus: 'AUDIT_STATE_PASS',
    TemplateType: 6,
  },
  {
    TemplateCode: 'SMS_3',
    TemplateContent: '您的验证码为${code}。',
    AuditStatus: 'AUDIT_STATE_INIT',
    TemplateType: 2,
  },
]

/** A code to the mainland. */
export function sms(changes: Partial<OutgoingSms> = {}): OutgoingSms {
  return outgoingSms({
    to: `+86${NUMBER}`,
    country: 'CN',
    params: { code: CODE, minute: '5' },
    text: () => {
      throw new Error('a carrier with templates asks for no text')
    },
    ...changes,
  })
}

/** The same template for everything. */
export function templatesOf(use: Partial<TemplateUse> = {}): AliyunSettings['templates'] {
  return {
    templateFor: (_carrier, { params }) => ({
      template: 'SMS_1',
      params: { code: params['code'] ?? '' },
      ...use,
    }),
  }
}

export interface AliyunServer {
  readonly url: string
  readonly standIn: AliyunStandIn
  /** What to do with a request from now on; undefined: behave. */
  fault: ((request: AliyunRequest) => CarrierFault | undefined) | undefined
}

export async function startAliyunServer(options: Partial<AliyunStandInOptions> = {}): Promise<AliyunServer> {
  const rig: { fault: AliyunServer['fault'] } = { fault: undefined }
  const standIn = createAliyunStandIn({
    ...LOGIN,
    signatures: SIGNATURES,
    templates: TEMPLATES,
    fault: request => rig.fault?.(request),
    ...options,
  })
  const host = ownHost()
  const { port } = await standIn.listen(0, host)
  return Object.assign(rig, { standIn, url: `http://${host}:${port}` })
}

export function openAliyun(url: string, settings: Partial<AliyunSettings> = {}): Provider {
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

const ECHO = `${NUMBER} +86${NUMBER} ${CODE} https://platform.example/canaryLink ${LOGIN.secret}`
const FAULTS: Readonly<Record<Exclude<Behaviour, 'well'>, CarrierFault>> = {
  'refuse-recipient': refuse('isv.MOBILE_NUMBER_ILLEGAL', `${ECHO}手机号码格式错误`),
  'refuse-content': refuse('isv.SMS_CONTENT_ILLEGAL', ECHO),
  'refuse-for-now': refuse('Throttling.User', ECHO),
  'stall-after-message': { is: 'stall', accept: true },
  'drop-after-message': { is: 'reset', accept: true },
  garbage: { is: 'answer', status: 502, body: `<html>${ECHO}</html>` },
}

/** Everything of a contract's rig but the providers. */
export function aliyunSide(server: AliyunServer): Omit<ContractRig, 'provider' | 'wrongLogin' | 'end'> {
  const { standIn } = server
  return {
    message: sms,
    foreign: mail(),
    recipient: `+86${NUMBER}`,
    secrets: [NUMBER, CODE, 'canaryLink', LOGIN.secret, 'canary-wrong', 'ACS3-HMAC'],
    arrived: () => standIn.messages.map(({ outId }) => outId),
    sockets: () => standIn.connections(),
    behave(how) {
      server.fault = how === 'well' ? undefined : () => FAULTS[how]
    },
    goDown: async () => standIn.close(),
  }
}
