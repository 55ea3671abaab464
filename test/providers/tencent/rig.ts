import type { CarrierFault } from '../../../sandbox/carriers/api-server.ts'
import {
  createTencentStandIn,
  refusalOf,
  type TencentRequest,
  type TencentStandIn,
  type TencentStandInOptions,
} from '../../../sandbox/carriers/tencent.ts'
import type { OutgoingSms } from '../../../src/messages/message.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import type { TemplateUse } from '../../../src/providers/sms-templates.ts'
import { createTencentProvider, type TencentSettings } from '../../../src/providers/tencent.ts'
import { ownHost } from '../../rigs/own-host.ts'
import type { Behaviour, ContractRig } from '../contract.ts'
import { SHORT_HTTP } from '../short.ts'
import { outgoingSms } from '../sms.ts'
import { mail } from '../smtp/rig.ts'

export const LOGIN = { secretId: 'AKIDtest', secretKey: 'canary-secret-3b8e' }
export const APP_ID = '1400006666'
export const NUMBER = '+8613711112222'
export const CODE = '607182'
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
  { SignId: 3, SignName: '未报备', International: 0, StatusCode: -1 },
]
export const TEMPLATES = [
  { TemplateId: 1110, TemplateContent: '验证码{1}，{2}分钟内有效。', International: 0, StatusCode: 0 },
  { TemplateId: 1111, TemplateContent: 'Your code is {1}.', International: 1, StatusCode: 0 },
  { TemplateId: 1112, TemplateContent: '验证码{1}。', International: 0, StatusCode: 2 },
  { TemplateId: 1113, TemplateContent: '设备{1}离线。', International: 3, StatusCode: 0 },
]

/** A code to the mainland. */
export function sms(changes: Partial<OutgoingSms> = {}): OutgoingSms {
  return outgoingSms({
    to: NUMBER,
    country: 'CN',
    params: { code: CODE, minute: '5' },
    text: () => {
      throw new Error('a carrier with templates asks for no text')
    },
    ...changes,
  })
}

/** The same template for everything. */
export function templatesOf(use: Partial<TemplateUse> = {}): TencentSettings['templates'] {
  return {
    templateFor: (_carrier, { params }) => ({
      template: '1110',
      params: [params['code'] ?? '', params['minute'] ?? ''],
      ...use,
    }),
  }
}

export interface TencentServer {
  readonly url: string
  readonly standIn: TencentStandIn
  /** What to do with a request from now on; undefined: behave. */
  fault: ((request: TencentRequest) => CarrierFault | undefined) | undefined
}

export async function startTencentServer(
  options: Partial<TencentStandInOptions> = {},
): Promise<TencentServer> {
  const rig: { fault: TencentServer['fault'] } = { fault: undefined }
  const standIn = createTencentStandIn({
    ...LOGIN,
    appId: APP_ID,
    signatures: SIGNATURES,
    templates: TEMPLATES,
    fault: request => rig.fault?.(request),
    ...options,
  })
  const host = ownHost()
  const { port } = await standIn.listen(0, host)
  return Object.assign(rig, { standIn, url: `http://${host}:${port}` })
}

export function openTencent(url: string, settings: Partial<TencentSettings> = {}): Provider {
  return createTencentProvider({
    ...LOGIN,
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

const ECHO = `${NUMBER} ${NUMBER.slice(3)} ${CODE} https://platform.example/canaryLink ${LOGIN.secretKey}`
const FAULTS: Readonly<Record<Exclude<Behaviour, 'well'>, CarrierFault>> = {
  'refuse-recipient': refuse('InvalidParameterValue.IncorrectPhoneNumber', ECHO),
  'refuse-content': refuse('FailedOperation.ContainSensitiveWord', ECHO),
  'refuse-for-now': refuse('RequestLimitExceeded', ECHO),
  'stall-after-message': { is: 'stall', accept: true },
  'drop-after-message': { is: 'reset', accept: true },
  garbage: { is: 'answer', status: 502, body: `<html>${ECHO}</html>` },
}

/** Everything of a contract's rig but the providers. */
export function tencentSide(server: TencentServer): Omit<ContractRig, 'provider' | 'wrongLogin' | 'end'> {
  const { standIn } = server
  return {
    message: sms,
    foreign: mail(),
    recipient: NUMBER,
    secrets: [NUMBER.slice(3), CODE, 'canaryLink', LOGIN.secretKey, 'canary-wrong', 'TC3-HMAC'],
    arrived: () => standIn.messages.map(({ sessionContext }) => sessionContext),
    sockets: () => standIn.connections(),
    behave(how) {
      server.fault = how === 'well' ? undefined : () => FAULTS[how]
    },
    goDown: async () => standIn.close(),
  }
}
