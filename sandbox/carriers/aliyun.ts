import { randomInt, randomUUID } from 'node:crypto'
import type http from 'node:http'
import published from '../../src/providers/aliyun.codes.json' with { type: 'json' }
import { signAliyunRequest } from '../../src/providers/aliyun.ts'
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
export interface AliyunMessage {
  readonly bizId: string
  readonly outId: string
  /** The number as the request has it: 11 digits on the mainland, else country code and number. */
  readonly phoneNumber: string
  readonly signName: string
  readonly templateCode: string
  /** The text that the phone shows. */
  readonly body: string
  /** ms since the epoch. */
  readonly at: number
}

/** A request as it came in. */
export interface AliyunRequest {
  readonly action: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<http.IncomingHttpHeaders>
  /** The fault of its signature, as a code; null: none. */
  readonly refusal: string | null
  /** ms since the epoch. */
  readonly at: number
}

export interface AliyunSignature {
  readonly SignName: string
  readonly AuditStatus: string
  readonly BusinessType: string
}

export interface AliyunTemplate {
  readonly TemplateCode: string
  readonly TemplateContent: string
  readonly AuditStatus: string
  /** 0 notification, 1 promotion, 2 verification code, 6 international. */
  readonly TemplateType: number
}

export type AliyunStandIn = MessageServer<AliyunRequest, AliyunMessage>

export interface AliyunStandInOptions extends MessageServerOptions<AliyunRequest, AliyunMessage> {
  readonly keyId: string
  readonly secret: string
  readonly signatures: readonly AliyunSignature[]
  readonly templates: readonly AliyunTemplate[]
  /** Codes to one number by one signature: a minute, an hour, 24 hours; absent: as many as you like. */
  readonly limits?: { readonly minute: number; readonly hour: number; readonly day: number }
  /** Operations that the key lacks the permission for. */
  readonly forbidden?: readonly string[]
}

const MINUTE = 60_000

/**
 * Aliyun's SMS API (2017-05-25) as far as this service uses it, made from its published description: SendSms,
 * QuerySendDetails, QuerySmsSignList and QuerySmsTemplateList. It checks signatures as the real one does: the query is
 * decoded and encoded again, each nonce counts once, and a date within 15 minutes.
 */
export function createAliyunStandIn(options: AliyunStandInOptions): AliyunStandIn {
  const { signatures, templates, forbidden = [], keep = 10_000, now = Date.now } = options
  const messages: AliyunMessage[] = []
  const nonces = new Set<string>()

  function route({ action, query, refusal, at }: AliyunRequest): CarrierAnswer {
    if (refusal !== null) return refusalOf(refusal)
    if (forbidden.includes(action)) return refusalOf('NoPermission')
    switch (action) {
      case 'SendSms':
        return send(query, at)
      case 'QuerySendDetails':
        return answerOf(findDetails(messages, query, at))
      case 'QuerySmsSignList':
        return answerOf(pageOf('SmsSignList', signatures, query))
      case 'QuerySmsTemplateList':
        return answerOf(pageOf('SmsTemplateList', templates, query))
      default:
        return refusalOf('InvalidAction.NotFound')
    }
  }

  function send(query: Readonly<Record<string, string>>, at: number): CarrierAnswer {
    const refusal = refusalToSend(options, query) ?? limitOf(options, messages, query, at)
    if (refusal !== null) return typeof refusal === 'string' ? refusalOf(refusal) : refusal
    const { PhoneNumbers: phoneNumber = '', SignName: signName = '', TemplateCode: templateCode = '' } = query
    const content = templates.find(template => template.TemplateCode === templateCode)?.TemplateContent ?? ''
    const params = JSON.parse(query['TemplateParam'] ?? '{}') as Readonly<Record<string, string>>
    const message: AliyunMessage = {
      bizId: `${randomInt(1e12, 1e13)}^0`,
      outId: query['OutId'] ?? '',
      phoneNumber,
      signName,
      templateCode,
      body: `【${signName}】${content.replace(/\$\{(\w+)\}/g, (_, name: string) => params[name] ?? '')}`,
      at,
    }
    pushBounded(messages, message, keep)
    options.onMessage?.(message)
    return answerOf({ Message: 'OK', BizId: message.bizId, Code: 'OK' })
  }

  const server = createCarrierServer({
    read: incoming => readRequest(incoming, options, nonces, now()),
    route,
    fault: options.fault,
    keep,
  })
  return { ...server, messages }
}

