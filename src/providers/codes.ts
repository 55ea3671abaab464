import type { Words } from '../language/sentence.ts'
import type { FaultScope } from '../messages/message.ts'
import type { ReportFault } from '../outbox/outbox.ts'
import { readRetryAfter } from './http-client.ts'
import type { Outcome } from './provider.ts'

/** The meaning of a carrier's code for a message. */
export type CodeVerdict = 'ok' | ReportFault['verdict']

/** What a code means for a message, and what else it concerns. */
export interface Judgement<V extends string = CodeVerdict> {
  readonly verdict: V
  /** Absent of `ok`, and where it follows from the verdict. */
  readonly scope?: FaultScope | undefined
}

/** A code as the carrier's `*.codes.json` lists it. */
export interface ListedCode {
  readonly code: string
  readonly verdict: string
  readonly scope?: string
  /** In plain English; src/language has the Chinese. Absent of a code in the operator's own file. */
  readonly en?: string
  /** The entry is for all codes that begin so; `*` at its end is not part of them. */
  readonly prefix?: boolean
}

type FoundCode = ListedCode & Judgement

/** Makes a table of lists of codes. @returns the entry of a code, of the first list that has it. */
export function createCodeTable(
  ...lists: readonly (readonly ListedCode[])[]
): (code: string) => FoundCode | undefined {
  const listed = lists.flat() as readonly FoundCode[]
  const exact = new Map(listed.toReversed().map(each => [each.code, each]))
  const prefixes = listed.filter(({ prefix }) => prefix === true)
  return code =>
    exact.get(code) ?? prefixes.find(({ code: start }) => code.startsWith(start.replace(/\*$/, '')))
}

/** The fault that a report has by its code. A code that the table does not have says nothing but that the message did not arrive. */
export function faultOfReport(listed: Partial<FoundCode> = {}): ReportFault {
  const { verdict = 'later', scope, en: reason = null } = listed
  // The carrier says that it was delivered, and that it was not.
  if (verdict === 'ok') return { verdict: 'later', scope: 'message', reason: null }
  const own = verdict === 'recipient' || verdict === 'country' ? verdict : 'message'
  return { verdict, scope: scope ?? own, reason }
}

/** The judgement on an HTTP answer that says nothing but its status. */
export function judgeStatus(status: number): Judgement<'ours' | 'later' | 'ambiguous'> {
  if (status === 429) return { verdict: 'later', scope: 'account' }
  if (status >= 500) return { verdict: 'ambiguous', scope: 'transport' }
  if (status < 400) return { verdict: 'ours', scope: 'transport' }
  return { verdict: 'ours', scope: [401, 402, 403, 404, 407].includes(status) ? 'account' : 'message' }
}

/** What a refusal means. */
export type Refusal = Judgement<ReportFault['verdict']>

/** The outcome of a refusal. @param limitMs how long a limit lasts, ms. */
export function outcomeOfVerdict(
  { verdict, scope }: Refusal,
  code: string,
  reply: Words,
  limitMs: (scope: FaultScope) => number = () => LONGEST_TOTAL_MS,
): Outcome {
  switch (verdict) {
    case 'ambiguous':
      return { is: 'ambiguous', scope, code, reply }
    case 'ours':
    case 'later':
      return { is: 'retry', whose: verdict, scope, code, reply }
    case 'limit':
      return {
        is: 'limit',
        scope: scope ?? 'account',
        code,
        reply,
        retryAfterMs: limitMs(scope ?? 'account'),
      }
    case 'content':
      return { is: 'rejected', scope: scope ?? 'message', code, reply }
    default:
      return { is: 'rejected', scope: scope ?? verdict, code, reply }
  }
}

/** The same of an answer that may ask for time. @param now ms since the epoch: what a Retry-After date counts from. */
export function outcomeOfRefusal(
  judgement: Refusal,
  code: string,
  reply: Words,
  { retryAfter }: { readonly retryAfter: string | undefined },
  now: number,
  limitMs?: (scope: FaultScope) => number,
): Outcome {
  const outcome = outcomeOfVerdict(judgement, code, reply, limitMs)
  if (outcome.is !== 'retry' || outcome.whose !== 'later') return outcome
  return { ...outcome, retryAfterMs: readRetryAfter(retryAfter, now), overload: 'requests' }
}

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** China's time zone, ms: UTC+8, without summer time. */
export const CHINA_OFFSET_MS = 8 * HOUR

/** Says how long it is until the next midnight in China, ms. @param now ms since the epoch. */
export function msUntilChinaMidnight(now: number): number {
  return DAY - ((now + CHINA_OFFSET_MS) % DAY)
}

/** How long a day's total of ours is waited for at most, ms: the operator may raise it at any time. */
const LONGEST_TOTAL_MS = HOUR

/** The wait for a total of ours, ms, which ends at midnight in China. @param now ms since the epoch. */
export function msUntilNextTotal(now: number): number {
  return Math.min(msUntilChinaMidnight(now), LONGEST_TOTAL_MS)
}
