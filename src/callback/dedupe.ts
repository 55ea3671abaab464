import type { Channel } from '../messages/message.ts'

/**
 * The fields that two callbacks must share to be the same message, in a fixed order: the contract has no message id, so
 * a retry of the platform is known by its content. Channel, corp_id, subject, plain text, plugin_id, and every
 * parameter with its name; the recipient is added per message. A number and its text are the same, as null, blank and
 * absent are.
 *
 * @param body a checked callback body.
 */
export function dedupeFields(
  channel: Channel,
  corpId: string,
  body: Readonly<Record<string, unknown>>,
): string[] {
  const { subject, plain_email, plain_sms, plugin_id } = body
  const fields = [channel, corpId, ...[subject, plain_email, plain_sms, plugin_id].map(textOf)]
  const params = body[channel === 'email' ? 'email_param' : 'sms_param'] as Readonly<Record<string, unknown>>
  for (const name of Object.keys(params).sort()) {
    const text = textOf(params[name])
    if (text !== '') fields.push(name, text)
  }
  return fields
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value.trim()
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}
