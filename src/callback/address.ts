import { domainToASCII, domainToUnicode } from 'node:url'
import { trimBlanks } from './trim.ts'

/** Octets of the local part and of the whole path without brackets (RFC 5321 4.5.3.1.1, 4.5.3.1.3). */
const MAX_LOCAL = 64
const MAX_ADDRESS = 254
/** RFC 5322 3.2.3, dot-atom. ASCII only: a server without SMTPUTF8 would refuse anything else. */
const DOT_ATOM = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Reads one bare address, strictly, in front of nodemailer, whose own parser is made for people's headers and lets
 * groups, routes, quotes and look-alike domains through.
 *
 * @param text one address, already split from its list; spaces and tabs around it are ignored.
 * @returns the address with its domain as lower-case A-labels (UTS 46), or null when it is not one. A domain that
 *   UTS 46 would map to something that reads differently (`ⅇvil.test`, full-width dots) is refused, not mapped.
 */
export function parseAddress(text: string): string | null {
  const trimmed = trimBlanks(text)
  const at = trimmed.lastIndexOf('@')
  if (at < 1 || trimmed.length > MAX_ADDRESS) return null
  const local = trimmed.slice(0, at)
  if (local.length > MAX_LOCAL || !DOT_ATOM.test(local)) return null
  const domain = parseDomain(trimmed.slice(at + 1))
  if (domain === null) return null
  const address = `${local}@${domain}`
  return address.length > MAX_ADDRESS ? null : address
}

function parseDomain(text: string): string | null {
  const lower = text.normalize('NFC').toLowerCase()
  let domain = lower
  // eslint-disable-next-line no-control-regex -- anything outside ASCII goes through UTS 46
  if (/[^\x00-\x7f]/.test(lower)) {
    domain = domainToASCII(lower)
    if (domain === '' || domainToUnicode(domain) !== lower) return null
  } else if (/(?:^|\.)xn--/.test(lower) && domainToASCII(domainToUnicode(lower)) !== lower) {
    return null
  }
  const labels = domain.split('.')
  if (labels.length < 2 || domain.length > 253) return null
  if (!labels.every(label => LABEL.test(label))) return null
  // A last label of digits only is an IPv4 address or nonsense, never a top-level domain (RFC 3696 2).
  return /^\d+$/.test(labels[labels.length - 1] ?? '') ? null : domain
}

/**
 * @param address a bare address.
 * @returns the address as logs and pages may show it: `a***@example.com`.
 */
export function maskAddress(address: string): string {
  return `${address.slice(0, 1)}***${address.slice(address.lastIndexOf('@'))}`
}
