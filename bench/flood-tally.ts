import { buildPost, type Exchange } from './https-client.ts'
import { type LoopResult, summarize } from './loop.ts'
import { emailCallback, smsCallback } from './numbered-callbacks.ts'
import type { Channel } from './session.ts'

/** What callbacks were answered while there were too many. */
export interface FloodAnswers {
  readonly accepted: LoopResult
  readonly refused: LoopResult
  /** Answers that were neither 0 nor 5031002 with Retry-After. */
  readonly others: readonly string[]
  /** Numbers of what was answered 0. */
  readonly promised: readonly number[]
}

export interface FloodTally {
  readonly sent: () => number
  /** The next callback, which counts itself once it is answered; its time counts from this call. */
  next(): Exchange
  /** @param tookMs of all of them together. */
  read(tookMs: number): FloodAnswers
}

/** @param options.from the number of its first callback. */
export function createFloodTally({
  path,
  channel,
  from,
}: {
  readonly path: string
  readonly channel: Channel
  readonly from: number
}): FloodTally {
  const make = channel === 'email' ? emailCallback : smsCallback
  const promised: number[] = []
  const times: Record<'accepted' | 'refused', number[]> = { accepted: [], refused: [] }
  const others: string[] = []
  let sent = 0
  return {
    sent: () => sent,
    next() {
      const { number, body } = make(from + sent)
      sent += 1
      const at = performance.now()
      return {
        request: buildPost(path, body),
        check(status, answer, head) {
          const tookMs = performance.now() - at
          if (status === 200 && answer.includes('"err_code":0,')) {
            times.accepted.push(tookMs)
            promised.push(number)
          } else if (
            status === 503 &&
            answer.includes('"err_code":5031002,') &&
            /\r\nretry-after: \d/i.test(head)
          )
            times.refused.push(tookMs)
          else others.push(`HTTP ${status} ${answer}`)
        },
      }
    },
    read: tookMs => ({
      accepted: summarize(times.accepted, tookMs),
      refused: summarize(times.refused, tookMs),
      others,
      promised,
    }),
  }
}
