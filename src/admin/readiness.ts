import type { ChannelStatus } from '../delivery/port.ts'
import type { Channel } from '../messages/message.ts'
import type { StoreLoss } from '../outbox/outbox.ts'
import { withTimeout } from '../runtime/clock.ts'
import type { ServiceHealth } from './service-health.ts'

/** Says whether a callback would be accepted now, in words that anybody may read. */
export type Readiness =
  /**
   * `degraded`: channels whose messages are accepted, but wait for a provider that is down; `certificate` when a renewed
   * one is refused, `quotas` when a quota is set that this version does not have. `lost`: what the store was found to lack at a start within the last day; absent when there is nothing.
   */
  | {
      readonly ready: true
      readonly degraded: readonly (Channel | 'certificate' | 'quotas')[]
      readonly lost?: Pick<StoreLoss, 'messages' | 'unsent'>
    }
  | { readonly ready: false; readonly reason: string }

export interface ReadinessSources {
  readonly draining: () => boolean
  /** Commits something harmless; false: the store cannot. */
  readonly probe: () => Promise<boolean>
  readonly health: Pick<ServiceHealth, 'providers'>
  readonly channelStatus: () => readonly ChannelStatus[]
  readonly renewalRefused: () => boolean
  /** Whether the operator counts on a quota that is not there any more. */
  readonly isBrakeGone: boolean
  readonly storeLoss: () => StoreLoss | null
  /** ms, never set. */
  readonly monotonic: () => number
}

/** Limit of a probe, ms: longer than a slow disk takes, shorter than whoever asks waits. */
const WITHIN_MS = 2000
/** A store that has failed must commit for so long without another failure, ms: a full disk takes a little now and then. */
const RECOVERED_AFTER_MS = 2000
/** The least between the beginnings of two probes, ms: each writes and syncs 64 KB, and no question needs a password. */
const PACE_MS = 100

/**
 * Looks whether a callback would be accepted: the store commits, and this process is not ending. A provider that is
 * down does not make it unready: callbacks are accepted and wait, and another replica would fare no better.
 * However many ask at once, the store is tried once, and one that hangs is not asked again before it has answered. Those who ask
 * again and again wait for the next of ten probes a second: a flood of questions must not fill the log of the store.
 */
export function createReadiness(sources: ReadinessSources): () => Promise<Readiness> {
  let trying: Promise<Readiness> | undefined
  let probing: Promise<boolean> | undefined
  let resting: Promise<void> | undefined
  /** Since when the store commits again; null: it failed at last, or never has. */
  let recoveredAt: number | null = null
  let hasFailed = false

  function beginProbe(): Promise<boolean> {
    resting = new Promise(resolve => {
      setTimeout(() => {
        resting = undefined
        resolve()
      }, PACE_MS)
    })
    return sources.probe()
  }

  function probe(): Promise<boolean> {
    probing ??= (resting === undefined ? beginProbe() : resting.then(beginProbe)).finally(() => {
      probing = undefined
    })
    return probing
  }

  /** Says whether the store has committed for long enough since it failed. */
  function hasRecovered(): boolean {
    const now = sources.monotonic()
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
        reason: commits === undefined ? 'the store does not answer' : 'the store cannot commit',
      }
    }
    if (!hasRecovered()) return { ready: false, reason: 'the store could not commit just now' }
    const loss = sources.storeLoss()
    return {
      ready: true,
      degraded: degraded(sources),
      ...(loss === null ? {} : { lost: { messages: loss.messages, unsent: loss.unsent } }),
    }
  }

  return () => {
    if (sources.draining()) return Promise.resolve({ ready: false, reason: 'ending' })
    trying ??= tryStore().finally(() => {
      trying = undefined
    })
    return trying
  }
}

function degraded({
  health,
  channelStatus,
  renewalRefused,
  isBrakeGone,
}: ReadinessSources): (Channel | 'certificate' | 'quotas')[] {
  const down = [
    ...health.providers().filter(({ up }) => !up),
    ...channelStatus().filter(({ breaker }) => breaker !== 'closed'),
  ]
  const channels = [...new Set(down.map(({ channel }) => channel))].sort()
  return [
    ...channels,
    ...(renewalRefused() ? (['certificate'] as const) : []),
    ...(isBrakeGone ? (['quotas'] as const) : []),
  ]
}
