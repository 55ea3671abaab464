import { newMessageId } from '../messages/id.ts'
import type { Interpretation } from '../messages/interpret.ts'
import type { Channel, NewMessage, Outgoing } from '../messages/message.ts'
import type { Acceptance, Charge, Lease } from '../outbox/outbox.ts'
import type { Caller } from './authenticate.ts'
import type { CallbackBody } from './body.ts'
import { dedupeFields } from './dedupe.ts'
import type { Recipient } from './recipients.ts'

/** A message that can be accepted, and its finished bytes. */
export interface Prepared {
  readonly acceptance: Acceptance
  readonly outgoing: Outgoing
}

export interface PreparerOptions {
  readonly render: (message: NewMessage) => Outgoing
  readonly keys: {
    /** HMAC that names a message's twins. */
    twin(fields: readonly string[]): string
    /** HMAC that names the group within which a newer code supersedes older ones. */
    group(channel: Channel, recipient: string, kind: string, pluginId: string): string
    recipient(channel: Channel, recipient: string): string
  }
  readonly charges: (message: NewMessage, country: string | undefined) => readonly Charge[]
  /** A place in memory, for a message that is handed over at once. */
  readonly reserve: (message: NewMessage) => Lease | undefined
  readonly observer: PreparerObserver
}

/** What preparing tells whoever counts and logs. */
export interface PreparerObserver {
  unrenderable(event: { readonly channel: Channel; readonly kind: string; readonly error: Error }): void
}

/** What a callback is prepared from. */
export interface CheckedCallback {
  readonly caller: Caller
  readonly body: CallbackBody
  readonly interpreted: Extract<Interpretation, { ok: true }>
  readonly recipients: readonly Recipient[]
  /** ms since the epoch. */
  readonly arrivedAt: number
}

/**
 * Makes one message per recipient, rendered: what cannot be put into words is refused before it is accepted.
 * Null when it cannot; then nothing is reserved.
 */
export function createPreparer(
  options: PreparerOptions,
): (reading: CheckedCallback) => readonly Prepared[] | null {
  const { render, keys, charges, reserve, observer } = options

  return ({ caller, body, interpreted, recipients, arrivedAt }) => {
    const { channel, corpId } = caller
    const { kind, purpose, content } = interpreted
    const fields = dedupeFields(channel, corpId, body)
    const rendered: { message: NewMessage; outgoing: Outgoing; country: string | undefined }[] = []
    for (const { to, masked, country } of recipients) {
      const message: NewMessage = {
        id: newMessageId(arrivedAt),
        channel,
        kind,
        purpose,
        recipient: to,
        masked,
        content,
        arrivedAt,
        expiresAt: arrivedAt + interpreted.lifeMs,
      }
      try {
        rendered.push({ message, outgoing: render(message), country })
      } catch (error) {
        const fault = error instanceof Error ? error : new Error('unknown fault')
        observer.unrenderable({ channel, kind, error: fault })
        return null
      }
    }
    return rendered.map(({ message, outgoing, country }) => {
      const { recipient } = message
      const groupKey =
        purpose === 'code' ? keys.group(channel, recipient, kind, content.pluginId ?? '') : undefined
      const acceptance: Acceptance = {
        message,
        dedupeKey: keys.twin([...fields, recipient]),
        recipientHash: keys.recipient(channel, recipient),
        charges: charges(message, country),
        ...(groupKey === undefined ? {} : { groupKey }),
      }
      const lease = reserve(message)
      return { acceptance: lease === undefined ? acceptance : { ...acceptance, lease }, outgoing }
    })
  }
}
