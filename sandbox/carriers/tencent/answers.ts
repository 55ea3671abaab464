import { randomUUID } from 'node:crypto'
import published from '../../../src/providers/tencent.codes.json' with { type: 'json' }
import type { CarrierAnswer, CarrierFault } from '../api-server.ts'
import type { NamedFaults } from '../stand-in.ts'

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