/** @param nonces of the requests so far; gets that of this one. */
export function readRequest(
  { url = '', headers }: http.IncomingMessage,
  login: Pick<AliyunStandInOptions, 'keyId' | 'secret'>,
  nonces: Set<string>,
  at: number,
): AliyunRequest {
  const query = Object.fromEntries(new URLSearchParams(url.replace(/^[^?]*\??/, '')))
  const { authorization = '', ...rest } = headers
  const refusal = signatureFault(query, rest, authorization, login, nonces, at)
  return { action: String(headers['x-acs-action'] ?? ''), query, headers: rest, refusal, at }
}

function signatureFault(
  query: Readonly<Record<string, string>>,
  headers: http.IncomingHttpHeaders,
  authorization: string,
  login: Pick<AliyunStandInOptions, 'keyId' | 'secret'>,
  nonces: Set<string>,
  at: number,
): string | null {
  const [, keyId, names = ''] =
    /^ACS3-HMAC-SHA256 Credential=([^,]+),SignedHeaders=([a-z0-9;-]+),Signature=[0-9a-f]{64}$/.exec(
      authorization,
    ) ?? []
  if (keyId === undefined) return 'IncompleteSignature'
  if (keyId !== login.keyId) return 'InvalidAccessKeyId.NotFound'
  const needed = Object.keys(headers).filter(name => name === 'host' || name.startsWith('x-acs-'))
  const signed = Object.fromEntries(names.split(';').map(name => [name, String(headers[name] ?? '')]))
  if (!needed.every(name => name in signed)) return 'IncompleteSignature'
  if (signAliyunRequest(query, signed, login) !== authorization) return 'SignatureDoesNotMatch'
  const date = Date.parse(signed['x-acs-date'] ?? '')
  if (Number.isNaN(date)) return 'InvalidTimeStamp.Format'
  if (Math.abs(at - date) > 15 * MINUTE) return 'InvalidTimeStamp.Expired'
  const nonce = signed['x-acs-signature-nonce'] ?? ''
  if (nonces.has(nonce)) return 'SignatureNonceUsed'
  nonces.add(nonce)
  return null
}

/** Why a message would be refused, as a code; null: it would not. */
function refusalToSend(
  { signatures, templates }: AliyunStandInOptions,
  query: Readonly<Record<string, string>>,
): string | null {
  const { PhoneNumbers: number = '', SignName: signName = '', TemplateCode: templateCode = '' } = query
  const signature = signatures.find(each => each.SignName === signName)
  const template = templates.find(each => each.TemplateCode === templateCode)
  const mainland = /^1\d{10}$/.test(number)
  if (!mainland && !/^(?!86)[1-9]\d{6,14}$/.test(number)) return 'isv.MOBILE_NUMBER_ILLEGAL'
  if (signature === undefined) return 'isv.SMS_SIGNATURE_ILLEGAL'
  if (signature.AuditStatus !== 'AUDIT_STATE_PASS') return 'isv.SMS_SIGN_NAME_ILLEGAL'
  if (template?.AuditStatus !== 'AUDIT_STATE_PASS') return 'isv.SMS_TEMPLATE_ILLEGAL'
  if (mainland && template.TemplateType === 6) return 'isv.DOMESTIC_NUMBER_NOT_SUPPORTED'
  return mainland ? valueRefusal(template, query['TemplateParam'] ?? '{}') : null
}

function valueRefusal(
  { TemplateContent: content, TemplateType: type }: AliyunTemplate,
  json: string,
): string | null {
  const params = readParams(json)
  if (params === null) return 'isv.INVALID_JSON_PARAM'
  const values = [...content.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => params[name])
  if (values.some(value => value === undefined || value === '')) return 'isv.TEMPLATE_MISSING_PARAMETERS'
  if (values.some(value => String(value).length > 35)) return 'isv.PARAM_LENGTH_LIMIT'
  if (values.some(value => /:\/\/|www\./.test(String(value)))) return 'isv.PARAM_NOT_SUPPORT_URL'
  const misfit = type === 2 && values.some(value => !/^[0-9A-Za-z]{4,6}$/.test(String(value)))
  return misfit ? 'isv.TEMPLATE_PARAMS_ILLEGAL' : null
}

