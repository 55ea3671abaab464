import type { Outgoing } from '../messages/message.ts'
import type { AttemptRecord } from '../outbox/outbox.ts'
import type { Outcome, Provider } from '../providers/provider.ts'
import type { EndedAttempt } from './attempt.ts'
import type { RoutedJob } from './channel-state.ts'
import { MAX_COPIES } from './retry.ts'
import {
  type Carrier,
  combineOutcomes,
  findMisfit,
  LEFT_ALONE,
  mayAskNext,
  NO_CARRIER_FITS,
  pausedUntil,
  type Route,
} from './route.ts'

/** The result of an attempt, with all the carriers that were asked. */
export interface RouteEnd extends EndedAttempt {
  /** The carrier that was asked last; undefined when none can send the message. */
  readonly carrier: Carrier | undefined
}

/** An attempt that goes along its route. */
export interface RouteRequest {
  readonly job: RoutedJob
  readonly outgoing: Outgoing
  readonly route: Route
  /** ms since the epoch. */
  readonly now: () => number
  /** Says whether the process was told to end: then no further carrier is asked. */
  readonly stopping: () => boolean
}

/**
 * Asks one carrier.
 * @param copies how many may have been sent by now.
 * @returns null when it could not be noted that it is asked: then it was not.
 */
export type AskCarrier = (
  carrier: Carrier,
  copies: {
    readonly ambiguous: number
    /** The latest of them by this carrier: it is asked first what became of it. */
    readonly isHere: boolean
  },
) => Promise<EndedAttempt | null>

/**
 * Asks the carriers of a message's route one after the other, until one took it, may have taken it, or refused it for
 * good. A carrier that may have taken it in an earlier attempt is asked alone, until it says that it surely has not.
 * @returns `pausedUntil` when all carriers that the message fits are to be left alone for now; `spent` when as many copies may
 *   have been sent as are allowed, and nobody can be asked about them; null when nobody could be asked now.
 */
export async function askRoute(
  { job, outgoing, route, now, stopping }: RouteRequest,
  ask: AskCarrier,
): Promise<RouteEnd | { readonly pausedUntil: number } | 'spent' | null> {
  let holder = carrierOfCopy(job, () =>
    route(job.message).find(({ provider }) => findMisfit(provider, outgoing) === null),
  )
  let { ambiguous } = job
  if (ambiguous >= MAX_COPIES[job.message.channel] && holder?.provider.lookUp === undefined) return 'spent'
  let asked: Carrier | undefined
  const tries: Outcome[] = []
  const records: AttemptRecord[] = []
  /** For each carrier that the message fits and that was not asked: when it may be, ms since the epoch. */
  const askableAt: number[] = []
  for (const carrier of putFirst(job.carriers, holder)) {
    const { provider } = carrier
    if (asked !== undefined && stopping()) {
      askableAt.push(now())
      break
    }
    // A carrier that may have taken it is asked what became of it, even when nothing fits any more.
    const why = carrier === holder ? null : findMisfit(provider, outgoing)
    const until = pausedUntil(carrier, now())
    if (why !== null) records.push(skippedRecord(provider, why, now()))
    else if (until !== null || !carrier.breaker.allows(now())) {
      askableAt.push(until ?? now())
      records.push(skippedRecord(provider, LEFT_ALONE, now()))
      if (carrier === holder) break
    } else {
      const ended = await ask(carrier, { ambiguous, isHere: carrier === holder })
      if (ended === null) {
        if (asked === undefined) return null
        askableAt.push(now())
        break
      }
      asked = carrier
      tries.push(ended.outcome)
      records.push(...ended.records)
      ambiguous = ended.ambiguous
      // A second SMS is paid for; a mail that arrives twice harms nobody.
      const mayHaveBeenSent = ambiguous > 0 && job.message.channel === 'sms'
      if (mayHaveBeenSent || !mayAskNext(ended.outcome)) break
      holder = undefined
    }
  }
  const last = tries.at(-1)
  if (last !== undefined) {
    const outcome = mayAskNext(last)
      ? combineOutcomes([...tries, ...askableAt.map(outcomeOfPause(now()))])
      : last
    return { outcome, ambiguous, records, carrier: asked }
  }
  return askableAt.length > 0
    ? { pausedUntil: Math.min(...askableAt) }
    : outcomeWhenNobodyFits(records, ambiguous)
}

/**
 * Finds the carrier that is asked first what became of the latest copy, and that sends the next one. An SMS that may have been
 * sent is sent again by the same carrier and by no other; a mail goes to any server that takes it, unless its server can be
 * asked. A carrier that is not configured any more cannot be asked.
 * @param expected whom a process that died without a note is taken to have asked.
 */
function carrierOfCopy(
  { message, ambiguous, ambiguousAt, carriers }: RoutedJob,
  expected: () => Carrier | undefined,
): Carrier | undefined {
  if (ambiguous === 0) return undefined
  const carrier = ambiguousAt ? carriers.find(({ provider }) => provider.name === ambiguousAt) : expected()
  return message.channel === 'sms' || carrier?.provider.lookUp !== undefined ? carrier : undefined
}

function putFirst(carriers: readonly Carrier[], holder: Carrier | undefined): readonly Carrier[] {
  return holder === undefined ? carriers : [holder, ...carriers.filter(each => each !== holder)]
}

/** Makes the outcome of a carrier that could not be asked now: it may take the message later, whatever the others said. */
function outcomeOfPause(now: number): (until: number) => Outcome {
  return until => ({ is: 'retry', whose: 'later', ...LEFT_ALONE, untouched: true, retryAfterMs: until - now })
}

/** Makes the timeline's line about a carrier that was not asked, which is why the next one was. */
function skippedRecord(
  { name }: Provider,
  { code, reply }: { readonly code: string; readonly reply: string },
  at: number,
): AttemptRecord {
  return { at, tookMs: 0, provider: name, outcome: 'skipped', code, reply }
}

/** Makes the outcome when no carrier can send the message before the operator has mended something. */
function outcomeWhenNobodyFits(records: readonly AttemptRecord[], ambiguous: number): RouteEnd {
  const code =
    records.length > 0 && records.every(each => each.code === 'RENDER') ? 'RENDER' : NO_CARRIER_FITS
  const reply =
    records.map(each => `${each.provider}: ${each.reply}`).join('; ') || 'no route leads to its country'
  const outcome = { is: 'retry', whose: 'ours', code, reply: reply.slice(0, 200), untouched: true } as const
  return { outcome, ambiguous, records, carrier: undefined }
}
