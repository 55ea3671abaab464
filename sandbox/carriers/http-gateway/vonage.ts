import { randomUUID } from 'node:crypto'
import type { GatewayDialect } from './server.ts'

/** Vonage's SMS API (https://developer.vonage.com/en/api/sms) and its balance, as far as docs/gateways/vonage.yaml uses them. */
export function createVonage({
  key,
  secret,
}: {
  readonly key: string
  readonly secret: string
}): GatewayDialect {
  const refusal = (code: string, words = `refused with ${code}`) =>
    answerOf(200, { 'message-count': '1', messages: [{ status: code, 'error-text': words }] })
  const mayEnter = (fields: URLSearchParams) =>
    fields.get('api_key') === key && fields.get('api_secret') === secret

  return {
    refusal,
    answer({ method, url, headers, body }, take) {
      const { pathname, searchParams } = new URL(url, 'http://localhost')
      if (pathname === '/account/get-balance')
        return mayEnter(searchParams)
          ? answerOf(200, { value: 10.28, autoReload: false })
          : answerOf(401, { 'error-code': '401', 'error-code-label': 'authentication failed' })
      if (pathname !== '/sms/json' || method !== 'POST') return answerOf(404, {})
      if (headers['content-type'] !== 'application/x-www-form-urlencoded')
        return refusal('2', 'Missing api_key')
      const fields = new URLSearchParams(body)
      if (!mayEnter(fields)) return refusal('4', 'Bad Credentials')
      const [to, text, from] = ['to', 'text', 'from'].map(name => fields.get(name) ?? '')
      if (!to || !text || !from) return refusal('2', 'Missing to, from or text param')
      if (!/^[1-9]\d{6,14}$/.test(to)) return refusal('3', 'Invalid value for parameter: to')
      // It is sent in the GSM alphabet unless it says otherwise, and the rest becomes question marks.
      const shown =
        fields.get('type') === 'unicode' ? text : text.replace(/[\u1000-\u1fff\u2e80-\uffff]/g, '?')
      const [id, ref] = [randomUUID(), fields.get('client-ref') ?? '']
      take({ id, ref, from, to: `+${to}`, body: shown })
      const message = { to, 'message-id': id, status: '0', 'client-ref': ref, network: '23410' }
      return answerOf(200, {
        'message-count': '1',
        messages: [{ ...message, 'remaining-balance': '10.28', 'message-price': '0.04' }],
      })
    },
    report: ({ id, ref, from, to, at }, isDelivered) => ({
      msisdn: to.slice(1),
      to: from,
      'network-code': '23410',
      messageId: id,
      price: '0.04',
      status: isDelivered ? 'delivered' : 'failed',
      scts: '2001011400',
      'err-code': isDelivered ? '0' : '6',
      'api-key': key,
      'client-ref': ref,
      'message-timestamp': new Date(at).toISOString().slice(0, 19).replace('T', ' '),
    }),
  }
}

function answerOf(status: number, fields: object) {
  return { status, body: JSON.stringify(fields) }
}
