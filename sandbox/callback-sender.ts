import type { CallbackAnswer, CallbackClient, ChannelCredentials } from '../src/commands/callback-client.ts'
import type { ReaderLanguage } from '../src/language/sentence.ts'
import type { Channel } from '../src/messages/message.ts'
import type { Clock } from '../src/runtime/clock.ts'
import { createSampleCallback, type SampleCallback, type SampleKind } from './sample-callbacks.ts'

/** A callback that was sent to the service, and its answer. */
export interface SentCallback {
  /** Counts from 1. */
  readonly id: number
  /** ms since the epoch. */
  readonly at: number
  readonly channel: Channel
  readonly title: string
  /** The posted body; null for a validation. */
  readonly body: SampleCallback['body'] | null
  readonly answer: CallbackAnswer
}

export interface CallbackSenderOptions {
  readonly platform: CallbackClient
  /** The callback URLs, as pasted into the console. */
  readonly urls: Readonly<Record<Channel, string>>
  readonly credentials: Readonly<Record<Channel, ChannelCredentials>>
  /** Whether POSTs are signed like the GET; the contract leaves open whether the platform does. */
  readonly signPosts: boolean
  /** Of the samples; English unless given. */
  readonly language?: ReaderLanguage
  readonly clock: Clock
  /** A whole number from `low` to below `high`, like `crypto.randomInt`. */
  readonly randomInt: (low: number, high: number) => number
  readonly onSent?: (callback: SentCallback) => void
}

export interface CallbackSender {
  /** Validates the URL as the platform's console does. `wrongToken`: as somebody who does not know the Token would. */
  validate(channel: Channel, wrongToken?: boolean): Promise<SentCallback>
  /** Posts a callback of the kind, different from all before, in the next of the platform's layouts. */
  send(
    kind: SampleKind,
    to?: string,
  ): Promise<{ readonly callback: SentCallback; readonly sample: SampleCallback }>
  /** Posts the channel's last callback once more, unchanged; null when there is none. */
  resend(channel: Channel): Promise<SentCallback | null>
  /** The last 100, newest first. */
  sent(): readonly SentCallback[]
  /** Forgets what was sent. */
  clear(): void
}

/** Sends callbacks as the platform does, and remembers them with their answers. */
export function createCallbackSender(options: CallbackSenderOptions): CallbackSender {
  const { platform, urls, credentials, clock, randomInt, language = 'en' } = options
  const last: Partial<Record<Channel, { kind: SampleKind; body: SampleCallback['body'] }>> = {}
  let sent: readonly SentCallback[] = []
  let round = 0
  let count = 0

  const post = (channel: Channel, body: SampleCallback['body']) =>
    platform.post(urls[channel], body, options.signPosts ? credentials[channel] : undefined)

  async function remember(
    channel: Channel,
    title: string,
    body: SampleCallback['body'] | null,
    answering: Promise<CallbackAnswer>,
  ): Promise<SentCallback> {
    const at = clock.now()
    const answer = await answering
    const callback = { id: ++count, at, channel, title, body, answer }
    sent = [callback, ...sent].slice(0, 100)
    options.onSent?.(callback)
    return callback
  }

  return {
    validate(channel, wrongToken = false) {
      const { corpId, token } = credentials[channel]
      const used = { corpId, token: wrongToken ? `${token}-not` : token }
      const title = wrongToken ? 'Validate URL with a wrong Token' : 'Validate URL'
      return remember(channel, title, null, platform.validate(urls[channel], used))
    },
    async send(kind, to) {
      const mark = String(randomInt(100_000, 1_000_000))
      const sample = createSampleCallback(kind, { round: round++, mark, language, ...(to ? { to } : {}) })
      last[kind.channel] = { kind, body: sample.body }
      const answering = post(kind.channel, sample.body)
      return { sample, callback: await remember(kind.channel, kind.title, sample.body, answering) }
    },
    async resend(channel) {
      const previous = last[channel]
      if (!previous) return null
      const { kind, body } = previous
      return remember(channel, `${kind.title}, the same again`, body, post(channel, body))
    },
    sent: () => sent,
    clear() {
      sent = []
    },
  }
}
