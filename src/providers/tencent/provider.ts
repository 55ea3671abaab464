import type { OutgoingSms } from '../../messages/message.ts'
import { unverified } from '../diagnosis.ts'
import { outcomeWithoutAnswer } from '../http-exchange.ts'
import { type JsonAnswer, objectsOf } from '../json-answer.ts'
import { type LookUp, type Outcome, type Provider, type Verification } from '../provider.ts'
import { presentableReply } from '../reply.ts'
import type { SmsTemplates } from '../sms-templates.ts'
import { createTemplateProvider } from '../template-provider.ts'
import { findValueFault, type ValueRules } from '../template-values.ts'
import { createTencentApi, type TencentApi, type TencentApiSettings } from './api.ts'
import { findInReports, REPORTS_PAGE, timeRangeOf } from './look-up.ts'
import { errorOf, tencentOutcome } from './outcome.ts'

export interface TencentSettings extends TencentApiSettings {
  /** SdkAppId of the application. */
  readonly appId: string
  /** The signature on the mainland of a message whose template and plugin_id have none. */
  readonly signName?: string | undefined
  readonly templates: Pick<SmsTemplates, 'templateFor'>
  /** Requests in flight at most; one connection each. */
  readonly concurrency?: number
}

/**
 * The values that a template accepts (https://cloud.tencent.com/document/product/382/39023). How long a value may be that is no
 * code stands in the console, and differs by account.
 */
const RULES: ValueRules = { longest: 500, code: /^\d{1,6}$/, codeForm: 'at most 6 digits', likeCode: true }

/** The parameters of SendSms that depend on the message. */
interface Parcel {
  readonly template: string
  readonly signName: string | undefined
  readonly params: readonly string[]
}

/** Sends SMS by the enterprise's approved templates at Tencent Cloud, one recipient a request. */
export function createTencentProvider(settings: TencentSettings): Provider {
  const { clock, concurrency = 200 } = settings
  const api = createTencentApi(settings, concurrency)
  return createTemplateProvider({
    name: 'tencent',
    concurrency,
    clock,
    pack: message => packMessage(settings, message),
    send: (message, parcel, signal) => sendParcel(api, settings, message, parcel, signal),
    lookUp: (message, since, signal) => lookUpMessage(api, settings, message, since, signal),
    verify: () => verifyKey(api, settings),
    close: () => api.close(),
  })
}

/** Puts a message into its template. @returns why it cannot be, in words that tell nothing of what it says */
function packMessage(settings: TencentSettings, message: OutgoingSms): Parcel | { readonly why: string } {
  const use = settings.templates.templateFor('tencent', message)
  if ('why' in use) return use
  const { template, params } = use
  const mainland = message.country === 'CN'
  // Abroad a signature is another one, and not needed.
  const signName = use.signature ?? (mainland ? settings.signName : undefined)
  if (mainland && signName === undefined) return { why: 'it has no signature: set TENCENT_SMS_SIGN_NAME' }
  if (!Array.isArray(params))
    return { why: `the parameters of template ${template} must be a list, in its order` }
  const fault = findValueFault(params, message.params['code'], RULES)
  return fault === null ? { template, signName, params: params as readonly string[] } : { why: fault }
}

/** @see https://cloud.tencent.com/document/api/382/55981 */
async function sendParcel(
  api: TencentApi,
  { secretKey, appId, clock }: TencentSettings,
  { id, to, expiresAt }: OutgoingSms,
  { template, signName, params }: Parcel,
  signal: AbortSignal,
): Promise<Outcome> {
  const request = {
    PhoneNumberSet: [to],
    SmsSdkAppId: appId,
    TemplateId: template,
    SignName: signName,
    TemplateParamSet: params,
    SessionContext: id,
  }
  const result = await api.call('SendSms', request, signal, expiresAt)
  if (!('value' in result)) return outcomeWithoutAnswer(result, 'Tencent')
  return tencentOutcome(result.value, to, [secretKey, ...params], clock.now())
}

/** Asks for the reports on messages to the number, and looks for ours among them. */
async function lookUpMessage(
  api: TencentApi,
  { appId, secretKey, clock }: TencentSettings,
  { id, to }: OutgoingSms,
  since: number,
  signal: AbortSignal,
): Promise<LookUp> {
  const request = { PhoneNumber: to, SmsSdkAppId: appId, Offset: 0, Limit: REPORTS_PAGE }
  const span = timeRangeOf(since, clock.now())
  const result = await api.call('PullSmsSendStatusByPhoneNumber', { ...request, ...span }, signal)
  if (!('value' in result)) return { is: 'unreachable', reply: outcomeWithoutAnswer(result, 'Tencent').reply }
  const refusal = refusalOf(result.value, to, secretKey)
  if (refusal !== null) return { is: 'unreachable', reply: refusal }
  return findInReports(objectsOf(result.value.body?.['PullSmsSendStatusSet']), id)
}

/** A refusal of anything but a message, in words; null: it was none. */
function refusalOf(answer: JsonAnswer, recipient: string, secretKey: string): string | null {
  const error = errorOf(answer)
  if (error !== null) return presentableReply(`${error.code}: ${error.message}`, recipient, [secretKey])
  return answer.status === 200 && answer.body !== null ? null : `HTTP ${answer.status}`
}

/** Lists one signature; a key that may not, as those of individuals, has proved itself as well. */
async function verifyKey(api: TencentApi, { secretKey, apiUrl }: TencentSettings): Promise<Verification> {
  const result = await api.call('DescribeSmsSignList', { International: 0, Limit: 1, Offset: 0 })
  if (!('value' in result)) return unverified(result, apiUrl, 'TENCENT_API_URL')
  const error = errorOf(result.value)
  if (error !== null && /^(?:AuthFailure\.)?UnauthorizedOperation|^FailedOperation/.test(error.code))
    return { ok: true, detail: 'the key works, but may not list signatures and templates' }
  const refusal = refusalOf(result.value, '', secretKey)
  return refusal === null ? { ok: true, detail: 'the key works' } : { ok: false, detail: refusal }
}
