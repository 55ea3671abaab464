import { say } from '../language/sentence.ts'
import type { OutgoingSms } from '../messages/message.ts'
import { checksOf } from '../runtime/check-result.ts'
import { type JsonObject, objectOf } from '../runtime/json-object.ts'
import { settingWithReader, textSetting } from '../settings/setting.ts'
import { readApiUrl } from '../settings/urls.ts'
import { createCodeTable, faultOfReport, type Judgement, msUntilChinaMidnight } from './codes.ts'
import { type JsonAnswer, objectsOf, textOf } from './json-answer.ts'
import type { LookUp } from './provider.ts'
import { type CarrierReport, readOurId, repliedBy, reportCodeOf, timeInChina } from './receipts.ts'
import { readWord } from './redact.ts'
import { canonicalPost, hmacSha256, sha256 } from './signing.ts'
import {
  type Approval,
  type Ask,
  defineTemplateCarrier,
  type Reading,
  type SentMessage,
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
    meaning: 'Your Tencent Cloud key, of a CAM user that may only send SMS (docs/sms.md).',
    example: 'AKIDexampleexampleexampleexample',
  }),
  TENCENT_SECRET_KEY: textSetting({
    secret: true,
    meaning: 'The secret of TENCENT_SECRET_ID.',
    example: 'the-secret-of-the-tencent-key',
  }),
  TENCENT_SMS_APP_ID: textSetting({
    pattern: /\d{6,20}/u,
    form: 'the SdkAppId, digits only',
    meaning: "The SMS application's SdkAppId.",
    example: '1400006666',
  }),
  TENCENT_SMS_SIGN_NAME: textSetting({
    pattern: /[^【】\s]{2,64}/u,
    form: 'the approved signature without 【】 and blanks',
    meaning: 'Your approved signature for the mainland, unless a template or plugin_id has its own.',
    example: '示例科技',
  }),
  TENCENT_SMS_REGION: textSetting({
    pattern: /[a-z]+-[a-z]+/u,
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

export interface TencentSettings extends TemplateCarrierSettings {
  readonly region: string
  /** SdkAppId of the application. */
  readonly appId: string
}

// Request and signature

const TYPE = 'application/json'

/** A request of Tencent Cloud's SMS API, version 2021-01-11: one path, the operation in a header, its parameters as JSON. */
function signRequest(settings: TencentSettings, action: string, params: JsonObject) {
  const { apiUrl, region, wall = Date.now } = settings
  const body = JSON.stringify(params)
  const timestamp = Math.floor(wall() / 1000)
  const signed = { 'content-type': TYPE, host: new URL(apiUrl).hostname }
  const headers = {
    'content-type': TYPE,
    'x-tc-action': action,
    'x-tc-version': '2021-01-11',
    'x-tc-region': region,
    'x-tc-timestamp': String(timestamp),
    authorization: signTencentRequest(body, signed, timestamp, settings),
  }
  return { method: 'POST', path: '/', headers, body }
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
  { keyId, secret }: { readonly keyId: string; readonly secret: string },
  service = 'sms',
): string {
  const lower = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value.toLowerCase()]),
  )
  const { text, signedHeaders } = canonicalPost('', lower, body)
  const date = new Date(timestamp * 1000).toISOString().slice(0, 10)
  const scope = `${date}/${service}/tc3_request`
  const key = [date, service, 'tc3_request'].reduce<string | Buffer>(hmacSha256, `TC3${secret}`)
  const toSign = `TC3-HMAC-SHA256\n${timestamp}\n${scope}\n${sha256(text)}`
  const signature = hmacSha256(key, toSign).toString('hex')
  return `TC3-HMAC-SHA256 Credential=${keyId}/${scope}, SignedHeaders=${signedHeaders}, Signature=${signature}`
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

/** It is HTTP 200 whenever it was processed, a wrong signature included. */
function readAnswer({ status, body: whole }: JsonAnswer): Reading {
  const body = objectOf(whole?.['Response'])
  if (status !== 200 || body === null) return { code: '', message: '' }
  const error = objectOf(body['Error'])
  return error === null ? { body } : { code: textOf(error['Code']), message: textOf(error['Message']) }
}

