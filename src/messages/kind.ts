import type { Channel, Purpose } from './message.ts'

/** The unit of a message's life in the platform's parameters; also the parameter's name. */
export type ValidityUnit = 'hour' | 'minute'

/** A kind of message that there are words for: what it is for and which parameters its words need. */
export interface MessageKind {
  /** Its name in code, templates, metrics and logs. */
  readonly name: string
  readonly channel: Channel
  readonly purpose: Purpose
  /** Without these our words cannot be said. */
  readonly needed: readonly string[]
  /** What the words mention when it is there. The life unit is one of them wherever the contract lists it. */
  readonly also: readonly string[]
  /** Which parameter is the link behind the button. */
  readonly link?: string
  /** Which parameter says how long it is valid, in its own unit. */
  readonly life: ValidityUnit
  /** A message of this kind: for the sandbox, the gallery and tests. A mail without a subject has its heading for one. */
  readonly sample: { readonly subject?: string; readonly params: Readonly<Record<string, string>> }
}

/**
 * One kind of message that the platform sends by callback.
 * The contract's tables of types are the authority; the layouts printed beside them contradict it, so every other
 * key is ignored and nothing but `needed` is insisted on.
 */
export interface Kind extends MessageKind {
  /** The platform's number for it, unique within the channel. */
  readonly type: number
}
