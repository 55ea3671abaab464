import type { ChannelStatus } from '../delivery/port.ts'
import type { Channel } from '../messages/message.ts'
import type { ServiceHealth } from './service-health.ts'

/** Whether a callback would be accepted now, in words that anybody may read. */
export type Readiness =
  /**
   * `degraded`: channels whose messages are accepted, but wait for a provider that is down; `certificate` when a renewed
   * one is refused.
   */
  | { readonly ready: true; readonly degraded: readonly (Channel | 'certificate')[] }
  | { readonly ready: false; readonly reason: string }

export interface ReadinessSources {
  readonly draining: () => boolean
  /** Commits something harmless; false: the store cannot. */
  readonly probe: () => Promise<boolean>
  readonly health: Pick<ServiceHealth, 'providers'>
  readonly channelStatus: () => readonly ChannelStatus[]
  readonly renewalRefused: () => boolean
}

/** Longer than a slow disk takes, shorter than whoever asks waits, ms. */
const WITHIN_MS = 2000

/**
 * Looks whether a callback would be accepted: the store commits, and this process is not ending. A provider that is
 * down does not make it unready: callbacks are accepted and wait, and another replica would fare no better.
 * However many ask at once, the store is tried once.
 */
export function createReadiness(sources: ReadinessSources): () => Promise<Readiness> {
  let trying: Promise<Readiness> | undefined

  async function tryStore(): Promise<Readiness> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<'late'>(resolve => {
      timer = setTimeout(() => resolve('late'), WITHIN_MS)
    })
    try {
      const commits = await Promise.race([sources.probe(), late])
      if (commits === 'late') return { ready: false, reason: 'the store does not answer' }
      if (!commits) return { ready: false, reason: 'the store cannot commit' }
      return { ready: true, degraded: degraded(sources) }
    } finally {
      clearTimeout(timer)
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

function degraded({ health, channelStatus, renewalRefused }: ReadinessSources): (Channel | 'certificate')[] {
  const down = [
    ...health.providers().filter(({ up }) => !up),
    ...channelStatus().filter(({ breaker }) => breaker !== 'closed'),
  ]
  const channels = [...new Set(down.map(({ channel }) => channel))].sort()
  return renewalRefused() ? [...channels, 'certificate'] : channels
}
