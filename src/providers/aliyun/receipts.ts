import { type JsonObject, objectsOf, reportCodeOf, textOf } from '../json-answer.ts'
import { receiptPath } from '../module.ts'
import type { Receipt, ReceiptSource } from '../receipts.ts'
import { receiptVerdict } from './outcome.ts'

/**
 * Reads Aliyun's delivery reports (SmsReport, https://help.aliyun.com/document_detail/101867.html), and those of
 * messages abroad, which look different. They are not signed.
 */
export function createAliyunReceipts(keys: readonly string[]): ReceiptSource {
  return {
    path: receiptPath('aliyun'),
    keys,
    format: 'json',
    // Aliyun only looks whether `code` is a number; the words are those of its examples.
    taken: { code: 0, msg: '接收成功' },
    parseReports: ({ body }) => objectsOf(body).flatMap(report => readReport(report) ?? []),
  }
}

/** Reads a report; null: it names no message. */
function readReport(report: JsonObject): Receipt | null {
  const abroad = 'MessageId' in report
  const providerId = textOf(report[abroad ? 'MessageId' : 'biz_id'])
  const id = textOf(report[abroad ? 'TaskId' : 'out_id'])
  const delivered = abroad ? textOf(report['Status']) === '1' : report['success'] === true
  if (providerId === '') return null
  const errorCode = delivered ? null : reportCodeOf(report[abroad ? 'ErrorCode' : 'err_code'])
  // Handed to the phone's carrier, of which nothing was heard: the phone may be off.
  const silent = errorCode !== null && receiptVerdict(errorCode) === 'ambiguous'
  return {
    providerId,
    id: /^[0-9a-f]{32}$/.test(id) ? id : undefined,
    status: delivered ? 'delivered' : silent ? 'sent' : 'undelivered',
    errorCode,
  }
}
