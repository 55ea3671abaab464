import type { Channel, Purpose } from './message.ts'

/** The unit of a message's validity in the platform's parameters; also the parameter's name. */
export type ValidityUnit = 'hour' | 'minute'

export const VALIDITY_UNIT: Readonly<Record<Channel, ValidityUnit>> = { email: 'hour', sms: 'minute' }

/** A kind of message that there are words for: its purpose, and which parameters its words use. */
export interface MessageKind {
  /** Its name in code, templates, metrics and logs. */
  readonly name: string
  readonly channel: Channel
  readonly purpose: Purpose
  /** Parameters without which its words are not used. */
  readonly required: readonly string[]
  /** Parameters that its words mention when they are there. The validity is one wherever the contract lists it. */
  readonly optional: readonly string[]
  /** The parameter that is the link behind the button. */
  readonly linkParam?: string
  /** A message of this kind: for the sandbox, the gallery and tests. A mail without a subject has its heading for one. */
  readonly sample: { readonly subject?: string; readonly params: Readonly<Record<string, string>> }
}

/**
 * A kind of message that the platform sends by callback.
 * The contract's tables of types are the authority; the layouts printed beside them contradict it, so every other
 * key is ignored and nothing but `required` is insisted on.
 */
export interface CallbackKind extends MessageKind {
  /** The platform's number for it, unique within the channel. */
  readonly type: number
}
