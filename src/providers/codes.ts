import { readRetryAfter } from './http-client.ts'
import type { LimitWindow, Outcome } from './provider.ts'

/** The meaning of a carrier's code for a message. */
export type CodeVerdict =
  | 'ok'
  | 'recipient'
  | 'content'
  | 'country'
  | 'ours'
  | 'later'
  | 'limit'
  | 'ambiguous'

/** A code with its verdict, as the carrier's `*.codes.json` lists it. */
export interface ListedCode {
  readonly code: string
  readonly verdict: string
  /** The entry is for all codes that begin so; `*` at its end is not part of them. */
  readonly prefix?: boolean
  /** The operator has it to mend, and yet the carrier may refuse this recipient alone. */
  readonly perhapsRecipient?: boolean
}

type FoundCode = Omit<ListedCode, 'verdict'> & { readonly verdict: CodeVerdict }

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

/** The outcome of a refusal that is no limit. */
export function outcomeOfVerdict(
  verdict: Exclude<CodeVerdict, 'ok' | 'limit'>,
  code: string,
  reply: string,
): Outcome {
  if (verdict === 'ambiguous') return { is: 'ambiguous', code, reply }
  if (verdict === 'ours' || verdict === 'later') return { is: 'retry', whose: verdict, code, reply }
  return { is: 'rejected', why: verdict, code, reply }
}

/** The same of an answer that may ask for time. @param now ms since the epoch: what a Retry-After date counts from. */
export function outcomeOfRefusal(
  verdict: Parameters<typeof outcomeOfVerdict>[0],
  code: string,
  reply: string,
  { retryAfter }: { readonly retryAfter: string | undefined },
  now: number,
): Outcome {
  const outcome = outcomeOfVerdict(verdict, code, reply)
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

/** The window of a total of the account: it ends at midnight in China, and the operator may raise the total at any time. */
export function windowOfAccount(now: number): LimitWindow {
  return { scope: 'account', retryAfterMs: Math.min(msUntilChinaMidnight(now), HOUR) }
}
