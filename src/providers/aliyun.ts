import { randomBytes } from 'node:crypto'
import type { OutgoingSms } from '../messages/message.ts'
import { type JsonObject, objectOf } from '../runtime/json-object.ts'
import { settingWithReader, textSetting } from '../settings/setting.ts'
import { readApiUrl } from '../settings/urls.ts'
import published from './aliyun.codes.json' with { type: 'json' }
import {
  CHINA_OFFSET_MS,
  createCodeTable,
  faultOfReport,
  type Judgement,
  judgeStatus,
  msUntilNextTotal,
  outcomeOfRefusal,
} from './codes.ts'
import { unverified } from './diagnosis.ts'
import { createHttpApi, type HttpLimits, outcomeWithoutAnswer, unreadableAnswer } from './http-client.ts'
import { type JsonAnswer, objectsOf, readJsonAnswer, textOf } from './json-answer.ts'
import type { LookUp, Outcome, Provider, Verification } from './provider.ts'
import { type CarrierReport, readOurId, reportCodeOf } from './receipts.ts'
import { createRedactor, NO_MESSAGE, type Redactor, readWord } from './redact.ts'
import { canonicalPost, encodeQuery, hmacSha256, sha256 } from './signing.ts'
import { createSmsProvider } from './sms-provider.ts'
import { findValueFault, type ValueRules } from './sms-templates.ts'
import {
  type Approval,
  defineTemplateCarrier,
  type Listed,
  listPages,
  type TemplateCarrierSettings,
} from './template-carrier.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

// Settings

