import type { Words } from '../language/sentence.ts'
import type { Outgoing, OutgoingSms } from '../messages/message.ts'
import type { Clock } from '../runtime/clock.ts'
import type { LookUp, Outcome, Provider, ScopeNames, Verification } from './provider.ts'
import { notBegun } from './provider.ts'

/** One carrier's way to send a message. `Parcel` is the form in which it is sent. */
export interface SmsCarrier<Parcel extends object> {
  readonly name: string
  readonly concurrency: number
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
  probe(): Promise<'up' | 'down'>
  verify(): Promise<Verification>
  close(): Promise<void>
}

/** A carrier of SMS as a provider: nothing is sent that is late, or that the carrier cannot put into its form. */
export function createSmsProvider<Parcel extends object>(carrier: SmsCarrier<Parcel>): Provider {
  const { name, concurrency, clock, lookUp } = carrier
  let closed = false
  return {
    name,
    channel: 'sms',
    concurrency,
    fits(message) {
      const parcel = carrier.pack(smsOf(message, name))
      return 'why' in parcel ? parcel.why : null
    },
    scopesOf(message) {
      const sms = smsOf(message, name)
      const parcel = carrier.pack(sms)
      return { ...('why' in parcel ? {} : carrier.namesOf(parcel, sms)), country: sms.country }
    },
    async send(message, signal) {
      const sms = smsOf(message, name)
      if (closed) return notBegun('closed', 'the provider was closed')
      if (message.expiresAt <= clock.now()) return notBegun('expired', 'its validity is over')
      const parcel = carrier.pack(sms)
      if ('why' in parcel)
        return { is: 'retry', whose: 'ours', code: 'no-template', reply: parcel.why, untouched: true }
      return carrier.send(sms, parcel, signal)
    },
    ...(lookUp && { lookUp: (message, since, signal) => lookUp(smsOf(message, name), since, signal) }),
    probe: () => carrier.probe(),
    verify: () => carrier.verify(),
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
