import type { Channel } from '../messages/message.ts'
import type { SignatureCheck } from './signature.ts'

/** Counts, since the start of the process, of how a channel's POSTs with the right key were signed. */
export interface SignatureStatistics {
  /** Signed, right and fresh: `required` accepts these. */
  readonly right: number
  /** Signed and right, but too old or from the future. */
  readonly stale: number
  readonly wrong: number
  readonly absent: number
  /** The last POSTs in a row that `required` would have accepted: how many, and over how long, ms. */
  readonly run: number
  readonly runMs: number
  readonly requiredIsSafe: boolean
}

/** News for an operator about POST_SIGNATURE. */
export type SignatureNews =
  /** `required` would refuse nothing on any enabled channel. */
  | { readonly is: 'required-is-safe' }
  /** It was so, and this POST would have been refused. */
  | { readonly is: 'no-longer-safe'; readonly channel: Channel; readonly came: SignatureCheck | 'stale' }
  /** The platform does not sign this channel's POSTs: `required` would refuse them all. */
  | { readonly is: 'unsigned'; readonly channel: Channel }

/**
 * `required` is called safe after so many POSTs in a row of which it would refuse none, over at least so long: the platform's
 * parts (sign-up, reset, alarms) may be built differently, and a burst comes from one of them.
 */
export const SAFE_RUN = { posts: 50, ms: 6 * 60 * 60 * 1000 } as const

/**
 * Counts how POSTs are signed, and reports it when that changes what can be said about the policy.
 * @param channels those that are enabled.
 * @param now ms; only differences count.
 */
export function createSignatureStatistics(
  channels: readonly Channel[],
  now: () => number,
  report: (news: SignatureNews) => void,
) {
  const counts = { email: zeroCounts(), sms: zeroCounts() }
  let safe = false

  const isSafe = (channel: Channel) => {
    const { run, from, to } = counts[channel]
    return run >= SAFE_RUN.posts && to - from >= SAFE_RUN.ms
  }

  return {
    /** Counts a POST whose key was right. */
    count(channel: Channel, came: SignatureCheck | 'stale'): void {
      const of = counts[channel]
      of[came] += 1
      if (came === 'right') {
        of.run += 1
        of.to = now()
        if (of.run === 1) of.from = of.to
      } else of.run = 0

      const nowSafe = channels.length > 0 && channels.every(isSafe)
      if (nowSafe && !safe) report({ is: 'required-is-safe' })
      if (safe && !nowSafe) report({ is: 'no-longer-safe', channel, came })
      safe = nowSafe
      if (!of.unsignedReported && of.absent >= SAFE_RUN.posts && of.right + of.stale + of.wrong === 0) {
        of.unsignedReported = true
        report({ is: 'unsigned', channel })
      }
    },
    statisticsOf(channel: Channel): SignatureStatistics {
      const { right, stale, wrong, absent, run, from, to } = counts[channel]
      const runMs = run === 0 ? 0 : to - from
      return { right, stale, wrong, absent, run, runMs, requiredIsSafe: isSafe(channel) }
    },
  }
}

/** `from` and `to`: when the run's first and last POST came, ms. */
function zeroCounts() {
  return { right: 0, stale: 0, wrong: 0, absent: 0, run: 0, from: 0, to: 0, unsignedReported: false }
}
