import { monitorEventLoopDelay } from 'node:perf_hooks'
import { answerParent, type Question } from './child.ts'
import { createFloodTally, type FloodAnswers } from './flood-tally.ts'
import { type Client, GREETING, openClient } from './https-client.ts'
import type { Channel } from './session.ts'

/** Floods a service from a process of its own, which can have a core of its own. */

/** Opens the connections; the flood itself comes with the next question. */
export interface OpenQuestion extends Question {
  readonly is: 'open'
  readonly port: number
  readonly ca: string
  readonly connections: number
}

export interface FloodQuestion extends Question {
  readonly is: 'flood'
  readonly path: string
  readonly channel: Channel
  readonly perSecond: number
  readonly seconds: number
  /** The number of its first callback. */
  readonly from: number
}

export interface FloodAnswer extends FloodAnswers {
  readonly due: number
  readonly sent: number
  /** Connections that broke before there was an answer. */
  readonly unanswered: number
  /** What this process was late by: 99 of 100 times less than this, ms. */
  readonly lateMs: number
}

let client: Client | undefined

async function open(asked: OpenQuestion): Promise<void> {
  client = await openClient({ ...asked, greeting: GREETING })
}

async function flood(asked: FloodQuestion): Promise<FloodAnswer> {
  if (client === undefined) throw new Error('a flood before its connections are open')
  const tally = createFloodTally(asked)
  const late = monitorEventLoopDelay({ resolution: 1 })
  late.enable()
  const began = performance.now()
  const { due, unanswered } = await client.flood(asked.perSecond, asked.seconds, tally.next)
  const tookMs = performance.now() - began
  late.disable()
  client.close()
  return {
    ...tally.read(tookMs),
    due,
    sent: tally.sent(),
    unanswered,
    lateMs: late.percentile(99) / 1e6,
  }
}

answerParent(question =>
  question.is === 'open' ? open(question as OpenQuestion) : flood(question as FloodQuestion),
)