/** Settings of the enterprise's Aliyun (Alibaba Cloud) account. */
const aliyunSettings = {
  ALIYUN_ACCESS_KEY_ID: textSetting({
    minLength: 1,
    meaning: 'Your Aliyun key, of a RAM user that may only send SMS (docs/sms.md).',
    example: 'LTAI5tExampleExampleExam',
  }),
  ALIYUN_ACCESS_KEY_SECRET: textSetting({
    minLength: 1,
    secret: true,
    meaning: 'The secret of ALIYUN_ACCESS_KEY_ID.',
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
const LIMITS: HttpLimits = { connectMs: 5_000, answerMs: 10_000, bodyMs: 5_000 }

export interface AliyunSettings extends TemplateCarrierSettings {
  /** The AccessKey. */
  readonly keyId: string
  readonly secret: string
  /** 32 characters that were never sent before. */
  readonly makeNonce?: () => string
}

// Request and signature

type Query = Readonly<Record<string, string>>
type AliyunApi = ReturnType<typeof createAliyunApi>

/**
 * Aliyun's SMS API, version 2017-05-25: one path, the operation in a header, its parameters in the query.
 * @param connections requests at the same time at most; one connection each.
 */
function createAliyunApi(settings: AliyunSettings, connections: number) {
  const { apiUrl: baseUrl, wall = Date.now } = settings
  const { makeNonce = () => randomBytes(16).toString('hex') } = settings
  const { host } = new URL(baseUrl)
  const api = createHttpApi({ ...settings, baseUrl, connections })

  return {
    /** @param expiresAt the request is not written from this moment on, ms since the epoch. */
    call(action: string, query: Query, signal?: AbortSignal, expiresAt?: number) {
      const signed = {
        host,
        'x-acs-action': action,
        'x-acs-content-sha256': EMPTY_BODY_HASH,
        'x-acs-date': new Date(wall()).toISOString().replace(/\.\d+Z$/, 'Z'),
        'x-acs-signature-nonce': makeNonce(),
        'x-acs-version': '2017-05-25',
      }
      const authorization = signAliyunRequest(query, signed, settings)
      const headers = { ...signed, accept: 'application/json', authorization }
      // The query holds number and code: nothing may log the path.
      const path = `/?${encodeQuery(query)}`
      return api.request({ method: 'POST', path, headers, body: null }, readJsonAnswer, signal, expiresAt)
    },
    probe: api.probe,
    close: api.close,
  }
}

/** All parameters are in the query. */
const EMPTY_BODY_HASH = sha256('')

/**
 * The Authorization header of a POST to `/` with an empty body, by ACS3-HMAC-SHA256
 * (https://help.aliyun.com/zh/sdk/product-overview/v3-request-structure-and-signature).
 *
 * @param query the parameters, not encoded.
 * @param headers all headers to sign, in lower case: host as it is sent, and every x-acs-* there is.
 */
export function signAliyunRequest(
  query: Query,
  headers: Query,
  { keyId, secret }: Pick<AliyunSettings, 'keyId' | 'secret'>,
): string {
  const { text, signedHeaders } = canonicalPost(encodeQuery(query), headers, '')
  const signature = hmacSha256(secret, `ACS3-HMAC-SHA256\n${sha256(text)}`).toString('hex')
  return `ACS3-HMAC-SHA256 Credential=${keyId},SignedHeaders=${signedHeaders},Signature=${signature}`
}

/** The values that a template on the mainland accepts (https://help.aliyun.com/document_detail/44357.html). */
const MAINLAND: ValueRules = {
  longest: 35,
  code: /^[0-9A-Za-z]{4,6}$/,
  codeForm: '4 to 6 digits or letters',
}

/** The parameters of SendSms that depend on the message. */
interface AliyunParcel {
  readonly template: string
  readonly signName: string
  readonly params: Query
}

/** Puts a message into its template. @returns why it cannot be, in words that tell nothing of what it says */
function packMessage(
  { templates, signName }: AliyunSettings,
  message: OutgoingSms,
): AliyunParcel | { readonly why: string } {
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

function isList(params: Query | readonly string[]): params is readonly string[] {
  return Array.isArray(params)
}

/** A number as Aliyun writes it: 11 digits on the mainland, else country code and number without +. */
function vendorNumber({ to, country }: OutgoingSms): string {
  return country === 'CN' ? to.replace(/^\+86/, '') : to.replace(/^\+/, '')
}

/** Sends SMS by the enterprise's approved templates at Aliyun, one recipient a request. */
export function createAliyunProvider(settings: AliyunSettings): Provider {
  const { clock, concurrency = 200, secret } = settings
  const api = createAliyunApi(settings, concurrency)
  return createSmsProvider({
    name: 'aliyun',
    concurrency,
    clock,
    pack: message => packMessage(settings, message),
    namesOf: ({ template, signName }) => ({ template, sender: signName }),
    /** @see https://help.aliyun.com/zh/sms/developer-reference/api-dysmsapi-2017-05-25-sendsms */
    async send(message, { template, signName, params }: AliyunParcel, signal) {
      const query = {
        PhoneNumbers: vendorNumber(message),
        SignName: signName,
        TemplateCode: template,
        TemplateParam: JSON.stringify(params),
        OutId: message.id,
      }
      const result = await api.call('SendSms', query, signal, message.expiresAt)
      if (!('value' in result)) return outcomeWithoutAnswer(result, 'Aliyun')
      const sent = { ...message, to: query.PhoneNumbers }
      const redactor = createRedactor(sent, [secret, ...Object.values(params)])
      return judgeAnswer(result.value, redactor, clock.now())
    },
    lookUp: (message, since, signal) => lookUpMessage(api, settings, message, since, signal),
    probe: api.probe,
    verify: () => verifyKey(api, settings),
    close: () => api.close(),
  })
}

// What an answer means

const codesOfSend = createCodeTable(published.send, published.gateway.codes)
const codesOfReceipts = createCodeTable(published.receipt, published.send)

/**
 * The verdict on a code: that of its entry for a listed one; of others, `isp.` is a fault on Aliyun's side, and nobody
 * knows how far the message got.
 *
 * @param status HTTP status: the service itself refuses with 200, the gateway before it with 4xx.
 */
function judgeCode(status: number, code: string): Judgement {
  if (code === 'OK') return { verdict: status === 200 ? 'ok' : 'ambiguous' }
  const known = codesOfSend(code)
  if (known !== undefined) return known
  if (status === 429 || (status !== 200 && !code.startsWith('isp.'))) return judgeStatus(status)
  return { verdict: code.startsWith('isp.') ? 'ambiguous' : 'ours' }
}

/**
 * The outcome of an answer to SendSms.
 *
 * @param redactor knows the code, too: the gateway repeats a request that was signed wrongly.
 * @param now ms since the epoch.
 */
function judgeAnswer(answer: JsonAnswer, redactor: Redactor, now: number): Outcome {
  const { status, body } = answer
  const code = textOf(body?.['Code'])
  if (code === '' && (status === 200 || status >= 500)) return unreadableAnswer(status)
  const message = textOf(body?.['Message'])
  const { verdict, scope } = judgeCode(status, code)
  if (verdict === 'ok')
    return { is: 'sent', reply: 'accepted', providerId: readWord(textOf(body?.['BizId'])) }
  const named = redactor.code(code) ?? `http-${status}`
  const reply = redactor.reply(withoutRequest(message) || named)
  return outcomeOfRefusal({ verdict, scope }, named, reply, answer, now, limited =>
    limited === 'recipient' ? windowOf(message) : msUntilNextTotal(now),
  )
}

/** Cuts the request off the refusal of a signature, which ends with the request as Aliyun understood it, number and code included. */
function withoutRequest(message: string): string {
  return message.replace(/\b(?:server )?(?:string to sign|canonical ?request)\b.*$/is, '').trim()
}

/** The window of a number's limit, ms, which stands in the message alone: 分钟级 a minute, 小时级 an hour, 天级 24 hours. */
function windowOf(message: string): number {
  if (/天级|\bday|\bdaily/i.test(message)) return DAY
  // Of unknown words the shortest: another refusal costs no more than a request.
  return /小时|\bhour/i.test(message) ? HOUR : MINUTE
}

/** A refusal of anything but a message, in words. */
function refusalOf({ status, body }: JsonAnswer, redactor: Redactor): string {
  const words = [textOf(body?.['Code']), textOf(body?.['Message'])].filter(Boolean).join(': ')
  return redactor.reply(words || `HTTP ${status}`)
}

// What became of an ambiguous one

/** Rows of one page at most, by Aliyun's limit. */
const DETAILS_PAGE = 50
/** Pages of one day that are asked for at most: more messages to one number are beyond every limit. */
const MOST_DETAILS = 4
/** How far Aliyun's clock and ours may be apart, ms. */
const CLOCK_SKEW_MS = 5 * MINUTE

/**
 * Asks day by day for the messages to the number, and looks for ours among them. A row with our OutId: it was accepted,
 * whatever became of it later. How soon a row appears is not documented, so that no row proves nothing.
 */
async function lookUpMessage(
  api: AliyunApi,
  { clock, secret }: AliyunSettings,
  message: OutgoingSms,
  since: number,
  signal: AbortSignal,
): Promise<LookUp> {
  const PhoneNumber = vendorNumber(message)
  for (const SendDate of daysToAsk(since, clock.now())) {
    for (let page = 1; page <= MOST_DETAILS; page += 1) {
      const query = { PhoneNumber, SendDate, PageSize: String(DETAILS_PAGE), CurrentPage: String(page) }
      const result = await api.call('QuerySendDetails', query, signal)
      if (!('value' in result))
        return { is: 'unreachable', reply: outcomeWithoutAnswer(result, 'Aliyun').reply }
      const { body } = result.value
      if (body?.['Code'] !== 'OK')
        return {
          is: 'unreachable',
          reply: refusalOf(result.value, createRedactor({ ...message, to: PhoneNumber }, [secret])),
        }
      const rows = objectsOf(objectOf(body['SmsSendDetailDTOs'])?.['SmsSendDetailDTO'])
      const row = rows.find(each => each['OutId'] === message.id)
      if (row !== undefined) {
        const state = STATES[textOf(row['SendStatus'])] ?? 'its state is not known'
        return { is: 'accepted', reply: `found among the sent ones, ${state}` }
      }
      if (page * DETAILS_PAGE >= (Number(textOf(body['TotalCount'])) || 0)) break
    }
  }
  return { is: 'not-known', reply: 'not among the sent ones, which may come late' }
}

const STATES: Readonly<Record<string, string>> = {
  '1': 'waiting for the carrier',
  '2': 'not delivered',
  '3': 'delivered',
}

/**
 * The days to ask for a message that was sent between two moments, newest first, as `yyyyMMdd`. Aliyun does not say
 * in which zone its days are, so those of China and of UTC are asked for, and around midnight both.
 */
function daysToAsk(since: number, now: number): readonly string[] {
  const days = new Set<string>()
  for (const offset of [CHINA_OFFSET_MS, 0])
    for (let at = now + CLOCK_SKEW_MS; at > since - CLOCK_SKEW_MS - DAY; at -= DAY)
      days.add(dayOf(Math.max(at, since - CLOCK_SKEW_MS) + offset))
  return [...days].sort().reverse()
}

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10).replaceAll('-', '')
}

// Delivery reports

/**
 * Reads a delivery report (SmsReport, https://help.aliyun.com/document_detail/101867.html), or one of a message abroad, which looks
 * different. @returns null when it names no message
 */
function readReport(report: JsonObject): CarrierReport | null {
  const abroad = 'MessageId' in report
  const providerId = textOf(report[abroad ? 'MessageId' : 'biz_id'])
  if (providerId === '') return null
  const id = readOurId(textOf(report[abroad ? 'TaskId' : 'out_id']))
  const delivered = abroad ? textOf(report['Status']) === '1' : report['success'] === true
  if (delivered) return { providerId, id, status: 'delivered', errorCode: null }
  const errorCode = reportCodeOf(report[abroad ? 'ErrorCode' : 'err_code'])
  const fault = faultOfReport(codesOfReceipts(errorCode ?? ''))
  // Handed to the phone's carrier, of which nothing was heard: the phone may be off.
  const status = fault.verdict === 'ambiguous' ? 'sent' : 'undelivered'
  return { providerId, id, status, errorCode, fault }
}

// Check

/** Lists one signature, which a key may do that works; a key that may not has proved itself as well. */
async function verifyKey(api: AliyunApi, { secret, apiUrl }: AliyunSettings): Promise<Verification> {
  const result = await api.call('QuerySmsSignList', { PageIndex: '1', PageSize: '1' })
  if (!('value' in result)) return unverified(result, apiUrl, 'ALIYUN_API_URL')
  const code = textOf(result.value.body?.['Code'])
  if (code === 'OK') return { ok: true, detail: 'the key works' }
  // The key was right, and its RAM policy lacks the operation.
  if (code === 'isp.RAM_PERMISSION_DENY' || /^(?:Forbidden|NoPermission)/.test(code))
    return { ok: true, detail: 'the key works, but may not list signatures and templates' }
  return { ok: false, detail: refusalOf(result.value, createRedactor(NO_MESSAGE, [secret])) }
}

/** Asks for the signatures and templates of the account. */
async function listAccount(settings: AliyunSettings) {
  const api = createAliyunApi(settings, 2)
  const signatures = listAll(api, 'QuerySmsSignList', 'SmsSignList', item => ({
    name: textOf(item['SignName']),
    approval: approvalOf(item),
    codesOnly: textOf(item['BusinessType']).includes('验证码'),
  }))
  const templates = listAll(api, 'QuerySmsTemplateList', 'SmsTemplateList', item => ({
    id: textOf(item['TemplateCode']),
    approval: approvalOf(item),
    region:
      textOf(item['TemplateType']) === '6' || textOf(item['OuterTemplateType']) === '3'
        ? ('abroad' as const)
        : ('mainland' as const),
    variables: [...textOf(item['TemplateContent']).matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name),
  }))
  return Promise.all([signatures, templates]).finally(() => api.close())
}

/** Aliyun writes AUDIT_SATE_CANCEL of templates. */
function approvalOf(item: JsonObject): Approval {
  const state = textOf(item['AuditStatus'])
  if (state === 'AUDIT_STATE_PASS') return 'approved'
  if (state === 'AUDIT_STATE_INIT') return 'in-review'
  return state.endsWith('_CANCEL') ? 'cancelled' : 'refused'
}

function listAll<T>(
  api: AliyunApi,
  action: string,
  list: string,
  read: (item: JsonObject) => T,
): Promise<Listed<T>> {
  const pageSize = 50
  return listPages(async page => {
    const result = await api.call(action, { PageIndex: String(page + 1), PageSize: String(pageSize) })
    if (!('value' in result)) return { cannotKnow: outcomeWithoutAnswer(result, 'Aliyun').reply }
    const { status, body } = result.value
    const code = textOf(body?.['Code'])
    if (code !== 'OK') return { cannotKnow: `it answers ${code || `HTTP ${status}`} to ${action}` }
    const last = (page + 1) * pageSize >= Number(textOf(body?.['TotalCount']))
    return { items: objectsOf(body?.[list]).map(read), last }
  })
}

// The module

/** The enterprise's Aliyun account. */
export const aliyun = defineTemplateCarrier({
  name: 'aliyun',
  title: 'Aliyun',
  settings: aliyunSettings,
  limits: LIMITS,
  needed: {
    ALIYUN_ACCESS_KEY_ID: 'SMS by Aliyun need the AccessKey of a RAM user',
    ALIYUN_ACCESS_KEY_SECRET: 'it belongs to ALIYUN_ACCESS_KEY_ID',
  },
  account({ ALIYUN_ACCESS_KEY_ID: keyId, ALIYUN_ACCESS_KEY_SECRET: secret, ...config }) {
    if (keyId === undefined || secret === undefined) return undefined
    return { keyId, secret, apiUrl: config.ALIYUN_API_URL, signName: config.ALIYUN_SMS_SIGN_NAME }
  },
  createProvider: createAliyunProvider,
  // Aliyun only looks whether `code` is a number; the words are those of its examples.
  taken: { code: 0, msg: '接收成功' },
  readReport,
  signature: { setting: 'ALIYUN_SMS_SIGN_NAME', abroad: true },
  lookAt:
    'look at ALIYUN_ACCESS_KEY_ID, ALIYUN_ACCESS_KEY_SECRET and the clock of this machine, and at https://ram.console.aliyun.com',
  listAccount,
})
