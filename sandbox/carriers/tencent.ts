import { randomInt, randomUUID } from 'node:crypto'
import type http from 'node:http'
import { textOf } from '../../src/providers/json-answer.ts'
import published from '../../src/providers/tencent.codes.json' with { type: 'json' }
import { signTencentRequest } from '../../src/providers/tencent.ts'
import {
  type CarrierAnswer,
  type CarrierFault,
  createCarrierServer,
  type MessageServer,
  type MessageServerOptions,
  pushBounded,
} from './api-server.ts'
import { createSmsInbox, mapCodes, type NamedFaults, randomSecret, type StandInModule } from './stand-in.ts'

/** A message that was accepted. */
export interface TencentMessage {
  readonly serialNo: string
  readonly sessionContext: string
  /** E.164. */
  readonly phoneNumber: string
  readonly signName: string
  readonly templateId: string
  /** The text that the phone shows. */
  readonly body: string
  /** ms since the epoch. */
  readonly at: number
}

/** A request as it came in. */
export interface TencentRequest {
  readonly action: string
  readonly params: Readonly<Record<string, unknown>>
  readonly headers: Readonly<http.IncomingHttpHeaders>
  /** Its fault before anybody looks at the operation, as a code; null: none. */
  readonly refusal: string | null
  /** ms since the epoch. */
  readonly at: number
}

export interface TencentSignature {
  readonly SignId: number
  readonly SignName: string
  /** 0 the mainland, 1 abroad. */
  readonly International: number
  /** 0 usable, 1 in review, 2 approved and not in force, -1 refused or not filed. */
  readonly StatusCode: number
}

export interface TencentTemplate {
  readonly TemplateId: number
  readonly TemplateContent: string
  /** 0 the mainland, 1 abroad, 3 both. */
  readonly International: number
  readonly StatusCode: number
}

export type TencentStandIn = MessageServer<TencentRequest, TencentMessage>

export interface TencentStandInOptions extends MessageServerOptions<TencentRequest, TencentMessage> {
  readonly secretId: string
  readonly secretKey: string
  readonly appId: string
  readonly signatures: readonly TencentSignature[]
  readonly templates: readonly TencentTemplate[]
  /** Messages to one number: the same text in 30 s, all of a day in China; absent: as many as you like. */
  readonly limits?: { readonly sameIn30s: number; readonly day: number }
  /** Whether reports name our id, which the vendor's support must open for an account. */
  readonly namesContext?: boolean
  /** How long after it was accepted a message is reported on, ms. */
  readonly reportsAfterMs?: number
  /** The account is an individual's, which may list nothing. */
  readonly individual?: boolean
}

/**
 * Tencent Cloud's SMS API (2021-01-11) as far as this service uses it, made from its published description: SendSms,
 * PullSmsSendStatusByPhoneNumber, DescribeSmsSignList and DescribeSmsTemplateList. It checks signatures as the real one
 * does, over the bytes of the body, with the host without its port, and a time within 5 minutes.
 */
export function createTencentStandIn(options: TencentStandInOptions): TencentStandIn {
  const { signatures, templates, individual = false, keep = 10_000, now = Date.now } = options
  const messages: TencentMessage[] = []

  function route({ action, params, refusal, at }: TencentRequest): CarrierAnswer {
    if (refusal !== null) return refusalOf(refusal)
    switch (action) {
      case 'SendSms':
        return send(params, at)
      case 'PullSmsSendStatusByPhoneNumber':
        return answerOf({ PullSmsSendStatusSet: findReports(options, messages, params, at) })
      case 'DescribeSmsSignList':
      case 'DescribeSmsTemplateList': {
        if (individual) return refusalOf('UnauthorizedOperation.RequestPermissionDeny')
        return action === 'DescribeSmsSignList'
          ? answerOf({ DescribeSignListStatusSet: pageOf(signatures, params) })
          : answerOf({ DescribeTemplateStatusSet: pageOf(templates, params) })
      }
      default:
        return refusalOf('InvalidAction')
    }
  }

  function send(params: Readonly<Record<string, unknown>>, at: number): CarrierAnswer {
    const template = templates.find(each => String(each.TemplateId) === params['TemplateId'])
    const refusal = refusalToSend(options, params, template)
    if (refusal !== null) return refusalOf(refusal)
    const message = messageOf(params, template?.TemplateContent ?? '', at)
    const { serialNo, phoneNumber, sessionContext } = message
    const ofNumber = /^\+[1-9]\d{6,14}$/.test(phoneNumber)
      ? limitOf(options, messages, message)
      : 'InvalidParameterValue.IncorrectPhoneNumber'
    if (ofNumber !== null) return numberRefusalOf(phoneNumber, ofNumber)
    pushBounded(messages, message, keep)
    options.onMessage?.(message)
    const row = { SerialNo: serialNo, PhoneNumber: phoneNumber, Fee: 1, SessionContext: sessionContext }
    const IsoCode = phoneNumber.startsWith('+86') ? 'CN' : 'DEF'
    return answerOf({ SendStatusSet: [{ ...row, Code: 'Ok', Message: 'send success', IsoCode }] })
  }

  const server = createCarrierServer({
    read: (incoming, body) => readRequest(incoming, body, options, now()),
    route,
    fault: options.fault,
    keep,
  })
  return { ...server, messages }
}

