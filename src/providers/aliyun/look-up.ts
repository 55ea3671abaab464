import { CHINA_OFFSET_MS } from '../china-time.ts'
import { type JsonObject, objectOf, objectsOf, textOf } from '../json-answer.ts'
import type { LookUp } from '../provider.ts'

/** Rows of one page at most, by Aliyun's limit. */
export const DETAILS_PAGE = 50

/** Pages of one day that are asked for at most: more messages to one number are beyond every limit. */
export const MOST_PAGES = 4

const DAY = 86_400_000
/** How far Aliyun's clock and ours may be apart, ms. */
const CLOCK_SKEW_MS = 5 * 60_000

/**
 * The days to ask for a message that was sent between two moments, newest first, as `yyyyMMdd`. Aliyun does not say
 * in which zone its days are, so those of China and of UTC are asked for, and around midnight both.
 */
export function daysToAsk(since: number, now: number): readonly string[] {
  const days = new Set<string>()
  for (const offset of [CHINA_OFFSET_MS, 0])
    for (let at = now + CLOCK_SKEW_MS; at > since - CLOCK_SKEW_MS - DAY; at -= DAY)
      days.add(dayOf(Math.max(at, since - CLOCK_SKEW_MS) + offset))
  return [...days].sort().reverse()
}

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10).replaceAll('-', '')
}

/** The rows of an answer to QuerySendDetails, and how many there are on all its pages. */
export function readDetails(body: JsonObject): {
  readonly rows: readonly JsonObject[]
  readonly total: number
} {
  const rows = objectsOf(objectOf(body['SmsSendDetailDTOs'])?.['SmsSendDetailDTO'])
  return { rows, total: Number(textOf(body['TotalCount'])) || 0 }
}

/**
 * Finds our message among the rows. A row with our OutId: it was accepted, whatever became of it later. How soon a row
 * appears is not documented, so that no row proves nothing.
 */
export function findInDetails(rows: readonly JsonObject[], id: string): LookUp {
  const row = rows.find(each => each['OutId'] === id)
  if (row === undefined) return { is: 'not-known', reply: 'not among the sent ones, which may come late' }
  const status = STATUS[textOf(row['SendStatus'])] ?? 'its state is not known'
  return { is: 'accepted', reply: `found among the sent ones, ${status}` }
}

const STATUS: Readonly<Record<string, string>> = {
  '1': 'waiting for the carrier',
  '2': 'not delivered',
  '3': 'delivered',
}
