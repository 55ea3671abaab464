import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { say, type Words } from '../language/sentence.ts'
import type { Channel } from '../messages/message.ts'
import { QUOTA_LIST, QUOTAS, type QuotaLimits, type QuotaName } from '../messages/quotas.ts'
import { type ParsedSetting, splitList } from './setting.ts'

const HOST_NAME = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

export function readSwitch(text: string): ParsedSetting<boolean> {
  const word = text.trim().toLowerCase()
  if (['on', 'true', 'yes', '1'].includes(word)) return { value: true }
  if (['off', 'false', 'no', '0'].includes(word)) return { value: false }
  return { fault: 'must be on or off' }
}

/** Networks in CIDR notation and single addresses, IPv4 and IPv6, as they were written. */
export function readNetworks(text: string): ParsedSetting<readonly string[]> {
  const networks = splitList(text)
  if (networks.every(isNetwork)) return { value: networks }
  return { fault: 'must be a list of networks such as 203.0.113.0/24, 2001:db8::/32 or single addresses' }
}

function isNetwork(item: string): boolean {
  const [address = '', length, ...more] = item.split('/')
  const version = isIP(address)
  if (version === 0 || address.includes('%') || more.length > 0) return false
  return length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= (version === 4 ? 32 : 128))
}

export function readHosts(text: string): ParsedSetting<readonly string[]> {
  const hosts = splitList(text).map(host => host.toLowerCase())
  if (hosts.every(host => HOST_NAME.test(host.replace(/^\*\./, '')))) return { value: hosts }
  return {
    fault: 'must be a list of host names such as www.example.com, without https:// and without a path',
  }
}

export function readDomain(text: string): ParsedSetting<string> {
  const domain = text.trim().toLowerCase()
  if (domain.includes('.') && HOST_NAME.test(domain)) return { value: domain }
  return { fault: 'must be a host name such as www.example.com, without https:// and without a path' }
}

/** `DKIM_NAME`: selector and domain, from the name under which the public key stands in the DNS. */
export function readDkimName(
  text: string,
): ParsedSetting<{ readonly selector: string; readonly domain: string }> {
  const [, selector, domain = ''] =
    /^([A-Za-z0-9](?:[A-Za-z0-9.-]{0,61}[A-Za-z0-9])?)\._domainkey\.(.+)$/.exec(text.trim()) ?? []
  const read = readDomain(domain)
  return selector === undefined || 'fault' in read
    ? { fault: 'must be a name such as courier._domainkey.example.com' }
    : { value: { selector, domain: read.value } }
}

/** A list of channels. */
export function readChannels(text: string): ParsedSetting<ReadonlySet<Channel>> {
  const channels = splitList(text)
  return channels.every(each => each === 'email' || each === 'sms')
    ? { value: new Set(channels) }
    : { fault: 'must be email, sms or both' }
}

/** Secrets parted by spaces or line ends. */
export function readSecrets(text: string): ParsedSetting<readonly string[]> {
  const secrets = text.trim().split(/\s+/)
  return secrets.every(secret => secret.length >= 22)
    ? { value: secrets }
    : { fault: 'must be secrets of at least 22 characters each, parted by spaces' }
}

/** What a key is of: a channel's URL as it is, or as it was. */
export type KeyPlace = 'email' | 'sms' | 'email-previous' | 'sms-previous'

/**
 * Reads entries of a name and a value, each name once; the same entry may stand twice.
 * @param form has both as groups. @returns null when an entry has another form, or a name two values
 */
function readEntries(items: readonly string[], form: RegExp): ReadonlyMap<string, string> | null {
  const entries = new Map<string, string>()
  for (const item of items.filter(each => each !== '')) {
    const [, name, value] = form.exec(item) ?? []
    if (name === undefined || value === undefined || (entries.get(name) ?? value) !== value) return null
    entries.set(name, value)
  }
  return entries
}

/** `CALLBACK_KEYS`: keys by their places, from `place:key`. */
export function readCallbackKeys(text: string): ParsedSetting<ReadonlyMap<KeyPlace, string>> {
  const keys = readEntries(text.split(/\s+/), /^((?:email|sms)(?:-previous)?):([A-Za-z0-9._~-]{22,128})$/)
  return keys === null
    ? {
        fault:
          'must be email:KEY or sms:KEY, or both with a space between them; a key has 22 to 128 characters, each a letter, a digit or one of . _ ~ -',
      }
    : { value: keys as ReadonlyMap<KeyPlace, string> }
}

/** The parts of `QUOTAS`, each a quota with its usual limit. @param meanings what each counts */
export function partsOfQuotas(meanings: Readonly<Record<QuotaName, Words>>): Readonly<Record<string, Words>> {
  return Object.fromEntries(
    QUOTA_LIST.map(({ name, usual }) => [`${name}=${usual || 'off'}`, meanings[name]]),
  )
}