/** @param content of its template, approved and with as many variables as there are values. */
function messageOf(params: Readonly<Record<string, unknown>>, content: string, at: number): TencentMessage {
  const { PhoneNumberSet: numbers, TemplateParamSet: values = [] } = params
  const signName = textOf(params['SignName'])
  const text = content.replace(
    /\{(\d+)\}/g,
    (_, number: string) => (values as readonly string[])[Number(number) - 1] ?? '',
  )
  return {
    serialNo: `5000:${randomInt(1e12, 1e13)}`,
    sessionContext: textOf(params['SessionContext']),
    phoneNumber: (numbers as readonly string[])[0] ?? '',
    signName,
    templateId: textOf(params['TemplateId']),
    body: signName === '' ? text : `【${signName}】${text}`,
    at,
  }
}

function readRequest(
  { method, url, headers }: http.IncomingMessage,
  body: string,
  login: Pick<TencentStandInOptions, 'secretId' | 'secretKey'>,
  at: number,
): TencentRequest {
  const { authorization = '', ...rest } = headers
  let params: Readonly<Record<string, unknown>> = {}
  let refusal = method === 'POST' && url === '/' ? null : 'UnsupportedProtocol'
  try {
    params = JSON.parse(body) as Readonly<Record<string, unknown>>
  } catch {
    refusal ??= 'InvalidParameter'
  }
  refusal = signatureFault(body, rest, authorization, login, at) ?? refusal
  return { action: String(headers['x-tc-action'] ?? ''), params, headers: rest, refusal, at }
}

function signatureFault(
  body: string,
  headers: http.IncomingHttpHeaders,
  authorization: string,
  login: Pick<TencentStandInOptions, 'secretId' | 'secretKey'>,
  at: number,
): string | null {
  const [, secretId, names = ''] =
    /^TC3-HMAC-SHA256 Credential=([^/]+)\/[\d-]{10}\/sms\/tc3_request, SignedHeaders=([a-z;-]+), Signature=[0-9a-f]{64}$/.exec(
      authorization,
    ) ?? []
  if (secretId === undefined) return 'AuthFailure.InvalidAuthorization'
  if (secretId !== login.secretId) return 'AuthFailure.SecretIdNotFound'
  const signed = Object.fromEntries(
    names.split(';').map(name => [name, String(headers[name] ?? '').replace(/^([^:]+):\d+$/, '$1')]),
  )
  if (!('host' in signed) || !('content-type' in signed)) return 'AuthFailure.InvalidAuthorization'
  const timestamp = Number(headers['x-tc-timestamp'])
  const key = { keyId: login.secretId, secret: login.secretKey }
  if (signTencentRequest(body, signed, timestamp, key) !== authorization)
    return 'AuthFailure.SignatureFailure'
  if (Math.abs(at / 1000 - timestamp) > 300) return 'AuthFailure.SignatureExpire'
  if (headers['x-tc-version'] !== '2021-01-11') return 'NoSuchVersion'
  return headers['x-tc-region'] === undefined ? 'MissingParameter' : null
}

