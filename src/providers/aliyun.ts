import { randomBytes } from 'node:crypto'
import { say } from '../language/sentence.ts'
import type { OutgoingSms } from '../messages/message.ts'
import { type JsonObject, objectOf } from '../runtime/json-object.ts'
import { isRouted } from '../settings/senders.ts'
import { settingWithReader, textSetting } from '../settings/setting.ts'
import { readApiUrl } from '../settings/urls.ts'
import published from './aliyun.codes.json' with { type: 'json' }
import { CHINA_OFFSET_MS, createCodeTable, faultOfReport, type Judgement, judgeStatus } from './codes.ts'
import { type JsonAnswer, objectsOf, textOf } from './json-answer.ts'
import type { LookUp } from './provider.ts'
import { type CarrierReport, readOurId, repliedBy, reportCodeOf, timeInChina } from './receipts.ts'
import { canonicalPost, encodeQuery, hmacSha256, sha256 } from './signing.ts'
import {
  type Approval,
  type Ask,
  defineTemplateCarrier,
  type Reading,
  type SentMessage,
  type TemplateCarrierSettings,
  type TemplateParcel,
} from './template-carrier.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

// Settings

/** The key of the enterprise's Aliyun (Alibaba Cloud) account. */
export const aliyunKeySettings = {
  ALIYUN_ACCESS_KEY_ID: textSetting({
    meaning: 'Your Aliyun key, of a RAM user that may only send SMS (docs/sms.md).',
    example: 'LTAI5tExampleExampleExam',
  }),
  ALIYUN_ACCESS_KEY_SECRET: textSetting({
    secret: true,
    meaning: 'The secret of ALIYUN_ACCESS_KEY_ID.',
    example: 'the-secret-of-the-access-key',
  }),
} as const

