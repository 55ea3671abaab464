import { trimBlanks } from '../messages/characters.ts'
import type { Channel } from '../messages/message.ts'
import { maskAddress, parseAddress } from './address.ts'
import { maskNumber, type PhoneVerdict } from './phone.ts'

/** One recipient that a message can be sent to. */
export interface Recipient {
  /** A bare address, or E.164. */
  readonly to: string
  readonly masked: string
  /** ISO 3166 code, SMS only. */
  readonly country?: string
}

/** The recipients in a `to`, and how many cannot be written to; each counts once, however often it is there. */
export interface Recipients {
  readonly valid: readonly Recipient[]
  readonly invalid: number
  /** Why the others cannot: `country` only when nothing else is wrong with any of them. */
  readonly why: 'recipient' | 'country'
}

/** Reads a `to`: split at commas, trimmed, without duplicates. */
export type ReadRecipients = (channel: Channel, to: string, areaCode: string | undefined) => Recipients

/**
 * @param parsePhone reads one number.
 * @param routedAddresses whether an address may have a local part that servers route by.
 */
export function createRecipientReader(
  parsePhone: (text: string, areaCode: string | undefined) => PhoneVerdict,
  routedAddresses = false,
): ReadRecipients {
  return (channel, to, areaCode) => {
    const valid = new Map<string, Recipient>()
    const invalid = new Set<string>()
    let why: 'recipient' | 'country' = 'country'
    for (const part of to.split(',')) {
      const trimmed = trimBlanks(part)
      // An empty place between two commas, or after the last one, is nobody.
      if (trimmed === '' || invalid.has(trimmed)) continue
      if (channel === 'email') {
        const address = parseAddress(trimmed, routedAddresses)
        if (address === null) {
          invalid.add(trimmed)
          why = 'recipient'
          continue
        }
        const same = address.toLowerCase()
        if (!valid.has(same)) valid.set(same, { to: address, masked: maskAddress(address) })
        continue
      }
      const verdict = parsePhone(trimmed, areaCode)
      if (verdict.ok) {
        const { number, country } = verdict
        if (!valid.has(number)) valid.set(number, { to: number, masked: maskNumber(number), country })
      } else {
        invalid.add(trimmed)
        if (verdict.why === 'recipient') why = 'recipient'
      }
    }
    if (invalid.size === 0) why = 'recipient'
    return { valid: [...valid.values()], invalid: invalid.size, why }
  }
}
