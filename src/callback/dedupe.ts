import type { Channel } from '../messages/message.ts'

/**
 * What makes two callbacks the same message, in a fixed order: the contract has no message id, so a retry of the
 * platform is known by saying the same. Channel, corp_id, type and every parameter, subject, plain text, plugin_id;
 * the recipient is added per message. Numbers and their text are the same, as null, blank and absent are.
 *
 * @param body a checked callback body.
 */
export function dedupeFields(
  channel: Channel,
  corpId: string,
  body: Readonly<Record<string, unknown>>,
): string[] {
  const params = body[channel === 'email' ? 'email_param' : 'sms_param']
  const fields = [channel, corpId]
  for (const key of ['subject', 'plain_email', 'plain_sms', 'plugin_id']) fields.push(scalar(body[key]))
  if (typeof params === 'object' && params !== null) {
    for (const [key, value] of Object.entries(params).sort(([a], [b]) => (a < b ? -1 : 1))) {
      const text = scalar(value)
      if (text !== '') fields.push(key, text)
    }
  }
  return fields
}

function scalar(value: unknown): string {
  if (typeof value === 'string') return value.trim()
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}