/** Null: it is no JSON object of strings. */
export function readParams(json: string): Readonly<Record<string, string>> | null {
  try {
    const params = JSON.parse(json) as Record<string, string>
    return Object.values(params).every(value => typeof value === 'string') ? params : null
  } catch {
    return null
  }
}

/** The limits of one number, which count what was submitted. */
function limitOf(
  { limits, templates }: AliyunStandInOptions,
  messages: readonly AliyunMessage[],
  { PhoneNumbers: number, SignName: signName, TemplateCode: code }: Readonly<Record<string, string>>,
  at: number,
): CarrierAnswer | null {
  const template = templates.find(each => each.TemplateCode === code)
  if (limits === undefined || template?.TemplateType !== 2) return null
  const times = messages.filter(each => each.phoneNumber === number && each.signName === signName)
  const windows = [
    ['分钟', MINUTE, limits.minute],
    ['小时', 60 * MINUTE, limits.hour],
    ['天', 24 * 60 * MINUTE, limits.day],
  ] as const
  const hit = windows.find(([, ms, most]) => times.filter(each => each.at > at - ms).length >= most)
  return hit === undefined
    ? null
    : refusalOf('isv.BUSINESS_LIMIT_CONTROL', `触发${hit[0]}级流控Permits:${hit[2]}`)
}

/** Messages of one number and one day in China, newest first. */
function findDetails(
  messages: readonly AliyunMessage[],
  query: Readonly<Record<string, string>>,
  at: number,
): Readonly<Record<string, unknown>> {
  const { PhoneNumber: number, SendDate: day, PageSize = '10', CurrentPage = '1' } = query
  const found = messages
    .filter(each => each.phoneNumber === number && chinaTime(each.at).replace(/-|\s.*/g, '') === day)
    .toReversed()
  const from = (Number(CurrentPage) - 1) * Number(PageSize)
  const rows = found.slice(from, from + Number(PageSize)).map(each => ({
    PhoneNum: each.phoneNumber,
    SendStatus: at - each.at > 10_000 ? 3 : 1,
    ErrCode: at - each.at > 10_000 ? 'DELIVERED' : '',
    TemplateCode: each.templateCode,
    Content: each.body,
    SendDate: chinaTime(each.at),
    OutId: each.outId,
  }))
  return {
    Code: 'OK',
    Message: 'OK',
    TotalCount: String(found.length),
    SmsSendDetailDTOs: { SmsSendDetailDTO: rows },
  }
}

