import { monitorEventLoopDelay } from 'node:perf_hooks'
import { answerParent, type Question } from './child.ts'
import { buildPost, type Exchange, openClient } from './https-client.ts'
import { type LoopResult, summarize } from './loop.ts'
import { emailCallback, smsCallback } from './numbered-callbacks.ts'
import type { Channel } from './session.ts'

/** Floods a service from a process of its own, which can have a core of its own. */

export interface FloodQuestion extends Question {
  readonly is: 'flood'
  readonly port: number
  readonly ca: string
  readonly path: string
  readonly channel: Channel
  readonly connections: number
  readonly perSecond: number
  readonly seconds: number
  /** The number of its first callback. */
  readonly from: number
}

export interface FloodAnswer {
  readonly due: number
  readonly sent: number
  readonly accepted: LoopResult
  readonly refused: LoopResult
  /** Answers that were neither 0 nor 5031002 with Retry-After. */
  readonly others: readonly string[]
  /** Connections that broke before there was an answer. */
  readonly unanswered: number
  /** Numbers of what was answered 0. */
  readonly promised: readonly number[]
  /** What this process was late by: 99 of 100 times less than this, ms. */
  readonly lateMs: number
}

async function flood(asked: FloodQuestion): Promise<FloodAnswer> {
  const make = asked.channel === 'email' ? emailCallback : smsCallback
  const promised: number[] = []
  const times: Record<'accepted' | 'refused', number[]> = { accepted: [], refused: [] }
  const others: string[] = []
  let sent = 0
  const next = (): Exchange => {
    const { number, body } = make(asked.from + sent)
    sent += 1
    const at = performance.now()
    return {
      request: buildPost(asked.path, body),
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
  }
  const client = await openClient(asked)
  const late = monitorEventLoopDelay({ resolution: 1 })
  late.enable()
  const began = performance.now()
  const { due, unanswered } = await client.flood(asked.perSecond, asked.seconds, next)
  const tookMs = performance.now() - began
  late.disable()
  client.close()
  return {
    due,
    sent,
    accepted: summarize(times.accepted, tookMs),
    refused: summarize(times.refused, tookMs),
    others,
    unanswered,
    promised,
    lateMs: late.percentile(99) / 1e6,
  }
}

answerParent(question => flood(question as FloodQuestion))
