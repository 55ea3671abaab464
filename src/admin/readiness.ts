import type { Sentence } from '../language/sentence.ts'
import type { Channel } from '../messages/message.ts'
import type { StoreLoss } from '../outbox/outbox.ts'
import { withTimeout } from '../runtime/clock.ts'
import { describePartialFault } from './explain.ts'
import type { ServiceView } from './service-view.ts'

type Degraded = Channel | 'bounces' | 'certificate'

/** Says whether a callback would be accepted now, in words that anybody may read. */
export type Readiness =
  /**
   * `degraded`: channels whose messages are accepted, but wait for a provider that is down, or are taken by it and do not arrive;
   * `bounces` when the mailbox that mails come back to cannot be read for minutes; `certificate` when a renewed one is refused. `lost`:
   * what the store was found to lack at a start within the last day; absent when there is nothing.
   */
  | {
      readonly ready: true
      readonly degraded: readonly Degraded[]
      /** What a provider refuses though it takes the rest, in sentences; absent when there is nothing. */
      readonly partial?: readonly Sentence[]
      readonly lost?: Pick<StoreLoss, 'messages'>
    }
  | { readonly ready: false; readonly reason: string }

const NO_DESCRIPTORS = 'too few files may be open: raise LimitNOFILE (systemd) or ulimits (compose)'
/** The timeout of a probe, ms: longer than a slow disk takes, shorter than whoever asks waits. */
const WITHIN_MS = 2000
/** A store that has failed must commit for so long without another failure, ms: a full disk takes a little now and then. */
const RECOVERED_AFTER_MS = 2000
/** A mailbox that cannot be read for so long, ms, needs somebody: its server may start anew. */
const UNREAD_MS = 300_000
/** The least between the beginnings of two probes, ms: each writes and syncs 64 KB, and no question needs a password. */
const PACE_MS = 100

/**
 * Looks whether a callback would be accepted: the store commits, and this process is not ending. A provider that is
 * down does not make it unready: callbacks are accepted and wait, and another replica would fare no better.
 * However many ask at once, the store is tried once, and one that hangs is not asked again before it has answered. Those who ask
 * again and again wait for the next of ten probes a second: a flood of questions must not fill the log of the store.
 * @param monotonic ms, never set.
 */
export function createReadiness(view: ServiceView, monotonic: () => number): () => Promise<Readiness> {
  let trying: Promise<Readiness> | undefined
  let probing: Promise<boolean> | undefined
  let resting: Promise<void> | undefined
  /** The time since which the store commits again; null when it failed at last, or never has. */
  let recoveredAt: number | null = null
  let hasFailed = false

  function beginProbe(): Promise<boolean> {
    resting = new Promise(resolve => {
      setTimeout(() => {
        resting = undefined
        resolve()
      }, PACE_MS)
    })
    return view.queries.probeCommit()
  }

  function probe(): Promise<boolean> {
    probing ??= (resting === undefined ? beginProbe() : resting.then(beginProbe)).finally(() => {
      probing = undefined
    })
    return probing
  }

  /** Says whether the store has committed for long enough since it failed. */
  function hasRecovered(): boolean {
    const now = monotonic()
    recoveredAt ??= now
    if (now - recoveredAt >= RECOVERED_AFTER_MS) hasFailed = false
    return !hasFailed
  }

  async function tryStore(): Promise<Readiness> {
    const commits = await withTimeout(WITHIN_MS, probe())
    if (commits !== true) {
      hasFailed = true
      recoveredAt = null
      return {
        ready: false,
        reason:
          view.storeTrouble?.() ??
          (commits === undefined ? 'the store does not answer' : 'the store cannot commit'),
      }
    }
    if (view.lacksDescriptors()) return { ready: false, reason: NO_DESCRIPTORS }
    if (!hasRecovered()) return { ready: false, reason: 'the store could not commit just now' }
    const loss = view.storeLoss()
    const partial = view
      .channelStatus()
      .flatMap(each => each.partialFaults.map(fault => describePartialFault(each, fault)))
    return {
      ready: true,
      degraded: degraded(view),
      ...(partial.length === 0 ? {} : { partial }),
      ...(loss === null ? {} : { lost: { messages: loss.messages } }),
    }
  }

  return () => {
    if (view.isDraining()) return Promise.resolve({ ready: false, reason: 'ending' })
    trying ??= tryStore().finally(() => {
      trying = undefined
    })
    return trying
  }
}

function degraded(view: ServiceView): readonly Degraded[] {
  const down = [
    ...view.health.providers().filter(({ up }) => !up),
    ...view
      .channelStatus()
      .filter(
        ({ breaker, partialFaults }) =>
          breaker !== 'closed' || partialFaults.some(({ recipients }) => recipients !== undefined),
      ),
  ]
  const refused = view.channels.filter(channel => view.health.ofChannel(channel).lockedOut !== null)
  const expiresAt = view.certificate()?.expiresAt ?? Infinity
  const unreadSince = view.bounceMailbox()?.failing?.since ?? Infinity
  const channels = [...new Set([...down.map(({ channel }) => channel), ...refused])].sort()
  return [
    ...channels,
    ...(view.now() - unreadSince >= UNREAD_MS ? (['bounces'] as const) : []),
    ...(view.renewalRefused() !== null || expiresAt <= view.wall() ? (['certificate'] as const) : []),
  ]
}
