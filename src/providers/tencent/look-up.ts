import { type JsonObject, textOf } from '../json-answer.ts'
import type { LookUp } from '../provider.ts'
import { readWord } from '../reply.ts'

/** Rows of one answer at most, by Tencent's limit. */
export const REPORTS_PAGE = 100

const MINUTE = 60_000
const WEEK = 7 * 24 * 60 * MINUTE

/**
 * The span to ask for, in seconds: whether it means the time of sending or of the report is not documented, and
 * Tencent's clock and ours may differ, so it is wide. Reports of 7 days are kept.
 */
export function timeRangeOf(
  since: number,
  now: number,
): { readonly BeginTime: number; readonly EndTime: number } {
  const begin = Math.max(since - 5 * MINUTE, now - WEEK + MINUTE)
  return { BeginTime: Math.floor(begin / 1000), EndTime: Math.ceil((now + 5 * MINUTE) / 1000) }
}

/**
 * Finds our message among the reports on one number. A row is there only once the phone's carrier has reported, so that
 * no row proves nothing. A row is ours when it has our SessionContext; Tencent leaves that empty until its support
 * opens it for the account, and then nothing tells our message from another one to the same number, of another
 * replica for one. Taking such a row for ours would lose a code.
 */
export function findInReports(rows: readonly JsonObject[], id: string): LookUp {
  const row = rows.find(each => each['SessionContext'] === id)
  if (row !== undefined) {
    const status = row['ReportStatus'] === 'SUCCESS' ? 'delivered' : 'not delivered'
    const reply = `found among the reports, ${status}`
    return { is: 'accepted', reply, providerId: readWord(textOf(row['SerialNo'])) }
  }
  const nameless = rows.some(each => textOf(each['SessionContext']) === '')
  return {
    is: 'not-known',
    reply: nameless
      ? 'the reports name no message: ask Tencent to open SessionContext for the account'
      : 'no report yet, which may come late',
  }
}
