import type { Channel } from '../src/messages/message.ts'
import type { CallbackAnswer, CallbackClient, Credentials } from '../src/platform/callback-client.ts'
import { type Sample, type SampleKind, sampleOf } from '../src/platform/sample-callbacks.ts'
import type { Clock } from '../src/runtime/clock.ts'

/** Something the platform did to the service, and what it was answered. */
export interface Played {
  /** Counts from 1. */
  readonly id: number
  /** ms since the epoch. */
  readonly at: number
  readonly channel: Channel
  readonly title: string
  /** What was posted; null for a validation. */
  readonly body: Sample['body'] | null
  readonly answer: CallbackAnswer
}

export interface PlayerOptions {
  readonly platform: CallbackClient
  /** The callback URLs, as pasted into the console. */
  readonly urls: Readonly<Record<Channel, string>>
  readonly credentials: Readonly<Record<Channel, Credentials>>
  /** Whether POSTs are signed like the GET; the contract leaves open whether the platform does. */
  readonly signPosts: boolean
  readonly clock: Clock
  /** A whole number from `low` to below `high`, like `crypto.randomInt`. */
  readonly randomInt: (low: number, high: number) => number
  readonly onPlayed?: (played: Played) => void
}

export interface Player {
  /** The console's "validate". `wrongToken`: as somebody would who does not know the Token. */
  validate(channel: Channel, wrongToken?: boolean): Promise<Played>
  /** Posts one of the kind, unlike any other before, in the next of the platform's layouts. */
  send(kind: SampleKind, to?: string): Promise<{ readonly played: Played; readonly sample: Sample }>
  /** Posts the channel's last body once more, unchanged; null when there is none. */
  again(channel: Channel): Promise<Played | null>
  /** Newest first, the last 100. */
  played(): readonly Played[]
  /** Forgets what was played. */
  clear(): void
}

/** Plays the platform, button by button, and remembers what came of it. */
export function createPlayer(options: PlayerOptions): Player {
  const { platform, urls, credentials, clock, randomInt } = options
  const last: Partial<Record<Channel, { kind: SampleKind; body: Sample['body'] }>> = {}
  let log: readonly Played[] = []
  let round = 0
  let count = 0

  const post = (channel: Channel, body: Sample['body']) =>
    platform.post(urls[channel], body, options.signPosts ? credentials[channel] : undefined)

  async function note(
    channel: Channel,
    title: string,
    body: Sample['body'] | null,
    answering: Promise<CallbackAnswer>,
  ): Promise<Played> {
    const at = clock.now()
    const answer = await answering
    const played = { id: ++count, at, channel, title, body, answer }
    log = [played, ...log].slice(0, 100)
    options.onPlayed?.(played)
    return played
  }

  return {
    validate(channel, wrongToken = false) {
      const { corpId, token } = credentials[channel]
      const used = { corpId, token: wrongToken ? `${token}-not` : token }
      const title = wrongToken ? 'Validate URL with a wrong Token' : 'Validate URL'
      return note(channel, title, null, platform.validate(urls[channel], used))
    },
    async send(kind, to) {
      const mark = String(randomInt(100_000, 1_000_000))
      const sample = sampleOf(kind, { round: round++, mark, ...(to ? { to } : {}) })
      last[kind.channel] = { kind, body: sample.body }
      const answering = post(kind.channel, sample.body)
      return { sample, played: await note(kind.channel, kind.title, sample.body, answering) }
    },
    async again(channel) {
      const repeated = last[channel]
      if (!repeated) return null
      const { kind, body } = repeated
      return note(channel, `${kind.title}, the same again`, body, post(channel, body))
    },
    played: () => log,
    clear() {
      log = []
    },
  }
}
