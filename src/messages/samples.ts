import { type ReaderLanguage, Sentence } from '../language/sentence.ts'
import { type MessageKind, messageKinds, PLAIN_KIND } from './kinds.ts'
import type { Channel, Content, NewMessage } from './message.ts'

/** A message that could have come from the platform: for the validation of templates, the command `preview` and the console. */
export interface Sample {
  readonly channel: Channel
  /** Name of the kind, or `plain`. */
  readonly name: string
  readonly kind: MessageKind | undefined
  readonly content: Content
}

const PLAIN: Readonly<Record<Channel, Content>> = {
  email: {
    params: {},
    subject: 'Your maintenance window',
    plain:
      'Hello,\n\nyour devices will be updated on Sunday between 02:00 and 04:00. Nothing is needed from you.\n\n' +
      'Details: https://console.example.com/#!notices/81?lang=en&ref=mail',
    words: 'plain',
  },
  sms: {
    params: {},
    plain: 'Your devices will be updated on Sunday between 02:00 and 04:00.',
    words: 'plain',
  },
}

/** One sample of every kind of both channels, and of plain text. */
export const samples: readonly Sample[] = [
  ...messageKinds.map(kind => sampleOf(kind)),
  ...(['email', 'sms'] as const).map(channel => ({
    channel,
    name: PLAIN_KIND,
    kind: undefined,
    content: PLAIN[channel],
  })),
]

function sampleOf(kind: MessageKind): Sample {
  const { subject, params } = kind.sample
  const content: Content = { params, words: 'ours', ...(subject !== undefined && { subject }) }
  return { channel: kind.channel, name: kind.name, kind, content }
}

/** What a kind's sample says, in a language: subject, names and sentences; what is not in the words is the same in both. */
export function sampleIn(
  language: ReaderLanguage,
  { sample }: Pick<MessageKind, 'sample'>,
): MessageKind['sample'] {
  const tell = (text: string) => new Sentence(text).in(language)
  const params = Object.entries(sample.params).map(([name, value]) => [name, tell(value)])
  return { subject: sample.subject && tell(sample.subject), params: Object.fromEntries(params) }
}

/** The sample with its kind's required parameters only. */
export function withRequiredOnly(sample: Sample): Sample {
  const required = Object.entries(sample.content.params).filter(([key]) =>
    sample.kind?.required.includes(key),
  )
  return { ...sample, content: { ...sample.content, params: Object.fromEntries(required) } }
}

/** A sample as a message on its way, to somebody who does not exist (RFC 2606, ITU-T E.164 tests in +1 555 01xx). */
export function sampleMessage(sample: Sample, locale: string): NewMessage {
  const arrivedAt = Date.UTC(2026, 10, 20, 14, 32, 5)
  const recipient = sample.channel === 'email' ? 'lin.wei@example.com' : '+12025550123'
  return {
    id: '00000000000000000000000000000000',
    channel: sample.channel,
    kind: sample.name,
    purpose: sample.kind?.purpose ?? 'plain',
    recipient,
    masked: recipient,
    destination: '',
    content: { ...sample.content, locale },
    arrivedAt,
    expiresAt: arrivedAt + 600_000,
  }
}