/** The window of a number's limit, ms, which its code names. */
function windowOf({ code }: SentMessage, now: number): number {
  if (code.includes('Daily')) return msUntilChinaMidnight(now)
  return code.includes('ThirtySecond') ? 30_000 : HOUR
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
async function lookUp(
  ask: Ask,
  { appId, clock }: TencentSettings,
  message: OutgoingSms,
  since: number,
): Promise<LookUp> {
  const now = clock.now()
  // Whether the span means the time of sending or of the report is not documented, and Tencent's clock and ours may
  // differ, so it is wide. Reports of 7 days are kept.
  const begin = Math.max(since - 5 * MINUTE, now - WEEK + MINUTE)
  const span = { BeginTime: Math.floor(begin / 1000), EndTime: Math.ceil((now + 5 * MINUTE) / 1000) }
  const request = { PhoneNumber: message.to, SmsSdkAppId: appId, Offset: 0, Limit: REPORTS_PAGE, ...span }
  const asked = await ask('PullSmsSendStatusByPhoneNumber', request)
  if ('is' in asked) return asked
  const rows = objectsOf(asked.body['PullSmsSendStatusSet'])
  const row = rows.find(each => each['SessionContext'] === message.id)
  if (row !== undefined) {
    const state = row['ReportStatus'] === 'SUCCESS' ? 'delivered' : 'not delivered'
    const providerId = readWord(textOf(row['SerialNo']))
    return { is: 'accepted', reply: say('found among the reports, {state}', { state }), providerId }
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
  const happenedAt = timeInChina(report['user_receive_time'])
  if (report['report_status'] === 'SUCCESS')
    return { providerId, id, status: 'delivered', errorCode: null, happenedAt }
  const errorCode = reportCodeOf(report['errmsg'])
  const fault = faultOfReport(codesOfReceipts(errorCode ?? ''))
  const reply = repliedBy(report['description'])
  return { providerId, id, status: 'undelivered', errorCode, fault, reply, happenedAt }
}

// Check

/** 0 is the mainland. */
const REGIONS: Readonly<Record<string, 'abroad' | 'both'>> = { '1': 'abroad', '3': 'both' }

/** What is none of these was refused, or the signature is not filed with the phone networks. */
const STATES: Readonly<Record<string, Approval>> = { '0': 'approved', '1': 'in-review', '2': 'not-in-force' }

function reviewOf({ StatusCode, ReviewReply }: JsonObject) {
  return { approval: STATES[textOf(StatusCode)] ?? 'refused', reason: repliedBy(ReviewReply) }
}

function pageOf(International: number) {
  return (page: number, size: number) => ({ International, Limit: size, Offset: page * size })
}

/** No operation tells what the operator has set. */
const DAILY_LIMIT = checksOf('tencent limits').ok(
  'cannot know them: unless you raised it, a number gets 2 SMS a day and the same text once in 30 s',
  "raise the frequency limits in Tencent's console, or a third code of one day is refused",
)

// The module

/** The enterprise's Tencent Cloud account. */
export const { module: tencent, createProvider: createTencentProvider } = defineTemplateCarrier<
  'tencent',
  typeof tencentSettings,
  TencentSettings
>({
  name: 'tencent',
  title: 'Tencent',
  settings: tencentSettings,
  needed: {
    TENCENT_SECRET_ID: 'SMS by Tencent need the API key of a CAM user',
    TENCENT_SECRET_KEY: 'it belongs to TENCENT_SECRET_ID',
    TENCENT_SMS_APP_ID: "SMS by Tencent need the application's SdkAppId",
  },
  urlSetting: 'TENCENT_API_URL',
  // Abroad a signature is another one, and not needed.
  signature: { setting: 'TENCENT_SMS_SIGN_NAME', abroad: false },
  account({ TENCENT_SECRET_ID: keyId, TENCENT_SECRET_KEY: secret, TENCENT_SMS_APP_ID: appId, ...others }) {
    if (keyId === undefined || secret === undefined || appId === undefined) return undefined
    const { TENCENT_API_URL: apiUrl, TENCENT_SMS_SIGN_NAME: signName, TENCENT_SMS_REGION: region } = others
    return { keyId, secret, appId, region, apiUrl, signName }
  },
  signRequest,
  read: readAnswer,
  hasNamedParams: false,
  numberOf: ({ to }) => to,
  /** @see https://cloud.tencent.com/document/api/382/55981 */
  sendParams: ({ appId }, { to, id }, { template, signName, params }) => ({
    PhoneNumberSet: [to],
    SmsSdkAppId: appId,
    TemplateId: template,
    SignName: signName,
    TemplateParamSet: Object.values(params),
    SessionContext: id,
  }),
  readSent(body, number) {
    const row = objectsOf(body['SendStatusSet']).find(each => each['PhoneNumber'] === number)
    return { code: textOf(row?.['Code']), message: textOf(row?.['Message']), id: textOf(row?.['SerialNo']) }
  },
  judgeCode,
  windowOf,
  lookUp,
  taken: { result: 0, errmsg: 'OK' },
  readReport,
  lists: {
    signatures: {
      action: 'DescribeSmsSignList',
      field: 'DescribeSignListStatusSet',
      read: row => ({
        name: textOf(row['SignName']),
        ...reviewOf(row),
      }),
    },
    templates: {
      action: 'DescribeSmsTemplateList',
      field: 'DescribeTemplateStatusSet',
      read: row => ({
        name: textOf(row['TemplateId']),
        ...reviewOf(row),
        template: {
          region: REGIONS[textOf(row['International'])] ?? 'mainland',
          variables: Array.from(
            textOf(row['TemplateContent']).matchAll(/\{(\d+)\}/g),
            ([, number = '']) => number,
          ),
        },
      }),
    },
    // Those of the mainland, and those for abroad.
    pages: [pageOf(0), pageOf(1)],
    mayNotList: /^(?:AuthFailure\.)?UnauthorizedOperation|^FailedOperation/,
  },
  lookAt:
    'look at TENCENT_SECRET_ID, TENCENT_SECRET_KEY and the clock of this machine, and at https://console.cloud.tencent.com/cam',
  notes: [DAILY_LIMIT],
})
