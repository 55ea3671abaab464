import { randomUUID } from 'node:crypto'
import published from '../../../src/providers/aliyun.codes.json' with { type: 'json' }
import type { CarrierAnswer, CarrierFault } from '../api-server.ts'
import type { NamedFaults } from '../stand-in.ts'

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