/** Why the whole request would be refused, as a code; null: it would not. */
function refusalToSend(
  { appId, signatures }: TencentStandInOptions,
  params: Readonly<Record<string, unknown>>,
  template: TencentTemplate | undefined,
): string | null {
  const { PhoneNumberSet: numbers, SmsSdkAppId, SignName: signName, TemplateParamSet: values = [] } = params
  if (SmsSdkAppId !== appId) return 'UnauthorizedOperation.SmsSdkAppIdVerifyFail'
  if (!Array.isArray(numbers) || numbers.length === 0) return 'MissingParameter.EmptyPhoneNumberSet'
  const mainland = String(numbers[0]).startsWith('+86')
  const signature = signatures.find(
    each => each.SignName === signName && each.International === (mainland ? 0 : 1),
  )
  const unsigned = mainland || signName !== undefined
  if (unsigned && signature?.StatusCode !== 0) return 'FailedOperation.SignatureIncorrectOrUnapproved'
  if (template?.StatusCode !== 0) return 'FailedOperation.TemplateUnapprovedOrNotExist'
  if (mainland && template.International === 1)
    return 'UnsupportedOperation.GlobalTemplateToChineseMainlandPhone'
  if (!mainland && template.International === 0)
    return 'UnsupportedOperation.ChineseMainlandTemplateToGlobalPhone'
  const list = Array.isArray(values) ? (values as readonly unknown[]) : []
  const wanted = new Set(template.TemplateContent.match(/\{\d+\}/g)).size
  if (list.length !== wanted) return 'FailedOperation.TemplateParamSetNotMatchApprovedTemplate'
  const isCode = /验证码|code/i.test(template.TemplateContent)
  if (list.some(value => typeof value !== 'string')) return 'InvalidParameter'
  return isCode && list.some(value => !/^\d{0,6}$/.test(String(value)))
    ? 'InvalidParameterValue.TemplateParameterFormatError'
    : null
}

/** The limits of one number, as a code; null: it may have the message. */
function limitOf(
  { limits }: TencentStandInOptions,
  messages: readonly TencentMessage[],
  { phoneNumber, body, at }: TencentMessage,
): string | null {
  if (limits === undefined) return null
  const before = messages.filter(each => each.phoneNumber === phoneNumber)
  const same = before.filter(each => each.body === body && each.at > at - 30_000)
  if (same.length >= limits.sameIn30s) return 'LimitExceeded.PhoneNumberThirtySecondLimit'
  const today = before.filter(each => dayInChina(each.at) === dayInChina(at))
  return today.length >= limits.day ? 'LimitExceeded.PhoneNumberDailyLimit' : null
}

function dayInChina(at: number): number {
  return Math.floor((at / 3_600_000 + 8) / 24)
}

/** Reports on one number, newest first. */
function findReports(
  { namesContext = false, reportsAfterMs = 0 }: TencentStandInOptions,
  messages: readonly TencentMessage[],
  { PhoneNumber: number, BeginTime: begin, EndTime: end }: Readonly<Record<string, unknown>>,
  at: number,
): readonly Readonly<Record<string, unknown>>[] {
  return messages
    .filter(each => each.phoneNumber === number && each.at + reportsAfterMs <= at)
    .filter(each => each.at / 1000 >= Number(begin) && each.at / 1000 <= Number(end ?? at / 1000))
    .toReversed()
    .map(each => ({
      UserReceiveTime: Math.floor((each.at + reportsAfterMs) / 1000),
      CountryCode: '86',
      SubscriberNumber: each.phoneNumber.replace(/^\+86/, ''),
      PhoneNumber: each.phoneNumber,
      SerialNo: each.serialNo,
      ReportStatus: 'SUCCESS',
      Description: 'DELIVRD',
      SessionContext: namesContext ? each.sessionContext : '',
    }))
}

function pageOf<T extends { readonly International: number }>(
  items: readonly T[],
  { International, Limit = 10, Offset = 0 }: Readonly<Record<string, unknown>>,
): readonly T[] {
  const of = items.filter(each => each.International === International || each.International === 3)
  return of.slice(Number(Offset), Number(Offset) + Number(Limit))
}

/** The delivery report of a message as Tencent pushes it, in an array. */
export function reportOf(
  message: TencentMessage,
  code = 'DELIVRD',
  namesContext = false,
): Readonly<Record<string, unknown>> {
  const received = new Date(message.at + 8 * 3_600_000 + 3000).toISOString()
  return {
    user_receive_time: received.slice(0, 19).replace('T', ' '),
    nationcode: '86',
    mobile: message.phoneNumber.replace(/^\+86/, ''),
    report_status: code === 'DELIVRD' ? 'SUCCESS' : 'FAIL',
    errmsg: code,
    description: code === 'DELIVRD' ? '用户短信送达成功' : code,
    sid: message.serialNo,
    ...(namesContext && { ext: message.sessionContext }),
  }
}

/** An answer of the service: HTTP 200 whenever it processed the request, refusals included. */
export function answerOf(fields: Readonly<Record<string, unknown>>): CarrierAnswer {
  return { status: 200, body: JSON.stringify({ Response: { ...fields, RequestId: randomUUID() } }) }
}

