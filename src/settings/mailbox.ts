import { domainToASCII } from 'node:url'
import type { ParsedSetting } from './parsed-setting.ts'

/** A sender as mail headers show it. */
export interface Mailbox {
  /** Display name; absent when only an address was given. */
  readonly name?: string
  /** `local@domain`, the domain in ASCII. */
  readonly address: string
}

const LOCAL_PART = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/

function bareAddress(text: string): string | null {
  const at = text.lastIndexOf('@')
  const local = text.slice(0, at)
  const domain = domainToASCII(text.slice(at + 1))
  if (at < 1 || local.length > 64 || !LOCAL_PART.test(local)) return null
  if (!/^[a-z0-9.-]+$/.test(domain) || domain.length > 253) return null
  return `${local}@${domain}`
}

/** A bare address: `bounces@example.com` (RFC 5321 dot-string and domain). */
export function readAddress(text: string): ParsedSetting<string> {
  const address = bareAddress(text.trim())
  return address === null ? { fault: 'must be one address such as bounces@example.com' } : { value: address }
}

/** `Example <no-reply@example.com>`, `"Example, Inc." <…>` or a bare address. */
export function readMailbox(text: string): ParsedSetting<Mailbox> {
  const match = /^(?:(?:"([^"]*)"|([^<>"]*?))\s*<([^<>]+)>|([^<>\s]+))$/.exec(text.trim())
  const address = bareAddress((match?.[3] ?? match?.[4] ?? '').trim())
  const name = (match?.[1] ?? match?.[2] ?? '').trim()
  if (address === null || /\p{Cc}/u.test(name))
    return { fault: 'must be one sender such as Example <no-reply@example.com>' }
  return { value: name === '' ? { address } : { name, address } }
}
