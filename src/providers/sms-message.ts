import type { Outgoing, OutgoingSms } from '../messages/message.ts'

/** @param carrier that was handed the message. @throws TypeError it is no SMS, which is a bug */
export function smsOf(message: Outgoing, carrier: string): OutgoingSms {
  if (message.channel !== 'sms') throw new TypeError(`${carrier} sends SMS, not ${message.channel}`)
  return message
}