const aliyunSettings = {
  ...aliyunKeySettings,
  ALIYUN_SMS_SIGN_NAME: textSetting({
    pattern: /[^【】\s]{2,64}/u,
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

// Request and signature

type Query = Readonly<Record<string, string>>
/** A request of an API of Aliyun's, version 2017-05-25: one path, the operation in a header, its parameters in the query. */
function signRequest(settings: TemplateCarrierSettings, action: string, query: Query) {
  const { apiUrl, wall = Date.now } = settings
  const signed = {
    host: new URL(apiUrl).host,
    'x-acs-action': action,
    'x-acs-content-sha256': EMPTY_BODY_HASH,
    'x-acs-date': new Date(wall()).toISOString().replace(/\.\d+Z$/, 'Z'),
    'x-acs-signature-nonce': randomBytes(16).toString('hex'),
    'x-acs-version': '2017-05-25',
  }
  const authorization = signAliyunRequest(query, signed, settings)
  const headers = { ...signed, accept: 'application/json', authorization }
  // The query holds number and code: nothing may log the path.
  return { method: 'POST', path: `/?${encodeQuery(query)}`, headers, body: null }
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
  { keyId, secret }: { readonly keyId: string; readonly secret: string },
): string {
  const { text, signedHeaders } = canonicalPost(encodeQuery(query), headers, '')
  const signature = hmacSha256(secret, `ACS3-HMAC-SHA256\n${sha256(text)}`).toString('hex')
  return `ACS3-HMAC-SHA256 Credential=${keyId},SignedHeaders=${signedHeaders},Signature=${signature}`
}

/** A number as Aliyun writes it: 11 digits on the mainland, else country code and number without +. */
function vendorNumber({ to, country }: OutgoingSms): string {
  return country === 'CN' ? to.replace(/^\+86/, '') : to.replace(/^\+/, '')
}

// What an answer means

const codesOfSend = createCodeTable(published.send, published.gateway.codes, published.pnvs.codes)
const codesOfReceipts = createCodeTable(published.receipt, published.send)

/**
 * The verdict on a code: that of its entry for a listed one; of others, `isp.` is a fault on Aliyun's side, and nobody
 * knows how far the message got.
 *
 * @param status HTTP status: the service itself refuses with 200, the gateway before it with 4xx.
 */
function judgeCode(code: string, status: number): Judgement {
  if (code === 'OK') return { verdict: status === 200 ? 'ok' : 'ambiguous' }
  const known = codesOfSend(code)
  if (known !== undefined) return known
  if (status === 429 || (status !== 200 && !code.startsWith('isp.'))) return judgeStatus(status)
  return { verdict: code.startsWith('isp.') ? 'ambiguous' : 'ours' }
}

/** Cuts the request off the refusal of a signature, which ends with the request as Aliyun understood it, number and code included. */
function withoutRequest(message: string): string {
  return message.replace(/\b(?:server )?(?:string to sign|canonical ?request)\b.*$/is, '').trim()
}

/** The window of a number's limit, ms, which stands in the message alone: 分钟级 a minute, 小时级 an hour, 天级 24 hours. */
function windowOf({ message }: SentMessage): number {
  if (/天级|\bday|\bdaily/i.test(message)) return DAY
  // Of unknown words the shortest: another refusal costs no more than a request.
  return /小时|\bhour/i.test(message) ? HOUR : MINUTE
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
async function lookUp(
  ask: Ask,
  { clock }: TemplateCarrierSettings,
  message: OutgoingSms,
  since: number,
): Promise<LookUp> {
  const PhoneNumber = vendorNumber(message)
  for (const SendDate of daysToAsk(since, clock.now())) {
    for (let page = 1; page <= MOST_DETAILS; page += 1) {
      const query = { PhoneNumber, SendDate, PageSize: String(DETAILS_PAGE), CurrentPage: String(page) }
      const asked = await ask('QuerySendDetails', query)
      if ('is' in asked) return asked
      const { body } = asked
      const rows = objectsOf(objectOf(body['SmsSendDetailDTOs'])?.['SmsSendDetailDTO'])
      const row = rows.find(each => each['OutId'] === message.id)
      if (row !== undefined) {
        const state = STATES[textOf(row['SendStatus'])] ?? 'its state is not known'
        return { is: 'accepted', reply: say('found among the sent ones, {state}', { state }) }
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
  const happenedAt = abroad
    ? Date.parse(textOf(report['ReceiveDate'])) || undefined
    : timeInChina(report['report_time'])
  const delivered = abroad ? textOf(report['Status']) === '1' : report['success'] === true
  if (delivered) return { providerId, id, status: 'delivered', errorCode: null, happenedAt }
  const errorCode = reportCodeOf(report[abroad ? 'ErrorCode' : 'err_code'])
  const fault = faultOfReport(codesOfReceipts(errorCode ?? ''))
  // Handed to the phone's carrier, of which nothing was heard: the phone may be off.
  const status = fault.verdict === 'ambiguous' ? 'sent' : 'undelivered'
  const reply = repliedBy(report[abroad ? 'ErrorDescription' : 'err_msg'])
  return { providerId, id, status, errorCode, fault, reply, happenedAt }
}

// Check

/** Aliyun writes AUDIT_SATE_CANCEL of templates. */
function reviewOf({ AuditStatus, Reason }: JsonObject): { approval: Approval; reason?: string | undefined } {
  const state = textOf(AuditStatus)
  if (state === 'AUDIT_STATE_PASS') return { approval: 'approved' }
  if (state === 'AUDIT_STATE_INIT') return { approval: 'in-review' }
  if (state.endsWith('_CANCEL')) return { approval: 'cancelled' }
  const { RejectInfo, RejectSubInfo } = (Reason ?? {}) as JsonObject
  return {
    approval: 'refused',
    reason: repliedBy([RejectInfo, RejectSubInfo].map(textOf).filter(Boolean).join(', ')),
  }
}

// The module

/** What all of Aliyun's APIs that send SMS have in common. */
export const aliyunApi = {
  signRequest,
  read({ body }: JsonAnswer): Reading {
    const code = textOf(body?.['Code'])
    return body !== null && code === 'OK'
      ? { body }
      : { code, message: withoutRequest(textOf(body?.['Message'])) }
  },
  hasNamedParams: true,
  numberOf: vendorNumber,
  judgeCode,
  windowOf,
  // Aliyun only looks whether `code` is a number; the words are those of its examples.
  taken: { code: 0, msg: '接收成功' },
  readReport,
  lookAt:
    'look at ALIYUN_ACCESS_KEY_ID, ALIYUN_ACCESS_KEY_SECRET and the clock of this machine, and at https://ram.console.aliyun.com',
} as const

/** What both operations that send are told beside the number. */
export function parcelParams(
  { id }: OutgoingSms,
  { signName, template, params }: TemplateParcel,
): JsonObject {
  // Without values they are an empty object, too.
  const TemplateParam = JSON.stringify(Object.fromEntries(Object.entries(params)))
  return { SignName: signName, TemplateCode: template, TemplateParam, OutId: id }
}

/** The enterprise's Aliyun account. */
export const { module: aliyun, createProvider: createAliyunProvider } = defineTemplateCarrier<
  'aliyun',
  typeof aliyunSettings,
  TemplateCarrierSettings
>({
  ...aliyunApi,
  name: 'aliyun',
  title: 'Aliyun',
  settings: aliyunSettings,
  needed: {
    ALIYUN_ACCESS_KEY_ID: 'SMS by Aliyun need the AccessKey of a RAM user',
    ALIYUN_ACCESS_KEY_SECRET: 'it belongs to ALIYUN_ACCESS_KEY_ID',
  },
  urlSetting: 'ALIYUN_API_URL',
  signature: { setting: 'ALIYUN_SMS_SIGN_NAME', abroad: true },
  account({ ALIYUN_ACCESS_KEY_ID: keyId, ALIYUN_ACCESS_KEY_SECRET: secret, ...others }) {
    if (keyId === undefined || secret === undefined) return undefined
    // The key may be there for aliyun-pnvs alone.
    const { SMS_ROUTES: routes } = others
    if (isRouted(routes, 'aliyun-pnvs') && !isRouted(routes, 'aliyun')) return undefined
    return { keyId, secret, apiUrl: others.ALIYUN_API_URL, signName: others.ALIYUN_SMS_SIGN_NAME }
  },
  /** @see https://help.aliyun.com/zh/sms/developer-reference/api-dysmsapi-2017-05-25-sendsms */
  sendParams: (_settings, message, parcel) => ({
    PhoneNumbers: vendorNumber(message),
    ...parcelParams(message, parcel),
  }),
  readSent: body => ({ code: 'OK', message: '', id: textOf(body['BizId']) }),
  lookUp,
  lists: {
    signatures: {
      action: 'QuerySmsSignList',
      field: 'SmsSignList',
      read: row => ({
        name: textOf(row['SignName']),
        ...reviewOf(row),
        codesOnly: textOf(row['BusinessType']).includes('验证码'),
      }),
    },
    templates: {
      action: 'QuerySmsTemplateList',
      field: 'SmsTemplateList',
      read: row => ({
        name: textOf(row['TemplateCode']),
        ...reviewOf(row),
        template: {
          region:
            textOf(row['TemplateType']) === '6' || textOf(row['OuterTemplateType']) === '3'
              ? 'abroad'
              : 'mainland',
          variables: Array.from(
            textOf(row['TemplateContent']).matchAll(/\$\{(\w+)\}/g),
            ([, name = '']) => name,
          ),
        },
      }),
    },
    pages: [(page, size) => ({ PageIndex: String(page + 1), PageSize: String(size) })],
    mayNotList: /^(?:isp\.RAM_PERMISSION_DENY$|Forbidden|NoPermission)/,
  },
})