function pageOf(
  name: string,
  items: readonly unknown[],
  { PageIndex = '1', PageSize = '10' }: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> {
  const [page, size] = [Number(PageIndex), Number(PageSize)]
  return {
    Code: 'OK',
    Message: 'OK',
    TotalCount: items.length,
    CurrentPage: page,
    PageSize: size,
    [name]: items.slice((page - 1) * size, page * size),
  }
}

/** @returns `yyyy-MM-dd HH:mm:ss` as clocks in China show it */
function chinaTime(at: number): string {
  return new Date(at + 8 * 60 * MINUTE).toISOString().slice(0, 19).replace('T', ' ')
}

/** The delivery report of a message as Aliyun pushes it, in an array. */
export function reportOf(message: AliyunMessage, errCode = 'DELIVERED'): Readonly<Record<string, unknown>> {
  return {
    phone_number: message.phoneNumber,
    send_time: chinaTime(message.at),
    report_time: chinaTime(message.at + 3000),
    success: errCode === 'DELIVERED',
    err_code: errCode,
    err_msg: errCode === 'DELIVERED' ? '用户接收成功' : errCode,
    sms_size: '1',
    biz_id: message.bizId,
    out_id: message.outId,
  }
}

/** An answer of the SMS service: HTTP 200, whether it accepts or refuses. */
export function answerOf(fields: Readonly<Record<string, unknown>>): CarrierAnswer {
  return { status: 200, body: JSON.stringify({ ...fields, RequestId: randomUUID().toUpperCase() }) }
}

/** A refusal by a published code: of the service by HTTP 200, of the gateway before it by 4xx or 5xx. */
export function refusalOf(code: string, message?: string): CarrierAnswer {
  const gateway = published.gateway.codes.find(each => each.code.replace(/\*$/, '') === code)
  if (gateway === undefined) return answerOf({ Message: message ?? messageOf(code), Code: code })
  const fields = { Code: code, Message: message ?? gateway.en, HostId: 'dysmsapi.aliyuncs.com' }
  return { ...answerOf(fields), status: Number(gateway.http.slice(0, 3)) }
}

function messageOf(code: string): string {
  if (code === 'isv.BUSINESS_LIMIT_CONTROL') return '触发分钟级流控Permits:1'
  return published.send.find(each => each.code === code)?.zh || code
}

/** Every published code of SendSms and of the gateway, but for the one that accepts. */
export const REFUSALS: readonly { readonly code: string; readonly en: string }[] = [
  ...published.send.filter(({ code }) => code !== 'OK'),
  ...published.gateway.codes.map(({ code, en }) => ({ code: code.replace(/\*$/, ''), en })),
]

function refuse(code: string, message?: string): CarrierFault {
  return { is: 'answer', ...refusalOf(code, message) }
}

/** How Aliyun can be made to behave. */
export const ALIYUN_FAULTS: NamedFaults<CarrierFault> = {
  none: { title: 'takes every SMS', fault: null },
  recipient: { title: 'finds the number invalid', fault: refuse('isv.MOBILE_NUMBER_ILLEGAL') },
  content: { title: 'refuses the content', fault: refuse('isv.SMS_CONTENT_ILLEGAL') },
  later: {
    title: 'is asked too often',
    fault: refuse('Throttling.User', 'Request was denied due to user flow control.'),
  },
  limit: { title: 'allows the number no more', fault: refuse('isv.BUSINESS_LIMIT_CONTROL') },
  down: { title: 'fails (HTTP 503)', fault: refuse('ServiceUnavailable') },
  silent: { title: 'takes it and never answers', fault: { is: 'stall', accept: true } },
  slow: { title: 'answers after 4 seconds', fault: { is: 'delay', ms: 4000 } },
  ...Object.fromEntries(
    REFUSALS.map(({ code, en }) => [
      `aliyun ${code}`,
      { title: `Aliyun: ${code}, ${en}`, fault: refuse(code) },
    ]),
  ),
}

const SIGN_NAME = '示例科技'
const PASSED = 'AUDIT_STATE_PASS'
/** The sandbox's key, of all of Aliyun's APIs. */
export const SANDBOX_LOGIN = { keyId: 'LTAI5tSandbox', secret: randomSecret() }

/** Aliyun's SMS API with an account whose signature and templates are approved, but for one of each. */
export const standIn: StandInModule = {
  title: 'Aliyun',
  faults: ALIYUN_FAULTS,
  async start({ clock, changed }) {
    const inbox = createSmsInbox(ALIYUN_FAULTS, changed)
    const server = createAliyunStandIn({
      ...SANDBOX_LOGIN,
      signatures: [
        { SignName: SIGN_NAME, AuditStatus: PASSED, BusinessType: '通用类型' },
        { SignName: '待审科技', AuditStatus: 'AUDIT_STATE_INIT', BusinessType: '通用类型' },
      ],
      templates: [
        template('SMS_100000001', '您的验证码为${code}，5分钟内有效，请勿告诉他人。', 2),
        template('SMS_100000002', 'Your verification code is ${code}. Never tell it to anybody.', 6),
        { ...template('SMS_100000003', '您的验证码为${code}。', 2), AuditStatus: 'AUDIT_STATE_INIT' },
      ],
      now: () => clock.now(),
      fault: ({ action }) => (action === 'SendSms' ? inbox.fault() : undefined),
      onMessage({ bizId, at, signName, phoneNumber, body }) {
        const to = /^1\d{10}$/.test(phoneNumber) ? `+86${phoneNumber}` : `+${phoneNumber}`
        inbox.add({ id: bizId, at, from: signName, to, body })
      },
    })
    return inbox.serve(server, url => ({
      settings: {
        ALIYUN_ACCESS_KEY_ID: SANDBOX_LOGIN.keyId,
        ALIYUN_ACCESS_KEY_SECRET: SANDBOX_LOGIN.secret,
        ALIYUN_SMS_SIGN_NAME: SIGN_NAME,
        ALIYUN_API_URL: url,
      },
      route: {
        country: 'CN',
        number: '+8613800138000',
        templates: mapCodes({
          mainland: { template: 'SMS_100000001', params: { code: 'code' } },
          abroad: { template: 'SMS_100000002', params: { code: 'code' } },
        }),
      },
    }))
  },
}

function template(TemplateCode: string, TemplateContent: string, TemplateType: number) {
  return { TemplateCode, TemplateContent, TemplateType, AuditStatus: PASSED }
}
