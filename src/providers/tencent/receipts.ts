import { type JsonObject, objectsOf, reportCodeOf, textOf } from '../json-answer.ts'
import { receiptPath } from '../module.ts'
import type { Receipt, ReceiptSource } from '../receipts.ts'

/**
 * Reads Tencent's delivery reports (https://cloud.tencent.com/document/product/382/59178), at most 100 in one request.
 * They are not signed, and name our message (`ext`) only when Tencent's support has opened that for the account.
 */
export function createTencentReceipts(keys: readonly string[]): ReceiptSource {
  return {
    path: receiptPath('tencent'),
    keys,
    format: 'json',
    taken: { result: 0, errmsg: 'OK' },
    parseReports: ({ body }) => objectsOf(body).flatMap(report => readReport(report) ?? []),
  }
}

/** Reads a report; null: it names no message. `errmsg` is the code, which differs by carrier and is kept as it is. */
function readReport(report: JsonObject): Receipt | null {
  const providerId = textOf(report['sid'])
  if (providerId === '') return null
  const id = textOf(report['ext'])
  const delivered = report['report_status'] === 'SUCCESS'
  return {
    providerId,
    id: /^[0-9a-f]{32}$/.test(id) ? id : undefined,
    status: delivered ? 'delivered' : 'undelivered',
    errorCode: delivered ? null : reportCodeOf(report['errmsg']),
  }
}
