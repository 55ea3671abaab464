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
  findPause,
  LEFT_ALONE,
  mayAskNext,
  NO_CARRIER_FITS,
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
 * good. One that may have taken it in an earlier attempt is asked alone, until it surely has not.
 * @returns `pausedUntil` when those that it fits are to be left alone for now; `spent` when so many copies may have been sent
 *   that none may follow, and nobody can be asked; null when nobody could be asked now.
 */
export async function askRoute(
  { job, outgoing, route, now, stopping }: RouteRequest,
  ask: AskCarrier,
): Promise<RouteEnd | { readonly pausedUntil: number } | 'spent' | null> {
  let bound = carrierOfCopy(job, () =>
    route(job.message).find(({ provider }) => findMisfit(provider, outgoing) === null),
  )
  let { ambiguous } = job
  if (ambiguous >= MAX_COPIES[job.message.channel] && bound?.provider.lookUp === undefined) return 'spent'
  let asked: Carrier | undefined
  const tries: Outcome[] = []
  const records: AttemptRecord[] = []
  /** When those may be asked that were not, though it fits them. */
  const rests: number[] = []
  for (const carrier of boundFirst(job.carriers, bound)) {
    const { provider } = carrier
    if (asked !== undefined && stopping()) {
      rests.push(now())
      break
    }
    // A carrier that may have taken it is asked what became of it, even when nothing fits any more.
    const why = carrier === bound ? null : findMisfit(provider, outgoing)
    const pause = findPause(carrier, now(), carrier === bound)
    if (why !== null) records.push(skipped(provider, why, now()))
    else if (pause !== null || !carrier.breaker.allows(now())) {
      rests.push(pause?.until ?? now())
      records.push(skipped(provider, pause ?? LEFT_ALONE, now()))
      if (carrier === bound) break
    } else {
      const ended = await ask(carrier, { ambiguous, isHere: carrier === bound })
      if (ended === null) {
        if (asked === undefined) return null
        rests.push(now())
        break
      }
      asked = carrier
      tries.push(ended.outcome)
      records.push(...ended.records)
      ambiguous = ended.ambiguous
      // A second SMS is paid for; a mail that arrives twice harms nobody.
      const mayHaveBeenSent = ambiguous > 0 && job.message.channel === 'sms'
      if (mayHaveBeenSent || !mayAskNext(ended.outcome)) break
      bound = undefined
    }
  }
  const last = tries.at(-1)
  if (last !== undefined) {
    const outcome = mayAskNext(last) ? combineOutcomes([...tries, ...rests.map(restsUntil(now()))]) : last
    return { outcome, ambiguous, records, carrier: asked }
  }
  return rests.length > 0 ? { pausedUntil: Math.min(...rests) } : nobodyFits(records, ambiguous)
}

/**
 * The carrier that is asked first what became of the latest copy, and sends the next one. An SMS that may have been sent is sent
 * again by the same carrier, and by no other; a mail by any server that takes it, unless its server can be asked. A carrier that
 * is not configured any more cannot be asked.
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

function boundFirst(carriers: readonly Carrier[], bound: Carrier | undefined): readonly Carrier[] {
  return bound === undefined ? carriers : [bound, ...carriers.filter(each => each !== bound)]
}

/** A carrier that could not be asked now may take the message later: what the others said is not the last word on it. */
function restsUntil(now: number): (until: number) => Outcome {
  return until => ({ is: 'retry', whose: 'later', ...LEFT_ALONE, untouched: true, retryAfterMs: until - now })
}

/** A line of the timeline about a carrier that was not asked. */
function skipped(
  { name }: Provider,
  { code, reply }: { readonly code: string; readonly reply: string },
  at: number,
): AttemptRecord {
  return { at, tookMs: 0, provider: name, outcome: 'skipped', code, reply }
}

/** Makes the outcome when no carrier can send the message before the operator has mended something. */
function nobodyFits(records: readonly AttemptRecord[], ambiguous: number): RouteEnd {
  const code =
    records.length > 0 && records.every(each => each.code === 'RENDER') ? 'RENDER' : NO_CARRIER_FITS
  const reply =
    records.map(each => `${each.provider}: ${each.reply}`).join('; ') || 'no route leads to its country'
  const outcome = { is: 'retry', whose: 'ours', code, reply: reply.slice(0, 200), untouched: true } as const
  return { outcome, ambiguous, records, carrier: undefined }
}
