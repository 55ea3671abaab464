import type { OutgoingSms } from '../messages/message.ts'
import { checkOk } from '../runtime/check-result.ts'
import { type JsonObject, objectOf } from '../runtime/json-object.ts'
import { settingWithReader, textSetting } from '../settings/setting.ts'
import { readApiUrl } from '../settings/urls.ts'
import {
  createCodeTable,
  faultOfReport,
  type Judgement,
  judgeStatus,
  msUntilChinaMidnight,
  msUntilNextTotal,
  outcomeOfRefusal,
} from './codes.ts'
import { unverified } from './diagnosis.ts'
import { createHttpApi, type HttpLimits, outcomeWithoutAnswer, unreadableAnswer } from './http-client.ts'
import { type JsonAnswer, objectsOf, readJsonAnswer, textOf } from './json-answer.ts'
import type { LookUp, Outcome, Provider, Verification } from './provider.ts'
import { type CarrierReport, readOurId, reportCodeOf } from './receipts.ts'
import { createRedactor, NO_MESSAGE, type Redactor, readWord } from './redact.ts'
import { canonicalPost, hmacSha256, sha256 } from './signing.ts'
import { createSmsProvider } from './sms-provider.ts'
import { findValueFault, type ValueRules } from './sms-templates.ts'
import {
  type Approval,
  defineTemplateCarrier,
  type Listed,
  type ListedTemplate,
  listPages,
  type TemplateCarrierSettings,
} from './template-carrier.ts'
import published from './tencent.codes.json' with { type: 'json' }

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const WEEK = 7 * 24 * HOUR

// Settings

/** Settings of the enterprise's Tencent Cloud account. */
const tencentSettings = {
  TENCENT_SECRET_ID: textSetting({
    minLength: 1,
    meaning: 'Your Tencent Cloud key, of a CAM user that may only send SMS (docs/sms.md).',
    example: 'AKIDexampleexampleexampleexample',
  }),
  TENCENT_SECRET_KEY: textSetting({
    minLength: 1,
    secret: true,
    meaning: 'The secret of TENCENT_SECRET_ID.',
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
const LIMITS: HttpLimits = { connectMs: 5_000, answerMs: 10_000, bodyMs: 5_000 }

export interface TencentSettings extends TemplateCarrierSettings {
  /** The API key. */
  readonly secretId: string
  readonly secretKey: string
  readonly region: string
  /** SdkAppId of the application. */
  readonly appId: string
}

// Request and signature

type TencentApi = ReturnType<typeof createTencentApi>

/**
 * Tencent Cloud's SMS API, version 2021-01-11: one path, the operation in a header, its parameters as JSON.
 * @param connections requests at the same time at most; one connection each.
 */
function createTencentApi(settings: TencentSettings, connections: number) {
  const { apiUrl: baseUrl, region, wall = Date.now } = settings
  const signed = { 'content-type': 'application/json', host: new URL(baseUrl).hostname }
  const api = createHttpApi({ ...settings, baseUrl, connections })

  return {
    /**
     * @param expiresAt the request is not written from this moment on, ms since the epoch.
     * @returns an answer whose body is the content of `Response`.
     */
    call(action: string, params: JsonObject, signal?: AbortSignal, expiresAt?: number) {
      const body = JSON.stringify(params)
      const timestamp = Math.floor(wall() / 1000)
      const headers = {
        'content-type': signed['content-type'],
        'x-tc-action': action,
        'x-tc-version': '2021-01-11',
        'x-tc-region': region,
        'x-tc-timestamp': String(timestamp),
        authorization: signTencentRequest(body, signed, timestamp, settings),
      }
      const read = (answer: Parameters<typeof readJsonAnswer>[0]): JsonAnswer => {
        const whole = readJsonAnswer(answer)
        return { ...whole, body: objectOf(whole.body?.['Response']) }
      }
      return api.request({ method: 'POST', path: '/', headers, body }, read, signal, expiresAt)
    },
    probe: api.probe,
    close: api.close,
  }
}

/**
 * The Authorization header of a POST to `/` without a query, by TC3-HMAC-SHA256
 * (https://cloud.tencent.com/document/api/382/52072).
 *
 * @param body as it is sent.
 * @param headers to sign, in lower case: content-type as it is sent, and host without a port.
 * @param timestamp as in X-TC-Timestamp: seconds since the epoch.
 * @param service that the host belongs to.
 */
export function signTencentRequest(
  body: string,
  headers: Readonly<Record<string, string>>,
  timestamp: number,
  { secretId, secretKey }: Pick<TencentSettings, 'secretId' | 'secretKey'>,
  service = 'sms',
): string {
  const lower = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value.toLowerCase()]),
  )
  const { text, signedHeaders } = canonicalPost('', lower, body)
  const date = new Date(timestamp * 1000).toISOString().slice(0, 10)
  const scope = `${date}/${service}/tc3_request`
  const key = [date, service, 'tc3_request'].reduce<string | Buffer>(hmacSha256, `TC3${secretKey}`)
  const toSign = `TC3-HMAC-SHA256\n${timestamp}\n${scope}\n${sha256(text)}`
  const signature = hmacSha256(key, toSign).toString('hex')
  return `TC3-HMAC-SHA256 Credential=${secretId}/${scope}, SignedHeaders=${signedHeaders}, Signature=${signature}`
}

