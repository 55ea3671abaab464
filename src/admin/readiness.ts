import type { Sentence, Words } from '../language/sentence.ts'
import type { Summary } from '../outbox/outbox.ts'
import { withTimeout } from '../runtime/clock.ts'
import { FACT_KINDS, lasts, listFacts } from './facts.ts'
import { CHANNELS } from './metrics/table.ts'
import type { ServiceView } from './service-view.ts'
import { readSummaryIfUp } from './status/status.ts'

/** What may be degraded, in the order in which it is said. */
const DEGRADED = [...CHANNELS, 'bounces', 'certificate'] as const

/** Says whether a callback would be accepted now, in words that anybody may read. */
export type Readiness =
  /**
   * `degraded`: channels whose messages are accepted, but wait for a provider that is down, or are taken by it and do not arrive;
   * `bounces` when the mailbox that mails come back to cannot be read for minutes; `certificate` when a renewed one is refused. `lost`:
   * what the store was found to lack at a start within the last day; absent when there is nothing.
   */
  | {
      readonly ready: true
      readonly degraded: readonly (typeof DEGRADED)[number][]
      /** What a provider refuses though it takes the rest, and where nobody gets anything, in sentences; absent when there is nothing. */
      readonly partial?: readonly Sentence[]
      readonly lost?: { readonly messages: number }
    }
  | { readonly ready: false; readonly reason: Words }

const NO_DESCRIPTORS = 'too few files may be open: raise LimitNOFILE (systemd) or ulimits (compose)'
/** The timeout of a probe, ms: longer than a slow disk takes, shorter than whoever asks waits. */
const WITHIN_MS = 2000
/** A store that has failed must commit for so long without another failure, ms: a full disk takes a little now and then. */
const RECOVERED_AFTER_MS = 2000
/** The least between the beginnings of two probes, ms: each writes and syncs 64 KB, and no question needs a password. */
const PACE_MS = 100
/** How often what ended last is read, ms. */
const ENDS_EACH_MS = 30_000

/**
 * Looks whether a callback would be accepted: the store commits, and this process is not ending. A provider that is
 * down does not make it unready: callbacks are accepted and wait, and another replica would fare no better.
 * However many ask at once, the store is tried once, and one that hangs is not asked again before it has answered. Those who ask
 * again and again share ten probes a second: a flood of questions must not fill the log of the store.
 * @param monotonic ms, never set.
 */
export function createReadiness(view: ServiceView, monotonic: () => number): () => Promise<Readiness> {
  let commits: Promise<boolean> = Promise.resolve(false)
  let begunAt = Number.NEGATIVE_INFINITY
  let isOver = true
  /** The time from which the store is relied on; Infinity: it failed at last. */
  let reliedOnFrom = Number.NEGATIVE_INFINITY
  let ends: Summary | undefined
  let endsReadAt = Number.NEGATIVE_INFINITY

  function probe(now: number): Promise<boolean> {
    if (isOver && now - begunAt >= PACE_MS) {
      isOver = false
      begunAt = now
      commits = view.queries.probeCommit().finally(() => {
        isOver = true
      })
    }
    return commits
  }

  async function tryStore(): Promise<Readiness> {
    const committed = await withTimeout(WITHIN_MS, probe(monotonic()))
    if (committed !== true) {
      reliedOnFrom = Number.POSITIVE_INFINITY
      return {
        ready: false,
        reason: committed === undefined ? 'the store does not answer' : 'the store cannot commit',
      }
    }
    if (view.lacksDescriptors()) return { ready: false, reason: NO_DESCRIPTORS }
    const now = monotonic()
    if (reliedOnFrom === Number.POSITIVE_INFINITY) reliedOnFrom = now + RECOVERED_AFTER_MS
    if (now < reliedOnFrom) return { ready: false, reason: 'the store could not commit just now' }
    return { ready: true, ...describeFacts(view, await readEnds(now)) }
  }

  /** What ended last is the store's to tell; the question is a dear one, and what asks may be a flood. */
  async function readEnds(now: number): Promise<Summary | undefined> {
    if (now - endsReadAt < ENDS_EACH_MS) return ends
    endsReadAt = now
    ends = (await withTimeout(WITHIN_MS, readSummaryIfUp(view, view.now()))) ?? undefined
    return ends
  }

  return async () => (view.isDraining() ? { ready: false, reason: 'ending' } : tryStore())
}

function describeFacts(view: ServiceView, summary: Summary | undefined) {
  const now = view.now()
  const words = new Set<string>()
  const partial: Sentence[] = []
  let lost: number | null = null
  for (const fact of listFacts(view, summary)) {
    const { degraded, degradedAfterMs = 0, isPartial } = FACT_KINDS[fact.kind]
    const word = degraded === 'channel' ? fact.scope['channel'] : degraded
    if (word !== undefined && lasts(fact, degradedAfterMs, now)) words.add(word)
    if (isPartial) partial.push(fact.text)
    if (fact.kind === 'store-loss') lost = fact.count
  }
  return {
    degraded: DEGRADED.filter(word => words.has(word)),
    ...(partial.length === 0 ? {} : { partial }),
    ...(lost === null ? {} : { lost: { messages: lost } }),
  }
}
