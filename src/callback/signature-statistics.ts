import type { Channel } from '../messages/message.ts'
import type { SignatureCheck } from './signature.ts'

/** How the POSTs of a channel came that had the right key, since the start of the process. */
export interface SignatureStatistics {
  /** Signed, right and fresh: `required` lets these in. */
  readonly right: number
  /** Signed and right, but too old or from the future. */
  readonly stale: number
  readonly wrong: number
  readonly absent: number
  /** How many in a row, up to the last one, `required` would have let in, and over how long, ms. */
  readonly run: number
  readonly runMs: number
  readonly requiredIsSafe: boolean
}

/** What an operator should know of the policy. */
export type SignatureNews =
  /** Every channel that is on could be held to signatures now. */
  | { readonly is: 'required-is-safe' }
  /** It was so, and this POST would have been refused. */
  | { readonly is: 'no-longer-safe'; readonly channel: Channel; readonly came: SignatureCheck | 'stale' }
  /** The platform does not sign this channel's POSTs: `required` would refuse them all. */
  | { readonly is: 'unsigned'; readonly channel: Channel }

export interface SignatureWatch {
  /** Hears of a POST whose key was right. */
  saw(channel: Channel, came: SignatureCheck | 'stale'): void
  statistics(channel: Channel): SignatureStatistics
}

/**
 * When `required` is called safe: so many POSTs in a row without one that it would refuse, and over so long, because
 * the platform's parts (sign-up, reset, alarms) need not be of one make, and a burst comes from one of them.
 */
export const SAFE_RUN = { posts: 50, ms: 6 * 60 * 60 * 1000 } as const

interface Tally {
  right: number
  stale: number
  wrong: number
  absent: number
  run: number
  /** Of the run's first and last POST, ms. */
  from: number
  to: number
  told: boolean
}

/**
 * Counts whether POSTs come signed, and tells when that says something.
 * @param channels those that are on.
 * @param now ms; only differences count.
 */
export function createSignatureWatch(
  channels: readonly Channel[],
  now: () => number,
  tell: (news: SignatureNews) => void,
): SignatureWatch {
  const tallies: Record<Channel, Tally> = { email: emptyTally(), sms: emptyTally() }
  let safe = false

  const isSafe = ({ run, from, to }: Tally) => run >= SAFE_RUN.posts && to - from >= SAFE_RUN.ms

  return {
    saw(channel, came) {
      const tally = tallies[channel]
      tally[came] += 1
      if (came === 'right') {
        tally.run += 1
        tally.to = now()
        if (tally.run === 1) tally.from = tally.to
      } else tally.run = 0

      const nowSafe = channels.length > 0 && channels.every(each => isSafe(tallies[each]))
      if (nowSafe && !safe) tell({ is: 'required-is-safe' })
      if (safe && !nowSafe) tell({ is: 'no-longer-safe', channel, came })
      safe = nowSafe
      if (!tally.told && tally.absent >= SAFE_RUN.posts && tally.right + tally.stale + tally.wrong === 0) {
        tally.told = true
        tell({ is: 'unsigned', channel })
      }
    },
    statistics(channel) {
      const { right, stale, wrong, absent, run, from, to } = tallies[channel]
      return {
        right,
        stale,
        wrong,
        absent,
        run,
        runMs: run === 0 ? 0 : to - from,
        requiredIsSafe: isSafe(tallies[channel]),
      }
    },
  }
}

function emptyTally(): Tally {
  return { right: 0, stale: 0, wrong: 0, absent: 0, run: 0, from: 0, to: 0, told: false }
}