/**
 * The values that a template accepts (https://cloud.tencent.com/document/product/382/39023). How long a value may be that is no
 * code stands in the console, and differs by account: Tencent refuses a longer one.
 */
const RULES: ValueRules = { longest: 500, code: /^\d{1,6}$/, codeForm: 'at most 6 digits', likeCode: true }

/** The parameters of SendSms that depend on the message. */
interface TencentParcel {
  readonly template: string
  readonly signName: string | undefined
  readonly params: readonly string[]
}

/** Puts a message into its template. @returns why it cannot be, in words that tell nothing of what it says */
function packMessage(
  settings: TencentSettings,
  message: OutgoingSms,
): TencentParcel | { readonly why: string } {
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

/** Sends SMS by the enterprise's approved templates at Tencent Cloud, one recipient a request. */
export function createTencentProvider(settings: TencentSettings): Provider {
  const { clock, concurrency = 200, appId, secretKey } = settings
  const api = createTencentApi(settings, concurrency)
  return createSmsProvider({
    name: 'tencent',
    concurrency,
    clock,
    pack: message => packMessage(settings, message),
    namesOf: ({ template, signName }) => ({ template, sender: signName }),
    /** @see https://cloud.tencent.com/document/api/382/55981 */
    async send(message, { template, signName, params }: TencentParcel, signal) {
      const { id, to, expiresAt } = message
      const request = {
        PhoneNumberSet: [to],
        SmsSdkAppId: appId,
        TemplateId: template,
        SignName: signName,
        TemplateParamSet: params,
        SessionContext: id,
      }
      const result = await api.call('SendSms', request, signal, expiresAt)
      return 'value' in result
        ? judgeAnswer(result.value, to, createRedactor(message, [secretKey, ...params]), clock.now())
        : outcomeWithoutAnswer(result, 'Tencent')
    },
    lookUp: (message, since, signal) => lookUpMessage(api, settings, message, since, signal),
    probe: api.probe,
    verify: () => verifyKey(api, settings),
    close: () => api.close(),
  })
}

// What an answer means

const codesOfSend = createCodeTable(published.send, published.common.codes)
const codesOfReceipts = createCodeTable(
  published.receipt.groups.flatMap(({ codes, ...group }) => codes.map(code => ({ ...group, code }))),
  published.receipt.families,
)
const codes: readonly string[] = published.send.map(({ code }) => code)

/** The judgements on unlisted codes, by the part before the dot; all others are for the operator to mend. */
const FAMILIES: Readonly<Record<string, Judgement>> = {
  LimitExceeded: { verdict: 'limit', scope: 'account' },
  RequestLimitExceeded: { verdict: 'later', scope: 'account' },
  AuthFailure: { verdict: 'ours', scope: 'account' },
  UnauthorizedOperation: { verdict: 'ours', scope: 'account' },
  FailedOperation: { verdict: 'ambiguous', scope: 'message' },
  InternalError: { verdict: 'ambiguous', scope: 'transport' },
}

/**
 * The verdict on a code, of one number or of the whole request. Tencent spells some in several ways, and one of its own
 * examples lacks the last letter.
 */
function judgeCode(code: string): Judgement {
  const cutOff =
    code.includes('.') && codes.find(each => each.startsWith(code) && each.length - code.length <= 2)
  const listed = codesOfSend(code) ?? (cutOff ? codesOfSend(cutOff) : undefined)
  if (listed !== undefined) return listed
  const family = FAMILIES[code.split('.')[0] ?? ''] ?? { verdict: 'ours' }
  return family.verdict === 'limit' && /PhoneNumber|DeliveryFrequency/.test(code)
    ? { verdict: 'limit', scope: 'recipient' }
    : family
}

/** The code and the words of a refusal of the whole request; null: it was processed. */
function errorOf({ body }: JsonAnswer): { readonly code: string; readonly message: string } | null {
  const error = objectOf(body?.['Error'])
  return error === null ? null : { code: textOf(error['Code']), message: textOf(error['Message']) }
}

/**
 * The outcome of an answer to SendSms. It is HTTP 200 whenever it was processed, a wrong signature included.
 *
 * @param to the number, E.164.
 * @param now ms since the epoch.
 */
function judgeAnswer(answer: JsonAnswer, to: string, redactor: Redactor, now: number): Outcome {
  const { status, body } = answer
  // Something in front of the service failed, or answered in its place.
  if (status !== 200) {
    return outcomeOfRefusal(judgeStatus(status), `http-${status}`, `HTTP ${status}`, answer, now)
  }
  const error = errorOf(answer)
  const row = objectsOf(body?.['SendStatusSet']).find(each => each['PhoneNumber'] === to)
  const code = error?.code ?? textOf(row?.['Code'])
  if (code === '') return unreadableAnswer(status)
  const { verdict, scope } = judgeCode(code)
  if (verdict === 'ok')
    return { is: 'sent', reply: 'accepted', providerId: readWord(textOf(row?.['SerialNo'])) }
  const named = redactor.code(code) ?? 'unreadable-code'
  const reply = redactor.reply((error?.message ?? textOf(row?.['Message'])) || named)
  return outcomeOfRefusal({ verdict, scope }, named, reply, answer, now, limited => {
    if (limited !== 'recipient') return msUntilNextTotal(now)
    if (code.includes('Daily')) return msUntilChinaMidnight(now)
    return code.includes('ThirtySecond') ? 30_000 : HOUR
  })
}

/** A refusal of anything but a message, in words; null: it was none. */
function refusalOf(answer: JsonAnswer, redactor: Redactor): string | null {
  const error = errorOf(answer)
  if (error !== null) return redactor.reply(`${error.code}: ${error.message}`)
  return answer.status === 200 && answer.body !== null ? null : `HTTP ${answer.status}`
}

// What became of an ambiguous one

/** Rows of one answer at most, by Tencent's limit. */
const REPORTS_PAGE = 100

/**
 * Asks for the reports on messages to the number, and looks for ours among them. A row is there only once the phone's
 * carrier has reported, so that no row proves nothing. A row is ours when it has our SessionContext; Tencent leaves that
 * empty until its support opens it for the account, and then nothing tells our message from another one to the same
 * number, of another replica for one. Taking such a row for ours would lose a code.
 */
async function lookUpMessage(
  api: TencentApi,
  { appId, secretKey, clock }: TencentSettings,
  message: OutgoingSms,
  since: number,
  signal: AbortSignal,
): Promise<LookUp> {
  const now = clock.now()
  // Whether the span means the time of sending or of the report is not documented, and Tencent's clock and ours may
  // differ, so it is wide. Reports of 7 days are kept.
  const begin = Math.max(since - 5 * MINUTE, now - WEEK + MINUTE)
  const span = { BeginTime: Math.floor(begin / 1000), EndTime: Math.ceil((now + 5 * MINUTE) / 1000) }
  const request = { PhoneNumber: message.to, SmsSdkAppId: appId, Offset: 0, Limit: REPORTS_PAGE, ...span }
  const result = await api.call('PullSmsSendStatusByPhoneNumber', request, signal)
  if (!('value' in result)) return { is: 'unreachable', reply: outcomeWithoutAnswer(result, 'Tencent').reply }
  const refusal = refusalOf(result.value, createRedactor(message, [secretKey]))
  if (refusal !== null) return { is: 'unreachable', reply: refusal }
  const rows = objectsOf(result.value.body?.['PullSmsSendStatusSet'])
  const row = rows.find(each => each['SessionContext'] === message.id)
  if (row !== undefined) {
    const state = row['ReportStatus'] === 'SUCCESS' ? 'delivered' : 'not delivered'
    const providerId = readWord(textOf(row['SerialNo']))
    return { is: 'accepted', reply: `found among the reports, ${state}`, providerId }
  }
  const nameless = rows.some(each => textOf(each['SessionContext']) === '')
  return {
    is: 'not-known',
    reply: nameless
      ? 'the reports name no message: ask Tencent to open SessionContext for the account'
      : 'no report yet, which may come late',
  }
}

// Delivery reports

/**
 * Reads a delivery report (https://cloud.tencent.com/document/product/382/59178). It names our message (`ext`) only when Tencent's
 * support has opened that for the account. `errmsg` is the code, which differs by carrier and is kept as it is.
 * @returns null when it names no message
 */
function readReport(report: JsonObject): CarrierReport | null {
  const providerId = textOf(report['sid'])
  if (providerId === '') return null
  const id = readOurId(textOf(report['ext']))
  if (report['report_status'] === 'SUCCESS') return { providerId, id, status: 'delivered', errorCode: null }
  const errorCode = reportCodeOf(report['errmsg'])
  const fault = faultOfReport(codesOfReceipts(errorCode ?? ''))
  return { providerId, id, status: 'undelivered', errorCode, fault }
}

// Check

/** Lists one signature; a key that may not, as those of individuals, has proved itself as well. */
async function verifyKey(api: TencentApi, { secretKey, apiUrl }: TencentSettings): Promise<Verification> {
  const result = await api.call('DescribeSmsSignList', { International: 0, Limit: 1, Offset: 0 })
  if (!('value' in result)) return unverified(result, apiUrl, 'TENCENT_API_URL')
  const error = errorOf(result.value)
  if (error !== null && /^(?:AuthFailure\.)?UnauthorizedOperation|^FailedOperation/.test(error.code))
    return { ok: true, detail: 'the key works, but may not list signatures and templates' }
  const refusal = refusalOf(result.value, createRedactor(NO_MESSAGE, [secretKey]))
  return refusal === null ? { ok: true, detail: 'the key works' } : { ok: false, detail: refusal }
}

/** Asks for the signatures and templates of the account. */
async function listAccount(settings: TencentSettings) {
  const api = createTencentApi(settings, 2)
  const signatures = listAll(api, 'DescribeSmsSignList', 'DescribeSignListStatusSet', item => ({
    name: textOf(item['SignName']),
    approval: approvalOf(item),
  }))
  const templates = listAll(api, 'DescribeSmsTemplateList', 'DescribeTemplateStatusSet', item => ({
    id: textOf(item['TemplateId']),
    approval: approvalOf(item),
    region: REGIONS[textOf(item['International'])] ?? 'mainland',
    variables: [...textOf(item['TemplateContent']).matchAll(/\{(\d+)\}/g)].map(([, number = '']) => number),
  }))
  return Promise.all([signatures, templates]).finally(() => api.close())
}

const REGIONS: Readonly<Record<string, ListedTemplate['region']>> = {
  '0': 'mainland',
  '1': 'abroad',
  '3': 'both',
}

/** -1 also means that the signature is not filed with the phone networks. */
function approvalOf(item: JsonObject): Approval {
  const states: Readonly<Record<string, Approval>> = {
    '0': 'approved',
    '1': 'in-review',
    '2': 'not-in-force',
  }
  return states[textOf(item['StatusCode'])] ?? 'refused'
}

/** Lists the signatures or templates of the mainland and those for abroad. */
async function listAll<T>(
  api: TencentApi,
  action: string,
  list: string,
  read: (item: JsonObject) => T,
): Promise<Listed<T>> {
  // Half of what Tencent allows: the texts of a hundred templates may be longer than an answer that is read.
  const pageSize = 50
  const listOf = (International: number) =>
    listPages(async page => {
      const result = await api.call(action, { International, Limit: pageSize, Offset: page * pageSize })
      if (!('value' in result)) return { cannotKnow: outcomeWithoutAnswer(result, 'Tencent').reply }
      const { status, body } = result.value
      const error = errorOf(result.value)
      if (error !== null) return { cannotKnow: `it answers ${error.code} to ${action}` }
      if (body === null) return { cannotKnow: `it answers HTTP ${status} to ${action}` }
      const items = objectsOf(body[list]).map(read)
      return { items, last: items.length < pageSize }
    })
  const mainland = await listOf(0)
  if ('cannotKnow' in mainland) return mainland
  const abroad = await listOf(1)
  return 'cannotKnow' in abroad ? abroad : { items: [...mainland.items, ...abroad.items] }
}

/** No operation tells what the operator has set. */
const DAILY_LIMIT = checkOk(
  'tencent limits',
  'cannot know them: unless you raised it, a number gets 2 SMS a day and the same text once in 30 s',
  "raise the frequency limits in Tencent's console, or a third code of one day is refused",
)

// The module

/** The enterprise's Tencent Cloud account. */
export const tencent = defineTemplateCarrier({
  name: 'tencent',
  title: 'Tencent',
  settings: tencentSettings,
  limits: LIMITS,
  needed: {
    TENCENT_SECRET_ID: 'SMS by Tencent need the API key of a CAM user',
    TENCENT_SECRET_KEY: 'it belongs to TENCENT_SECRET_ID',
    TENCENT_SMS_APP_ID: "SMS by Tencent need the application's SdkAppId",
  },
  account({
    TENCENT_SECRET_ID: secretId,
    TENCENT_SECRET_KEY: secretKey,
    TENCENT_SMS_APP_ID: appId,
    TENCENT_SMS_REGION: region,
    ...config
  }) {
    if (secretId === undefined || secretKey === undefined || appId === undefined) return undefined
    const { TENCENT_API_URL: apiUrl, TENCENT_SMS_SIGN_NAME: signName } = config
    return { secretId, secretKey, appId, region, apiUrl, signName }
  },
  createProvider: createTencentProvider,
  taken: { result: 0, errmsg: 'OK' },
  readReport,
  signature: { setting: 'TENCENT_SMS_SIGN_NAME', abroad: false },
  lookAt:
    'look at TENCENT_SECRET_ID, TENCENT_SECRET_KEY and the clock of this machine, and at https://console.cloud.tencent.com/cam',
  listAccount,
  notes: [DAILY_LIMIT],
})
