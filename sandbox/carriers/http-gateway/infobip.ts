import { objectOf, objectsOf, parseJsonObject, textOf } from '../../../src/providers/json-answer.ts'
import type { GatewayDialect } from './server.ts'

/** Infobip's SMS API (https://www.infobip.com/docs/api/channels/sms) and its balance, as far as docs/gateways/infobip.yaml uses them. */
export function createInfobip({ key }: { readonly key: string }): GatewayDialect {
  const known = new Set<string>()
  const refusal = (code: string, words = `refused with ${code}`) =>
    code.startsWith('E')
      ? answerOf(Number(code.slice(1)), { errorCode: code, description: words, action: '', violations: [] })
      : answerOf(200, { bulkId: 'b', messages: [rowOf('', '', code, words)] })

  return {
    refusal,
    answer({ method, url, headers, body }, take) {
      if (headers.authorization !== `App ${key}`) return refusal('E401', 'Invalid or missing authentication')
      if (url === '/account/1/balance' && method === 'GET')
        return answerOf(200, { balance: 47.8, currency: 'EUR' })
      if (url !== '/sms/3/messages' || method !== 'POST') return refusal('E404', 'Not found')
      const [message] = objectsOf(parseJsonObject(body)?.['messages'])
      const [destination] = objectsOf(message?.['destinations'])
      const [to, ref] = [textOf(destination?.['to']), textOf(destination?.['messageId'])]
      const text = textOf(objectOf(message?.['content'])?.['text'])
      if (to === '' || text === '' || headers['content-type'] !== 'application/json')
        return refusal('E400', 'The request is invalid')
      const row = (name: string) => answerOf(200, { bulkId: 'b', messages: [rowOf(ref, to, name, name)] })
      if (known.has(ref)) return row('REJECTED_DUPLICATE_MESSAGE_ID')
      known.add(ref)
      take({ id: ref, ref, from: textOf(message?.['sender']), to: `+${to}`, body: text })
      return row('PENDING_ACCEPTED')
    },
    report: ({ id, to, at }, isDelivered) => ({
      results: [
        {
          bulkId: 'b',
          messageId: id,
          to: to.slice(1),
          sentAt: new Date(at).toISOString(),
          doneAt: new Date(at).toISOString(),
          status: isDelivered
            ? { groupId: 3, groupName: 'DELIVERED', id: 5, name: 'DELIVERED_TO_HANDSET' }
            : { groupId: 2, groupName: 'UNDELIVERABLE', id: 9, name: 'UNDELIVERABLE_NOT_DELIVERED' },
          error: {
            groupId: 0,
            groupName: 'OK',
            id: 0,
            name: isDelivered ? 'NO_ERROR' : 'EC_ABSENT_SUBSCRIBER',
          },
        },
      ],
    }),
  }
}

function rowOf(messageId: string, to: string, name: string, description: string) {
  const isPending = name.startsWith('PENDING')
  const group = { groupId: isPending ? 1 : 5, groupName: isPending ? 'PENDING' : 'REJECTED' }
  return { messageId, status: { ...group, id: 26, name, description }, destination: to }
}

function answerOf(status: number, fields: object) {
  return { status, body: JSON.stringify(fields) }
}
