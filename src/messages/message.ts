import { randomUUID } from 'node:crypto'

/**
 * The forms of a message on its way through the service: every other part speaks in these terms.
 */

export type Channel = 'email' | 'sms'

/**
 * The purpose of a message. Decides its default life, how it is retried, whether a newer one
 * supersedes it and which quota counts it.
 *
 * - `code`  somebody waits in front of a page for it
 * - `link`  activation, reset and recovery links
 * - `file`  a link to a file
 * - `alarm` a device needs somebody
 * - `plain` a type that this version does not know, delivered as the platform's own plain text
 */
export type Purpose = 'code' | 'link' | 'file' | 'alarm' | 'plain'

/**
 * What a fault concerns, from the narrowest to the widest: nothing outside of it is slowed by it. `sender` is who it is from: a
 * number, a signature, MAIL FROM. `domain`: where mailboxes are. `account`: the login, the money, the rate. `transport`: the way to the provider and its machines.
 */
export type FaultScope =
  | 'message'
  | 'recipient'
  | 'domain'
  | 'country'
  | 'template'
  | 'sender'
  | 'account'
  | 'transport'

/** The data to render the message from, now or again after a restart. Encrypted at rest, removed when it is final. */
export interface Content {
  /** The kind's parameters, as text, only those that its schema names. Absent, blank and null ones are left out. */
  readonly params: Readonly<Record<string, string>>
  /** The platform's subject; e-mail only. */
  readonly subject?: string
  /** `plain_email` or `plain_sms`, when the platform sent one. */
  readonly plain?: string
  /** `plain`: say `plain` in our layout instead of the kind's own words. */
  readonly words: 'ours' | 'plain'
  /** Which sender and signature to use; SMS only. */
  readonly pluginId?: string
  /** BCP 47 tag of the words, when it is not the service's default. */
  readonly locale?: string
  /** It is the service's own, sent to prove that codes arrive: neither ONLY_TO nor a quota holds it. */
  readonly isProbe?: true
}

/** One message to one recipient, validated and addressed, before anything is stored. */
export interface NewMessage {
  /** 32 lower-case hex digits, see newMessageId. Ties log lines, console, Message-ID and provider's id together. */
  readonly id: string
  readonly channel: Channel
  /** Name of the kind, such as `registration-activation`, or `plain` for an unknown type. */
  readonly kind: string
  readonly purpose: Purpose
  /** A bare address (`local@a-label.domain`) or an E.164 number (`+8613800138000`). */
  readonly recipient: string
  /** The recipient as logs and pages may show it: `a***@example.com`, `+86*******8000`. */
  readonly masked: string
  /** Names where it goes, as a keyed hash: messages with the same one share places at their provider. Empty: a version before knew none. */
  readonly destination: string
  readonly content: Content
  /** The time at which it came in, ms since the epoch. It is the mail's Date, too. */
  readonly arrivedAt: number
  /** Not handed to a provider from this moment on, ms since the epoch. */
  readonly expiresAt: number
}

/** A message as its provider gets it: a finished mail, or an SMS as data. Lives in memory only. */
export type Outgoing = OutgoingMail | OutgoingSms

/** The header of a mail that has its id, too: some servers put a Message-ID of their own in the place of ours. */
export const ID_HEADER = 'X-Callback-Courier'

export interface OutgoingMail {
  readonly channel: 'email'
  readonly id: string
  /** Envelope: one bare address. */
  readonly to: string
  /** The finished RFC 5322 message, CRLF line ends, Message-ID and Date included, without DKIM. */
  readonly raw: Buffer
  /** What must not come back in what its server replies. */
  readonly content: Content
  readonly expiresAt: number
}

export interface OutgoingSms {
  readonly channel: 'sms'
  readonly id: string
  /** E.164. */
  readonly to: string
  /** Country of the number, ISO 3166-1 alpha-2 in upper case; `ZZ` when it has none. */
  readonly country: string
  /** Name of the kind, or `plain` for an unknown type. */
  readonly kind: string
  /**
   * The values for a template: the parameters of the message, and of a code the whole minutes that it is valid for under
   * `minute`, whether the platform named them or not.
   */
  readonly params: Readonly<Record<string, string>>
  /** Language that it is to be said in, BCP 47. */
  readonly locale: string
  readonly pluginId?: string
  /** What must not come back in what its carrier replies. */
  readonly content: Content
  readonly expiresAt: number
  /**
   * The finished text, for a carrier that sends text: put into words at the first call, never for one with templates.
   * @throws Error when it cannot be put into words, or comes out too long
   */
  readonly text: () => string
  /** Who the text is from; the provider's default when absent. */
  readonly sender?: SmsSender
}

/** A number or alphanumeric sender id, or a messaging service. */
export type SmsSender = { readonly from: string } | { readonly messagingServiceSid: string }

/** The sender that a plugin_id chooses; its parts may be left out. */
export interface PluginSender {
  /** Stands in the SMS where the brand's name would. */
  readonly signature?: string
  /** The registered signature at a carrier, by its name. */
  readonly signatures?: Readonly<Record<string, string>>
  readonly from?: string
  readonly messagingServiceSid?: string
}

/**
 * A new message's id: 32 lower-case hex digits, the moment first (12 digits of ms since the epoch), then 74 random bits.
 * Ids sort by arrival, so that a store's index of them grows at its end instead of everywhere.
 * @param now ms since the epoch.
 */
export function newMessageId(now: number): string {
  return now.toString(16).padStart(12, '0') + randomUUID().replaceAll('-', '').slice(12)
}
