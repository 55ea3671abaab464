import type { Delivery } from '../delivery/port.ts'
import type { Emit } from '../events/events.ts'
import { newMessageId } from '../messages/id.ts'
import type { Interpretation } from '../messages/interpret.ts'
import type { Channel, NewMessage, Outgoing } from '../messages/message.ts'
import type { KeyedHashes } from '../outbox/encryption.ts'
import type { Acceptance, ChargesOf } from '../outbox/outbox.ts'
import type { Caller } from './authenticate.ts'
import type { CallbackBody } from './body.ts'
import type { Recipient } from './recipients.ts'

/** A message that can be accepted, and its finished bytes. */
export interface PreparedMessage {
  readonly acceptance: Acceptance
  readonly outgoing: Outgoing
}

export interface PrepareOptions {
  readonly render: (message: NewMessage, country: string | undefined) => Outgoing
  readonly keys: Pick<KeyedHashes, 'dedupeKey' | 'groupKey' | 'recipientHash'>
  readonly charges: ChargesOf
  readonly delivery: Pick<Delivery, 'reservePlace'>
  readonly emit: Emit
}

/** A callback whose sender, body and recipients are right. */
export interface CheckedCallback {
  readonly caller: Caller
  readonly body: CallbackBody
  readonly interpreted: Extract<Interpretation, { ok: true }>
  readonly recipients: readonly Recipient[]
  /** ms since the epoch. */
  readonly arrivedAt: number
}

/**
 * Makes one message per recipient, rendered, and reserves its place in memory.
 * @returns null when one cannot be rendered: it is refused before anything is reserved.
 */
export function prepareMessages(
  { render, keys, charges, delivery, emit }: PrepareOptions,
  { caller, body, interpreted, recipients, arrivedAt }: CheckedCallback,
): readonly PreparedMessage[] | null {
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
      expiresAt: arrivedAt + interpreted.validityMs,
    }
    try {
      rendered.push({ message, outgoing: render(message, country), country })
    } catch (error) {
      const fault = error instanceof Error ? error : new Error('unknown fault')
      emit({ type: 'unrenderable', channel, kind, error: fault })
      return null
    }
  }
  return rendered.map(({ message, outgoing, country }) => {
    const { recipient } = message
    const acceptance: Acceptance = {
      message,
      dedupeKey: keys.dedupeKey([...fields, recipient]),
      groupKey:
        purpose === 'code' ? keys.groupKey(channel, recipient, kind, content.pluginId ?? '') : undefined,
      recipientHash: keys.recipientHash(channel, recipient),
      charges: charges(message, country, outgoing),
      lease: delivery.reservePlace(channel, purpose),
    }
    return { acceptance, outgoing }
  })
}

/**
 * Lists the fields that two callbacks must share to be the same message, in a fixed order: the contract has no message id, so a
 * retry of the platform is recognized by its content. They are channel, corp_id, subject, plain text, plugin_id, and every
 * parameter with its name; the recipient is added for each message. A number equals its text, and null, blank and absent are
 * equal.
 *
 * @param body a checked callback body.
 */
function dedupeFields(channel: Channel, corpId: string, body: Readonly<Record<string, unknown>>): string[] {
  const { subject, plain_email, plain_sms, plugin_id } = body
  const fields = [channel, corpId, ...[subject, plain_email, plain_sms, plugin_id].map(dedupeTextOf)]
  const params = body[channel === 'email' ? 'email_param' : 'sms_param'] as Readonly<Record<string, unknown>>
  for (const name of Object.keys(params).sort()) {
    const text = dedupeTextOf(params[name])
    if (text !== '') fields.push(name, text)
  }
  return fields
}

function dedupeTextOf(value: unknown): string {
  if (typeof value === 'string') return value.trim()
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}
