import { randomBytes } from 'node:crypto'
import { objectsOf, textOf } from '../../src/providers/json-answer.ts'
import { type JsonObject, objectOf, parseJson } from '../../src/runtime/json-object.ts'
import type { CarrierAnswer } from './api-server.ts'
import type { GatewayDialect } from './http-gateway.ts'

function answerOf(status: number, fields: object): CarrierAnswer {
  return { status, body: JSON.stringify(fields) }
}

const at = (value: unknown, ...path: readonly string[]): JsonObject =>
  path.reduce((object, name) => objectOf(object[name]) ?? {}, objectOf(value) ?? {})

/** Telegram Gateway (https://core.telegram.org/gateway/api), as far as docs/gateways/telegram.yaml uses it. */
export function createTelegram({ token }: { readonly token: string }): GatewayDialect {
  const refusal = (error: string) => answerOf(200, { ok: false, error })
  return {
    refusal,
    answer({ url, headers, body }, take) {
      if (headers.authorization !== `Bearer ${token}`) return refusal('ACCESS_TOKEN_INVALID')
      if (url !== '/sendVerificationMessage') return refusal('UNKNOWN_METHOD')
      const given = at(parseJson(body))
      const [to, code, ref] = ['phone_number', 'code', 'payload'].map(name => textOf(given[name]))
      const ttl = Number(given['ttl'])
      if (!/^\+[1-9]\d{6,14}$/.test(to ?? '')) return refusal('PHONE_NUMBER_INVALID')
      if (!/^\d{4,8}$/.test(code ?? '')) return refusal('CODE_INVALID')
      if (!(ttl >= 30 && ttl <= 3600)) return refusal('TTL_INVALID')
      const request_id = String(10 ** 15 + Math.floor(Math.random() * 10 ** 15))
      take({ id: request_id, ref: ref ?? '', from: 'Verification Codes', to: to ?? '', body: code ?? '' })
      return answerOf(200, { ok: true, result: { request_id, phone_number: to, request_cost: 0.01 } })
    },
    report: ({ id, ref, to, at: moment }, isDelivered) => ({
      request_id: id,
      phone_number: to,
      request_cost: 0.01,
      delivery_status: { status: isDelivered ? 'read' : 'expired', updated_at: Math.floor(moment / 1000) },
      payload: ref,
    }),
  }
}

/**
 * WhatsApp Cloud API (https://developers.facebook.com/documentation/business-messaging/whatsapp/), as far as docs/gateways/whatsapp.yaml
 * uses it.
 */
export function createWhatsApp(login: {
  readonly token: string
  readonly phoneNumberId: string
  readonly template: string
}): GatewayDialect {
  const refusal = (code: string, details = `refused with ${code}`) =>
    answerOf(code === '190' ? 401 : 400, {
      error: {
        message: `(#${code}) no`,
        type: 'OAuthException',
        code: Number(code.replace('X', '5')),
        error_data: { details },
      },
    })
  return {
    refusal,
    answer({ method, url, headers, body }, take) {
      if (headers.authorization !== `Bearer ${login.token}`) return refusal('190')
      const [path] = url.replace(/^\/v\d+\.\d+/, '').split('?')
      if (method === 'GET' && path === `/${login.phoneNumberId}`)
        return answerOf(200, { id: login.phoneNumberId })
      if (path !== `/${login.phoneNumberId}/messages`) return refusal('100')
      const given = at(parseJson(body))
      const template = at(given, 'template')
      const used = `${textOf(template['name'])}/${textOf(at(template, 'language')['code'])}`
      if (given['messaging_product'] !== 'whatsapp' || given['type'] !== 'template') return refusal('100')
      if (used !== login.template) return refusal('132001')
      const values = objectsOf(template['components']).map(part =>
        textOf(objectsOf(part['parameters'])[0]?.['text']),
      )
      if (values.length !== 2 || values[0] !== values[1]) return refusal('132000')
      const [to, ref] = [textOf(given['to']), textOf(given['biz_opaque_callback_data'])]
      const head = Buffer.from(`\u001c\u0018\f${to.slice(1)}\u0015\u0002`).toString('base64')
      const id = `wamid.${head}${randomBytes(18).toString('base64')}`
      take({ id: ref, ref, from: login.phoneNumberId, to, body: values[0] ?? '' })
      const contacts = [{ input: to, wa_id: to.slice(1) }]
      return answerOf(200, {
        messaging_product: 'whatsapp',
        contacts,
        messages: [{ id, message_status: 'accepted' }],
      })
    },
    report({ ref, to, at: moment }, isDelivered) {
      const errors = [{ code: 131026, title: 'Message undeliverable' }]
      const status = {
        id: 'wamid.x',
        status: isDelivered ? 'delivered' : 'failed',
        timestamp: String(Math.floor(moment / 1000)),
        recipient_id: to.slice(1),
        biz_opaque_callback_data: ref,
        ...(!isDelivered && { errors }),
      }
      const value = { messaging_product: 'whatsapp', statuses: [status] }
      return {
        object: 'whatsapp_business_account',
        entry: [{ id: '1', changes: [{ value, field: 'messages' }] }],
      }
    },
  }
}

/** SMS Gateway for Android (https://docs.sms-gate.app), as far as docs/gateways/android-phone.yaml uses it. */
export function createAndroidPhone(login: {
  readonly user: string
  readonly password: string
}): GatewayDialect {
  const known = new Set<string>()
  const refusal = (code: string, words = '') =>
    code.startsWith('http-')
      ? answerOf(Number(code.slice(5)), { message: words })
      : answerOf(400, { message: `can't use phone in row 1: ${code} ${words}` })
  return {
    refusal,
    answer({ method, url, headers, body }, take) {
      const right = Buffer.from(`${login.user}:${login.password}`).toString('base64')
      if (headers.authorization !== `Basic ${right}`) return answerOf(401, { message: 'Unauthorized' })
      if (method === 'GET' && url === '/3rdparty/v1/devices') return answerOf(200, [{ id: 'phone' }])
      if (url !== '/3rdparty/v1/messages') return answerOf(404, { message: 'Not Found' })
      const given = at(parseJson(body))
      const [id, text] = [textOf(given['id']), textOf(at(given, 'textMessage')['text'])]
      const [to] = Array.isArray(given['phoneNumbers']) ? given['phoneNumbers'].map(textOf) : []
      if (text === '' || to === undefined) return answerOf(400, { message: 'No message content provided' })
      if (known.has(id)) return answerOf(409, { message: 'message already exists' })
      known.add(id)
      take({ id, ref: id, from: 'phone', to, body: text })
      return answerOf(202, { id, state: 'Pending', recipients: [{ phoneNumber: to, state: 'Pending' }] })
    },
    report: ({ id, to, at: moment }, isDelivered) => ({
      deviceId: 'phone',
      event: isDelivered ? 'sms:delivered' : 'sms:failed',
      id: 'event',
      payload: {
        messageId: id,
        phoneNumber: to,
        simNumber: 1,
        ...(isDelivered
          ? { deliveredAt: new Date(moment) }
          : { failedAt: new Date(moment), reason: 'no service' }),
      },
      webhookId: 'hook',
    }),
  }
}
