import { readRetryAfter } from './http-exchange.ts'
import type { Outcome } from './provider.ts'

/** The meaning of a carrier's code for a message; error-codes.json in the carriers' folders lists the codes. */
export type CodeVerdict =
  | 'ok'
  | 'recipient'
  | 'content'
  | 'country'
  | 'ours'
  | 'later'
  | 'limit'
  | 'ambiguous'

/** A code as error-codes.json lists it; `prefix`: of all that begin so. */
export interface ListedCode {
  readonly code: string
  readonly verdict: string
  readonly prefix?: boolean
}

/** Makes a table of lists of codes. @returns the verdict on a code, by the first list that has it. */
export function createVerdictTable(
  ...lists: readonly (readonly ListedCode[])[]
): (code: string) => CodeVerdict | undefined {
  const listed = lists.flat()
  const exact = new Map<string, CodeVerdict>()
  for (const { code, verdict } of listed) if (!exact.has(code)) exact.set(code, verdict as CodeVerdict)
  const prefixes = listed
    .filter(({ prefix }) => prefix === true)
    .map(({ code, verdict }) => [code.replace(/\*$/, ''), verdict as CodeVerdict] as const)
  return code => exact.get(code) ?? prefixes.find(([prefix]) => code.startsWith(prefix))?.[1]
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
