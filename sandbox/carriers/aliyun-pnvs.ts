import { randomInt, randomUUID } from 'node:crypto'
import {
  ALIYUN_FAULTS,
  type AliyunMessage,
  type AliyunRequest,
  answerOf,
  readParams,
  readRequest,
  refusalOf,
  SANDBOX_LOGIN,
} from './aliyun.ts'
import {
  type CarrierAnswer,
  createCarrierServer,
  type MessageServer,
  type MessageServerOptions,
  pushBounded,
} from './api-server.ts'
import { createSmsInbox, mapCodes, type StandInModule } from './stand-in.ts'

export type AliyunPnvsStandIn = MessageServer<AliyunRequest, AliyunMessage>

export interface AliyunPnvsStandInOptions extends MessageServerOptions<AliyunRequest, AliyunMessage> {
  readonly keyId: string
  readonly secret: string
  /** The signature and the template that the account was given. */
  readonly signName: string
  readonly templateCode: string
  /** Seconds between two codes to a number, as `Interval`; 0: none. */
  readonly intervalSeconds?: number
}

/**
 * Aliyun's 短信认证 (Dypnsapi 2017-05-25) as far as this service uses it, made from its published description: SendSmsVerifyCode with
 * a code of one's own. Signatures are checked as by the SMS API.
 */
export function createAliyunPnvsStandIn(options: AliyunPnvsStandInOptions): AliyunPnvsStandIn {
  const { signName, templateCode, intervalSeconds = 0, keep = 10_000, now = Date.now } = options
  const messages: AliyunMessage[] = []
  const nonces = new Set<string>()

  function route({ action, query, refusal, at }: AliyunRequest): CarrierAnswer {
    if (refusal !== null) return refusalOf(refusal)
    if (action !== 'SendSmsVerifyCode') return refusalOf('InvalidAction.NotFound')
    const { PhoneNumber: phoneNumber, OutId: outId = '', CountryCode: country = '86' } = query
    if (phoneNumber === undefined) return { ...answerOf({ Code: 'MissingPhoneNumber' }), status: 400 }
    const params = readParams(query['TemplateParam'] ?? '')
    if (country !== '86' || !/^1\d{10}$/.test(phoneNumber)) return refusalOf('MOBILE_NUMBER_ILLEGAL')
    if (query['SignName'] !== signName || query['TemplateCode'] !== templateCode || !params?.['code'])
      return refusalOf('INVALID_PARAMETERS')
    const isSoon = (message: AliyunMessage) =>
      message.phoneNumber === phoneNumber && message.at > at - intervalSeconds * 1000
    if (messages.some(isSoon)) return refusalOf('biz.FREQUENCY', 'check frequency failed')
    const body = `【${signName}】您的验证码为${params['code']}，${params['min'] ?? '5'}分钟内有效。`
    const message = {
      bizId: `${randomInt(1e12, 1e13)}^0`,
      outId,
      phoneNumber,
      signName,
      templateCode,
      body,
      at,
    }
    pushBounded(messages, message, keep)
    options.onMessage?.(message)
    const Model = { BizId: message.bizId, OutId: outId, RequestId: randomUUID() }
    return answerOf({ Code: 'OK', Message: 'OK', Success: true, Model })
  }

  const server = createCarrierServer({
    read: incoming => readRequest(incoming, options, nonces, now()),
    route,
    fault: options.fault,
    keep,
  })
  return { ...server, messages }
}

/** What the sandbox's account was given: these are none of Aliyun's, which change. */
const GIVEN = { signName: '示例认证', templateCode: '100001' }

/** Aliyun's 短信认证 with the key of the SMS API; it is asked where the SMS API has refused a code. */
export const standIn: StandInModule = {
  title: 'Aliyun PNVS',
  faults: ALIYUN_FAULTS,
  async start({ clock, changed }) {
    const inbox = createSmsInbox(ALIYUN_FAULTS, changed)
    const server = createAliyunPnvsStandIn({
      ...SANDBOX_LOGIN,
      ...GIVEN,
      intervalSeconds: 60,
      now: () => clock.now(),
      fault: ({ query }) => ('PhoneNumber' in query ? inbox.fault() : undefined),
      onMessage({ bizId, at, signName, phoneNumber, body }) {
        inbox.add({ id: bizId, at, from: signName, to: `+86${phoneNumber}`, body })
      },
    })
    const { signName: signature, templateCode: template } = GIVEN
    return inbox.serve(server, url => ({
      settings: { ALIYUN_PNVS_API_URL: url },
      route: {
        country: 'CN',
        number: '+8613800138000',
        isSecond: true,
        templates: mapCodes({ mainland: { template, signature, params: { code: 'code', min: 'minute' } } }),
      },
    }))
  },
}