/** A refusal of the whole request by a published code. */
export function refusalOf(code: string, message?: string): CarrierAnswer {
  return answerOf({ Error: { Code: code, Message: message ?? wordsOf(code) } })
}

/** A refusal of one number by a published code, in an answer that took the request. */
export function numberRefusalOf(phoneNumber: string, code: string, message?: string): CarrierAnswer {
  const empty = { SerialNo: '', Fee: 0, SessionContext: '', IsoCode: '' }
  const row = { ...empty, PhoneNumber: phoneNumber, Code: code, Message: message ?? wordsOf(code) }
  return answerOf({ SendStatusSet: [row] })
}

/** Every published code of SendSms and of the API, but for the one that accepts. */
export const REFUSALS: readonly { readonly code: string; readonly en: string }[] = [
  ...published.send.filter(({ code }) => code !== 'Ok'),
  ...published.common.codes,
]

function wordsOf(code: string): string {
  return REFUSALS.find(each => each.code === code)?.en ?? code
}

function refuse(code: string): CarrierFault {
  return { is: 'answer', ...refusalOf(code) }
}

/** How Tencent can be made to behave. */
export const TENCENT_FAULTS: NamedFaults<CarrierFault> = {
  none: { title: 'takes every SMS', fault: null },
  recipient: {
    title: 'finds the number invalid',
    fault: refuse('InvalidParameterValue.IncorrectPhoneNumber'),
  },
  country: {
    title: 'may not send to the country',
    fault: refuse('LimitExceeded.AppCountryOrRegionInBlacklist'),
  },
  content: { title: 'refuses the content', fault: refuse('FailedOperation.ContainSensitiveWord') },
  later: { title: 'is asked too often', fault: refuse('RequestLimitExceeded') },
  limit: { title: 'allows the number no more', fault: refuse('LimitExceeded.PhoneNumberDailyLimit') },
  down: { title: 'fails (HTTP 503)', fault: { is: 'answer', status: 503, body: '' } },
  silent: { title: 'takes it and never answers', fault: { is: 'stall', accept: true } },
  slow: { title: 'answers after 4 seconds', fault: { is: 'delay', ms: 4000 } },
  ...Object.fromEntries(
    REFUSALS.map(({ code, en }) => [
      `tencent ${code}`,
      { title: `Tencent: ${code}, ${en}`, fault: refuse(code) },
    ]),
  ),
}

const SIGN_NAME = '示例科技'

/** Tencent's SMS API with an account whose signature and templates are approved, but for one of each. */
export const standIn: StandInModule = {
  title: 'Tencent',
  faults: TENCENT_FAULTS,
  async start({ clock, changed }) {
    const inbox = createSmsInbox(TENCENT_FAULTS, changed)
    const login = { secretId: 'AKIDsandbox', secretKey: randomSecret() }
    const appId = '1400006666'
    const server = createTencentStandIn({
      ...login,
      appId,
      signatures: [
        { SignId: 1, SignName: SIGN_NAME, International: 0, StatusCode: 0 },
        { SignId: 2, SignName: '待审科技', International: 0, StatusCode: 1 },
      ],
      templates: [
        template(1110, '您的验证码为{1}，请于{2}分钟内填写，请勿告诉他人。', 0),
        template(1111, 'Your verification code is {1}. It is valid for {2} minutes.', 1),
        { ...template(1112, '您的验证码为{1}。', 0), StatusCode: 1 },
      ],
      now: () => clock.now(),
      fault: ({ action }) => (action === 'SendSms' ? inbox.fault() : undefined),
      onMessage({ serialNo: id, at, signName, phoneNumber: to, body }) {
        inbox.add({ id, at, from: signName || 'SMS', to, body })
      },
    })
    return inbox.serve(server, url => ({
      settings: {
        TENCENT_SECRET_ID: login.secretId,
        TENCENT_SECRET_KEY: login.secretKey,
        TENCENT_SMS_APP_ID: appId,
        TENCENT_SMS_SIGN_NAME: SIGN_NAME,
        TENCENT_API_URL: url,
      },
      route: {
        country: 'HK',
        number: '+85251234500',
        templates: mapCodes({
          mainland: { template: '1110', params: ['code', 'minute'] },
          abroad: { template: '1111', params: ['code', 'minute'] },
        }),
      },
    }))
  },
}

function template(TemplateId: number, TemplateContent: string, International: number) {
  return { TemplateId, TemplateContent, International, StatusCode: 0 }
}
