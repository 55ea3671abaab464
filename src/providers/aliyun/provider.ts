import type { OutgoingSms } from '../../messages/message.ts'
import { unverified } from '../diagnosis.ts'
import { outcomeWithoutAnswer } from '../http-exchange.ts'
import { type JsonAnswer, textOf } from '../json-answer.ts'
import { type LookUp, type Outcome, type Provider, type Verification } from '../provider.ts'
import { presentableReply } from '../reply.ts'
import type { SmsTemplates } from '../sms-templates.ts'
import { createTemplateProvider } from '../template-provider.ts'
import { findValueFault, type ValueRules } from '../template-values.ts'
import { type AliyunApi, type AliyunApiSettings, createAliyunApi } from './api.ts'
import { DETAILS_PAGE, daysToAsk, findInDetails, MOST_PAGES, readDetails } from './look-up.ts'
import { aliyunOutcome } from './outcome.ts'

export interface AliyunSettings extends AliyunApiSettings {
  /** The signature of a message whose template and plugin_id have none. */
  readonly signName?: string | undefined
  readonly templates: Pick<SmsTemplates, 'templateFor'>
  /** Requests in flight at most; one connection each. */
  readonly concurrency?: number
}

/** The values that a template on the mainland accepts (https://help.aliyun.com/document_detail/44357.html). */
const MAINLAND: ValueRules = {
  longest: 35,
  code: /^[0-9A-Za-z]{4,6}$/,
  codeForm: '4 to 6 digits or letters',
}

/** The parameters of SendSms that depend on the message. */
interface Parcel {
  readonly template: string
  readonly signName: string
  readonly params: Readonly<Record<string, string>>
}

/** Sends SMS by the enterprise's approved templates at Aliyun, one recipient a request. */
export function createAliyunProvider(settings: AliyunSettings): Provider {
  const { clock, concurrency = 200 } = settings
  const api = createAliyunApi(settings, concurrency)
  return createTemplateProvider({
    name: 'aliyun',
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
function packMessage(
  { templates, signName }: AliyunSettings,
  message: OutgoingSms,
): Parcel | { readonly why: string } {
  const use = templates.templateFor('aliyun', message)
  if ('why' in use) return use
  const { template, params, signature = signName } = use
  if (signature === undefined) return { why: 'it has no signature: set ALIYUN_SMS_SIGN_NAME' }
  if (isList(params) && params.length > 0)
    return { why: `the parameters of ${template} must be named, as its text names them` }
  const named = isList(params) ? {} : params
  const fault = message.country === 'CN' ? findValueFault(named, message.params['code'], MAINLAND) : null
  return fault === null ? { template, signName: signature, params: named } : { why: fault }
}

function isList(params: Parcel['params'] | readonly string[]): params is readonly string[] {
  return Array.isArray(params)
}

/** @see https://help.aliyun.com/zh/sms/developer-reference/api-dysmsapi-2017-05-25-sendsms */
async function sendParcel(
  api: AliyunApi,
  { secret, clock }: AliyunSettings,
  message: OutgoingSms,
  { template, signName, params }: Parcel,
  signal: AbortSignal,
): Promise<Outcome> {
  const query = {
    PhoneNumbers: vendorNumber(message),
    SignName: signName,
    TemplateCode: template,
    TemplateParam: JSON.stringify(params),
    OutId: message.id,
  }
  const result = await api.call('SendSms', query, signal, message.expiresAt)
  if (!('value' in result)) return outcomeWithoutAnswer(result, 'Aliyun')
  return aliyunOutcome(result.value, query.PhoneNumbers, [secret, ...Object.values(params)], clock.now())
}

/** A number as Aliyun writes it: 11 digits on the mainland, else country code and number without +. */
function vendorNumber({ to, country }: OutgoingSms): string {
  return country === 'CN' ? to.replace(/^\+86/, '') : to.replace(/^\+/, '')
}

/** Asks day by day for the messages to the number, and looks for ours among them. */
async function lookUpMessage(
  api: AliyunApi,
  settings: AliyunSettings,
  message: OutgoingSms,
  since: number,
  signal: AbortSignal,
): Promise<LookUp> {
  const PhoneNumber = vendorNumber(message)
  for (const SendDate of daysToAsk(since, settings.clock.now())) {
    for (let page = 1; page <= MOST_PAGES; page += 1) {
      const query = { PhoneNumber, SendDate, PageSize: String(DETAILS_PAGE), CurrentPage: String(page) }
      const result = await api.call('QuerySendDetails', query, signal)
      if (!('value' in result))
        return { is: 'unreachable', reply: outcomeWithoutAnswer(result, 'Aliyun').reply }
      const { body } = result.value
      if (body?.['Code'] !== 'OK')
        return { is: 'unreachable', reply: refusalOf(result.value, PhoneNumber, settings.secret) }
      const { rows, total } = readDetails(body)
      const found = findInDetails(rows, message.id)
      if (found.is === 'accepted') return found
      if (page * DETAILS_PAGE >= total) break
    }
  }
  return findInDetails([], message.id)
}

/** A refusal of anything but a message, in words. */
function refusalOf({ status, body }: JsonAnswer, recipient: string, secret: string): string {
  const words = [textOf(body?.['Code']), textOf(body?.['Message'])].filter(Boolean).join(': ')
  return presentableReply(words || `HTTP ${status}`, recipient, [secret])
}

/** Lists one signature, which a key may do that works; a key that may not has proved itself as well. */
async function verifyKey(api: AliyunApi, { secret, apiUrl }: AliyunSettings): Promise<Verification> {
  const result = await api.call('QuerySmsSignList', { PageIndex: '1', PageSize: '1' })
  if (!('value' in result)) return unverified(result, apiUrl, 'ALIYUN_API_URL')
  const code = textOf(result.value.body?.['Code'])
  if (code === 'OK') return { ok: true, detail: 'the key works' }
  if (isPermissionLacking(code))
    return { ok: true, detail: 'the key works, but may not list signatures and templates' }
  return { ok: false, detail: refusalOf(result.value, '', secret) }
}

/** Says whether a key was right, but its RAM policy lacks the operation. */
function isPermissionLacking(code: string): boolean {
  return code === 'isp.RAM_PERMISSION_DENY' || /^(?:Forbidden|NoPermission)/.test(code)
}
