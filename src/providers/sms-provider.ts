import type { Words } from '../language/sentence.ts'
import type { Outgoing, OutgoingSms } from '../messages/message.ts'
import type { Clock } from '../runtime/clock.ts'
import type { LookUp, Outcome, Provider, ScopeNames } from './provider.ts'
import { notBegun } from './provider.ts'

/** One carrier's way to send a message. `Parcel` is the form in which it is sent. */
export interface SmsCarrier<Parcel extends object>
  extends Omit<Provider, 'channel' | 'fits' | 'scopesOf' | 'send' | 'lookUp'> {
  readonly clock: Clock
  /**
   * Puts a message into its template, or into the request.
   * @returns why it cannot be, in words that tell nothing of what it says
   * @throws what `text()` of the message throws, when the carrier sends text
   */
  pack(message: OutgoingSms): Parcel | { readonly why: Words }
  /** The template and the sender of a message, as far as the carrier has them. */
  namesOf(parcel: Parcel, message: OutgoingSms): Omit<ScopeNames, 'country'>
  send(message: OutgoingSms, parcel: Parcel, signal: AbortSignal): Promise<Outcome>
  /** Absent: it cannot be asked. */
  lookUp?(message: OutgoingSms, since: number, signal: AbortSignal): Promise<LookUp>
}

/** A carrier of SMS as a provider: nothing is sent that is late, or that the carrier cannot put into its form. */
export function createSmsProvider<Parcel extends object>(carrier: SmsCarrier<Parcel>): Provider {
  const { clock, pack, namesOf, send, lookUp, ...provider } = carrier
  const { name } = carrier
  let closed = false
  return {
    ...provider,
    channel: 'sms',
    fits(message) {
      const parcel = pack(smsOf(message, name))
      return 'why' in parcel ? parcel.why : null
    },
    scopesOf(message) {
      const sms = smsOf(message, name)
      const parcel = pack(sms)
      return { ...('why' in parcel ? {} : namesOf(parcel, sms)), country: sms.country }
    },
    async send(message, signal) {
      const sms = smsOf(message, name)
      if (closed) return notBegun('closed', 'the provider was closed')
      if (message.expiresAt <= clock.now()) return notBegun('expired', 'its validity is over')
      const parcel = pack(sms)
      if ('why' in parcel)
        return { is: 'retry', whose: 'ours', code: 'no-template', reply: parcel.why, untouched: true }
      return send(sms, parcel, signal)
    },
    ...(lookUp && { lookUp: (message, since, signal) => lookUp(smsOf(message, name), since, signal) }),
    async close() {
      closed = true
      await carrier.close()
    },
  }
}

/** @throws TypeError it is no SMS, which is a bug */
function smsOf(message: Outgoing, carrier: string): OutgoingSms {
  if (message.channel !== 'sms') throw new TypeError(`${carrier} sends SMS, not ${message.channel}`)
  return message
}
