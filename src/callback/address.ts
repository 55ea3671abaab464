import { Buffer } from 'node:buffer'
import { domainToASCII, domainToUnicode } from 'node:url'
import { trimBlanks } from '../messages/characters.ts'

/** Octets of the local part and of the whole path without brackets (RFC 5321 4.5.3.1.1, 4.5.3.1.3). */
const MAX_LOCAL = 64
const MAX_ADDRESS = 254
/**
 * RFC 5322 3.2.3, dot-atom, with the letters, digits and marks of all scripts (RFC 6531 3.3), less what nobody would see.
 * It has no `%` and no `!`: many servers route by them, so that `victim%example.com@…` and `example.com!victim@…` are further
 * names of the mailbox victim@example.com, each with quotas of its own.
 */
const DOT_ATOM = dotAtom("#$&'*+/=?^_`{|}~-")
/** Characters that an operator may allow who knows that no server on the way routes by them. */
const ROUTED = dotAtom("%!#$&'*+/=?^_`{|}~-")
/**
 * The beginning of an encoded word (RFC 2047), which is no word in an address; but some libraries decode it there, so that
 * `=?utf-8?q?victim=40example.com=3e?=@…` may end at another mailbox behind them.
 */
const ENCODED_WORD = /=\?[^?]*\?[bq]\?/i
/** RFC 5321 4.1.2, quoted-string, printable ASCII without quoted pairs, brackets and the comma that splits a list. */
const QUOTED = /^"[ !#-+\--;=?-[\]-~]*"$/
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/u

function dotAtom(signs: string): RegExp {
  const atom = `[\\p{L}\\p{M}\\p{N}${signs.replace(/[\^-]/g, String.raw`\$&`)}]+`
  return new RegExp(`^${atom}(?:\\.${atom})*$`, 'u')
}

/**
 * Reads one bare address, strictly, in front of nodemailer, whose own parser is made for people's headers and lets
 * groups, routes, quotes and look-alike domains through.
 *
 * @param text one address, already split from its list; spaces and tabs around it are ignored.
 * @param routed whether a local part may be quoted, or have `%` or `!` in it.
 * @returns the address with its domain as lower-case A-labels (UTS 46), or null when it is not one. A domain that
 *   UTS 46 would map to something that reads differently (`ⅇvil.test`, full-width dots) is refused, not mapped.
 */
export function parseAddress(text: string, routed = false): string | null {
  const trimmed = trimBlanks(text)
  const at = trimmed.lastIndexOf('@')
  if (at < 1 || Buffer.byteLength(trimmed) > MAX_ADDRESS) return null
  const local = trimmed.slice(0, at)
  if (Buffer.byteLength(local) > MAX_LOCAL || !isLocalPart(local, routed)) return null
  const domain = parseDomain(trimmed.slice(at + 1))
  if (domain === null) return null
  const address = `${local}@${domain}`
  return Buffer.byteLength(address) > MAX_ADDRESS ? null : address
}

function isLocalPart(local: string, routed: boolean): boolean {
  if (INVISIBLE.test(local)) return false
  if (!routed && ENCODED_WORD.test(local)) return false
  return DOT_ATOM.test(local) || (routed && (ROUTED.test(local) || QUOTED.test(local)))
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

/** Mail providers that document which addresses lead to the same mailbox, by domain. */
const PROVIDERS = new Map([
  // https://support.google.com/mail/answer/7436150
  ...providerOf(['gmail.com', 'googlemail.com'], local => local.replaceAll('.', '')),
  // https://proton.me/support/addresses-and-aliases
  ...providerOf(['proton.me', 'protonmail.com', 'pm.me'], local => local.replace(/[._-]/g, '')),
  // https://yandex.com/support/id/authorization/email.html; a dot and a hyphen in a user name are the same.
  ...providerOf(['yandex.ru', 'ya.ru', 'yandex.com', 'yandex.by', 'yandex.kz', 'yandex.ua'], local =>
    local.replaceAll('.', '-'),
  ),
  // https://support.apple.com/en-us/102540
  ...providerOf(['icloud.com', 'me.com', 'mac.com'], local => local),
])

interface MailProvider {
  readonly domain: string
  readonly canonical: (local: string) => string
}

function providerOf(
  [domain = '', ...others]: readonly string[],
  canonical: MailProvider['canonical'],
): readonly [string, MailProvider][] {
  return [domain, ...others].map(each => [each, { domain, canonical }])
}

/**
 * Names the mailbox behind an address, for quotas: in lower case, in one form of its letters, without a plus part, and without the
 * characters that its provider ignores. Mail never goes to this name: it may belong to nobody.
 * @param address a bare address.
 */
export function mailboxOf(address: string): string {
  const at = address.lastIndexOf('@')
  const domain = address.slice(at + 1).toLowerCase()
  const local = address
    .slice(0, at)
    .normalize('NFKC')
    .toLowerCase()
    // A quoted text is the same without its quotes (RFC 5321, 4.1.2).
    .replace(/^"(.*)"$/, '$1')
    .replace(/(?<=.)\+.*$/, '')
  const provider = PROVIDERS.get(domain)
  return provider === undefined ? `${local}@${domain}` : `${provider.canonical(local)}@${provider.domain}`
}

/**
 * @param address a bare address.
 * @returns the address as logs and pages may show it: `a***@example.com`.
 */
export function maskAddress(address: string): string {
  const [first = ''] = address
  return `${first}***${address.slice(address.lastIndexOf('@'))}`
}