/** `QUOTAS`: limits by name, from `name=limit`; `off` is none, and so is 0, which is a fault beside (`listBorneFaults`). */
export function readQuotas(text: string): ParsedSetting<QuotaLimits> {
  const limits = readEntries(splitList(text.toLowerCase()), /^([a-z0-9-]+)=(off|(?!0+$)\d{1,9})$/)
  if (limits === null || ![...limits.keys()].every(name => Object.hasOwn(QUOTAS, name)))
    return {
      fault: say(
        'must be quotas such as sms-day=10000 or sms-day=off, each once, a number from 1 to 999999999; there are {names}',
        { names: Object.keys(QUOTAS).join(', ') },
      ),
    }
  const read = [...limits].map(([name, limit]) => [name, limit === 'off' ? 0 : Number(limit)])
  const usual = QUOTA_LIST.map(each => [each.name, each.usual])
  return { value: Object.fromEntries([...usual, ...read]) as QuotaLimits }
}

/** A colour. Without its #, too: in a dotenv file that would begin a comment. */
export function readColor(text: string): ParsedSetting<string> {
  const digits = /^#?([0-9a-f]{6})$/i.exec(text.trim())?.[1]
  return digits === undefined
    ? { fault: 'must be six hex digits such as 1f5fd6' }
    : { value: `#${digits.toLowerCase()}` }
}

export function readLocale(text: string): ParsedSetting<string> {
  try {
    const [tag] = Intl.getCanonicalLocales(text.trim().replaceAll('_', '-'))
    if (tag !== undefined) return { value: tag }
  } catch {
    // Intl throws a RangeError for what is not a BCP 47 tag; the fault below says what is.
  }
  return { fault: 'must be a language tag such as en, zh-CN or ar' }
}

/** An area code as `86`, `+86` or `0086`; its value is the digits alone. */
export function readAreaCode(text: string): ParsedSetting<string> {
  const digits = /^(?:\+|00)?([1-9]\d{0,2})$/.exec(text.trim())?.[1]
  return digits === undefined
    ? { fault: 'must be a country calling code such as 86 or +86' }
    : { value: digits }
}

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

/** `ONLY_TO`: numbers in E.164, bare addresses, and `@domain`s in lower case. */
export function readOnlyTo(text: string): ParsedSetting<readonly string[]> {
  const entries = splitList(text).map(item => {
    if (!item.startsWith('@')) return /^\+[1-9]\d{6,14}$/.test(item) ? item : bareAddress(item)
    const domain = readDomain(domainToASCII(item.slice(1)))
    return 'value' in domain ? `@${domain.value}` : null
  })
  const wrong = entries.length === 0 ? 1 : entries.indexOf(null) + 1
  if (wrong === 0) return { value: entries as readonly string[] }
  return {
    fault: say(
      'must be numbers such as +8613800138000, addresses such as ann@example.com, or domains such as @example.com; entry {wrong} is none of them',
      { wrong },
    ),
  }
}

/** `PROBE_TO`: a number in E.164, a bare address, or one of each. */
export function readProbeTo(text: string): ParsedSetting<ReadonlyMap<Channel, string>> {
  const read = readOnlyTo(text)
  const entries = 'value' in read ? read.value.filter(each => !each.startsWith('@')) : []
  const to = new Map(entries.map(each => [each.includes('@') ? 'email' : 'sms', each] as const))
  return to.size > 0 && to.size === splitList(text).length
    ? { value: to }
    : { fault: 'must be a number such as +8613800138000, an address such as me@example.com, or one of each' }
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

/** A password and its owner's name; that of a program stands behind what it may open, with which no password begins. `local` is the log's own. */
const NAMED_TOKEN =
  /^((?:(?:metrics|status)\/)?(?!local:)[a-z0-9][a-z0-9._@-]{0,63}):((?!(?:metrics|status)\/)[\x21-\x7e]{16,256})$/i
/** The log's name for whoever has the password without a name, and for whoever uses a console that asks for none. */
export const UNNAMED = { token: 'admin', nobody: 'local' } as const

/** What a password opens: everything, /metrics or /api. */
export type AdminRole = 'operator' | 'metrics' | 'status'

export function roleOf(name: string): AdminRole {
  const [role = '', program] = name.split('/')
  return program === undefined ? 'operator' : (role as AdminRole)
}

/** `ADMIN_TOKENS`: token by its owner's name, from `name:token`, `metrics/name:token`, `status/name:token` or a token alone. */
export function readAdminTokens(text: string): ParsedSetting<ReadonlyMap<string, string>> {
  const items = text.split(/\s+/).filter(each => each !== '')
  const named = items.map(each => (each.includes(':') ? each : `${UNNAMED.token}:${each}`))
  const tokens = readEntries(named, NAMED_TOKEN)
  return tokens === null
    ? {
        fault:
          'must be name:token on each line, a colon between them, each name once: letters, digits and . _ @ -, not local, with metrics/ or status/ before that of a program; a token has 16 to 256 visible ASCII characters without spaces',
      }
    : { value: tokens }
}
