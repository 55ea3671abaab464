import { reportCodeOf } from '../json-answer.ts'
import { receiptPath } from '../module.ts'
import type { Receipt, ReceiptSource } from '../receipts.ts'
import type { GatewayReports } from './definition.ts'
import { findPointed, findValue } from './finder.ts'

/** Reports of one request: more are not looked at. */
const MOST_REPORTS = 500

/** Reads a gateway's delivery reports as the operator's file describes them. They are not signed. */
export function createGatewayReceipts(
  name: string,
  reports: GatewayReports,
  keys: readonly string[],
): ReceiptSource {
  const { format = 'json', list } = reports
  return {
    path: receiptPath(name),
    keys,
    format,
    parseReports({ body, query }) {
      const named = /(?:^|&)id=([0-9a-f]{32})(?:&|$)/.exec(query)?.[1]
      const found = list === undefined ? body : findValue(list, body)
      return [found]
        .flat()
        .slice(0, MOST_REPORTS)
        .flatMap(each => readReport(reports, each, named) ?? [])
    },
  }
}

/** Null: it names no message, or says nothing that the file knows. @param named our id in the URL that was called. */
function readReport(
  { id, ref, state, states, code }: GatewayReports,
  json: unknown,
  named: string | undefined,
): Receipt | null {
  const providerId = findPointed(id, json)
  const word = findPointed(state, json)
  const status = Object.hasOwn(states, word) ? states[word] : undefined
  if (providerId === '' || status === undefined) return null
  const ours = findPointed(ref, json) || (named ?? '')
  return {
    providerId,
    id: /^[0-9a-f]{32}$/.test(ours) ? ours : undefined,
    status,
    errorCode: status === 'undelivered' ? reportCodeOf(findPointed(code, json)) : null,
  }
}
