import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import { BlockList, isIP } from 'node:net'
import type { Channel } from '../messages/message.ts'
import { type Answer, createAnswer } from './answers.ts'

declare const minted: unique symbol

/** A caller that was authenticated. Nothing else makes one, and later steps accept nothing else. */
export interface Caller {
  readonly [minted]: true
  readonly channel: Channel
  readonly corpId: string
  /** It is this process itself, which proves that codes arrive: the id that its message gets. */
  readonly probe?: string
}

export type AuthenticationResult =
  | {
      readonly ok: true
      readonly caller: Caller
      readonly signature: SignatureCheck
      /** It came by the URL that is being replaced. */
      readonly outdated: boolean
    }
  | {
      readonly ok: false
      readonly answer: Answer
      readonly reason: AuthenticationFailure
      /** Its key was right: it is the platform, or somebody who has seen the URL. */
      readonly knowsKey: boolean
      readonly signature: SignatureCheck
    }

/** The reasons why a request is refused, for counters and the console; never with what it sent. */
type AuthenticationFailure = 'corp' | 'source' | 'key' | 'signature' | 'stale'

/** The Tokens and keys that an enabled channel accepts, each list with the current one first, then its predecessor. */
export interface ChannelSecrets {
  readonly tokens: readonly string[]
  readonly keys: readonly string[]
}

export interface AuthenticationOptions {
  readonly corpId: string
  /** A channel without secrets is off. */
  readonly channels: Readonly<Partial<Record<Channel, ChannelSecrets>>>
  readonly sources: SourceNetworks
  readonly postSignature: 'observe' | 'required' | 'off'
  readonly signatureMaxAgeSeconds: number
  /** Wall time, ms since the epoch: the platform's timestamps are wall time. */
  readonly wall: () => number
}

/** The answer to a caller outside of ALLOWED_SOURCES. */
export const SOURCE_REFUSED = 'the caller is not among the allowed sources'

/** The parts of a request that say who sent it. */
export interface Credentials {
  readonly channel: Channel
  readonly corpId: string
  readonly key: string
  /** The raw query string, without `?`. */
  readonly query: string
  readonly socketAddress: string
  readonly forwardedFor: string | undefined
  /** The one-time value of a probe. */
  readonly probe?: string | undefined
}

/** The header that has it. */
export const PROBE_HEADER = 'callback-courier-probe'

/** Decides whose requests are served: corp_id, source network, key, signature, in this order. */
export interface Authentication {
  /** A test send from the private listener, which has authenticated its caller itself. */
  operatorAsCaller(channel: Channel): Caller
  /** Expects one POST of this process, from whatever network, by a value that nobody else knows: the id that its message gets. */
  expectProbe(id: string): void
  /** GET: the signature must be right; freshness is not checked, since a validation has no effect. */
  authenticateValidation(credentials: Credentials): AuthenticationResult
  /** POST: the signature by policy. */
  authenticatePost(credentials: Credentials): AuthenticationResult
}

export function createAuthentication(options: AuthenticationOptions): Authentication {
  const { corpId, channels, sources, postSignature, signatureMaxAgeSeconds, wall } = options
  const keys = {
    email: (channels.email?.keys ?? []).map(hashSecret),
    sms: (channels.sms?.keys ?? []).map(hashSecret),
  }
  let expected: string | null = null

  /** Checks everything but the signature, which the result calls absent. */
  function authenticateKey(credentials: Credentials): AuthenticationResult {
    const { channel, socketAddress, forwardedFor, probe = '' } = credentials
    if (credentials.corpId !== corpId || channels[channel] === undefined)
      return refuse('corp', 'no such enterprise, or this channel is off')
    const digest = hashSecret(credentials.key)
    // No early exit: the time must not tell which key was nearly right.
    const matches: boolean[] = []
    for (const key of keys[channel]) matches.push(timingSafeEqual(key, digest))
    const knowsKey = matches.includes(true)
    const isProbe = expected !== null && timingSafeEqual(hashSecret(expected), hashSecret(probe))
    if (!isProbe && !sources.isAllowed(socketAddress, forwardedFor))
      return { ...refuse('source', SOURCE_REFUSED), knowsKey }
    if (!knowsKey) return refuse('key', 'the key in the URL is wrong')
    return {
      ok: true,
      caller: { channel, corpId, ...(isProbe && { probe }) } as Caller,
      signature: 'absent',
      outdated: matches[0] !== true,
    }
  }

  return {
    operatorAsCaller: channel => ({ channel, corpId }) as Caller,
    expectProbe(id) {
      expected = id
    },
    authenticateValidation(credentials) {
      const result = authenticateKey(credentials)
      if (!result.ok) return result
      const { check } = checkSignature(credentials.query, corpId, channels[credentials.channel]?.tokens ?? [])
      return check === 'right' ? { ...result, signature: check } : refuseSignature(check)
    },
    authenticatePost(credentials) {
      const { channel, query } = credentials
      const result = authenticateKey(credentials)
      if (result.ok && result.caller.probe !== undefined) expected = null
      if (!result.ok || postSignature === 'off') return result
      const { check, timestamp } = checkSignature(query, corpId, channels[channel]?.tokens ?? [])
      const isStale = timestamp !== undefined && !isFresh(timestamp, wall(), signatureMaxAgeSeconds)
      const signature = isStale ? 'stale' : check
      if (postSignature === 'observe' || signature === 'right') return { ...result, signature }
      return signature === 'stale' ? refuse('stale', STALE, signature) : refuseSignature(signature)
    },
  }
}

const STALE =
  'the timestamp is too old, in the future, or neither ten digits (seconds) nor thirteen (milliseconds)'

function refuse(
  reason: AuthenticationFailure,
  message: string,
  signature: SignatureCheck = 'absent',
): Extract<AuthenticationResult, { readonly ok: false }> {
  const name = reason === 'corp' ? 'corp' : 'credential'
  return {
    ok: false,
    answer: createAnswer(name, message),
    reason,
    signature,
    knowsKey: reason === 'signature' || reason === 'stale',
  }
}

function refuseSignature(check: SignatureCheck): AuthenticationResult {
  const message = check === 'absent' ? 'timestamp and signature are missing' : 'the signature is wrong'
  return refuse('signature', message, check)
}

/** The networks that may call. */
export interface SourceNetworks {
  /**
   * The caller's address: the socket's, or, when the socket is a trusted proxy's, the nearest address in
   * X-Forwarded-For that is not a trusted proxy's itself. An entry that a caller writes into that header changes
   * nothing. Empty when a trusted proxy writes an entry that is not an address: then the caller is not known.
   */
  callerOf(socketAddress: string, forwardedFor: string | undefined): string
  /** Says whether the caller may call. */
  isAllowed(socketAddress: string, forwardedFor: string | undefined): boolean
}

/**
 * @param allowed CIDR blocks or addresses, IPv4 and IPv6; empty: everybody.
 * @param trustedProxies the same, of the proxies whose X-Forwarded-For is believed.
 */
export function createSourceNetworks(
  allowed: readonly string[],
  trustedProxies: readonly string[],
): SourceNetworks {
  const allowList = blockListOf(allowed)
  const proxies = blockListOf(trustedProxies)

  function callerOf(socketAddress: string, forwardedFor: string | undefined): string {
    let caller = withoutV4Prefix(socketAddress)
    if (forwardedFor === undefined || !isInList(proxies, caller)) return caller
    const hops = forwardedFor.split(',')
    for (let hop = hops.pop(); hop !== undefined; hop = hops.pop()) {
      caller = parseHop(hop.trim())
      if (!isInList(proxies, caller)) return caller
    }
    return caller
  }
  return {
    callerOf,
    isAllowed: (socketAddress, forwardedFor) =>
      allowed.length === 0 || isInList(allowList, callerOf(socketAddress, forwardedFor)),
  }
}

/** `192.0.2.1:4711`, `[2001:db8::1]:4711` and `[2001:db8::1]`, as some proxies write them; the port is not needed. */
const WITH_PORT = /^(?:(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}|\[([0-9a-f:.]{2,45})\](?::\d{1,5})?)$/i

/** Reads the address in one entry of X-Forwarded-For; empty when the entry is not an address. */
function parseHop(entry: string): string {
  const [, v4, v6] = WITH_PORT.exec(entry) ?? []
  const address = v4 ?? v6 ?? entry
  const version = isIP(address)
  // A zone (`%eth0`) names an interface of one machine, and means nothing on another.
  if (version === 0 || address.includes('%') || (v6 !== undefined && version !== 6)) return ''
  return withoutV4Prefix(address)
}

function blockListOf(blocks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const block of blocks) {
    const [address = '', bits] = block.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}

function isInList(list: BlockList, address: string): boolean {
  const version = isIP(address)
  return version !== 0 && list.check(address, version === 6 ? 'ipv6' : 'ipv4')
}

/** Turns `::ffff:192.0.2.1`, which is how a dual-stack socket names an IPv4 caller, into 192.0.2.1. */
function withoutV4Prefix(address: string): string {
  return /^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(address) ? address.slice(7) : address
}

/**
 * Derives the secret part of a callback URL, `/callback/{corp_id}/{key}/{channel}`, when the operator gave none: the first
 * 32 hex digits of HMAC-SHA256(key = the channel's Token, message = `callback-courier/<channel>/<corp_id>`). The key
 * needs no configuration then, and cannot be guessed as long as the Token cannot.
 */
export function deriveCallbackKey(channel: 'email' | 'sms', corpId: string, token: string): string {
  return createHmac('sha256', token)
    .update(`callback-courier/${channel}/${corpId}`, 'utf8')
    .digest('hex')
    .slice(0, 32)
}

/** The settings of a channel that its keys follow from. */
interface KeySettings {
  readonly corpId: string
  readonly token: string
  readonly tokenPrevious?: string | undefined
  /** The operator's own key, and the one it replaces. */
  readonly ownKey?: string | undefined
  readonly ownKeyPrevious?: string | undefined
}

/**
 * Lists the keys of a channel: `current` stands in the URL to paste, and each of `accepted` opens it, so that the platform's
 * console may be changed later than the service. When the operator has set a key, the URL does not depend on the Token, and no
 * derived key is accepted; otherwise the previous Token's derived key is.
 */
export function callbackKeys(
  channel: 'email' | 'sms',
  settings: KeySettings,
): { readonly current: string; readonly accepted: readonly string[] } {
  const { corpId, token, tokenPrevious, ownKey, ownKeyPrevious } = settings
  const current = ownKey ?? deriveCallbackKey(channel, corpId, token)
  const accepted = [current]
  if (ownKeyPrevious !== undefined) accepted.push(ownKeyPrevious)
  if (ownKey === undefined && tokenPrevious !== undefined)
    accepted.push(deriveCallbackKey(channel, corpId, tokenPrevious))
  return { current, accepted }
}

/** The result of checking the signature in a query string; `stale`: it is right, and of a POST too long ago. */
type SignatureCheck = 'right' | 'wrong' | 'absent' | 'stale'

const TIMESTAMP = /^[\x20-\x7e]{1,64}$/
const DIGEST = /^[0-9a-fA-F]{40}$/

/**
 * Checks `timestamp` and `signature` of a callback's query: SHA1 over corp_id + Token + timestamp, UTF-8, joined
 * without a separator, as 40 hexadecimal digits of either case (the contract's GET {callback_url}).
 *
 * A timestamp is printable ASCII of 1 to 64 characters: SHA1's length extension needs a byte 0x80. Clients leave a `+`
 * bare, so a match on the form-decoded, the percent-decoded or the raw value counts. A parameter that is missing, empty,
 * given twice or written `a[]=` makes no signature.
 *
 * @param query the raw query string, without `?`.
 * @param tokens the current Token and, while one is rotated, its predecessor.
 */
export function checkSignature(
  query: string,
  corpId: string,
  tokens: readonly string[],
): { readonly check: SignatureCheck; readonly timestamp?: string } {
  const timestamps = parameterValues(query, 'timestamp')
  const signatures = parameterValues(query, 'signature')
  if (timestamps.length === 0 && signatures.length === 0) return { check: 'absent' }
  const [rawTimestamp] = timestamps
  const [rawSignature] = signatures
  if (rawTimestamp === undefined || timestamps.length > 1) return { check: 'wrong' }
  if (rawSignature === undefined || signatures.length > 1) return { check: 'wrong' }
  const signature = percentDecode(rawSignature)
  if (signature === null || !DIGEST.test(signature)) return { check: 'wrong' }
  const given = Buffer.from(signature, 'hex')
  let matched: string | undefined
  // Every candidate is computed with every Token, whichever matched, so that the time tells nothing.
  for (const timestamp of timestampReadings(rawTimestamp)) {
    for (const token of tokens) {
      const digest = hash('sha1', `${corpId}${token}${timestamp}`, 'buffer')
      if (timingSafeEqual(digest, given)) matched ??= timestamp
    }
  }
  return matched === undefined ? { check: 'wrong' } : { check: 'right', timestamp: matched }
}

/**
 * Says whether a timestamp is within `maxAgeSeconds` of `now`: an older one may be a replay. Ten digits are seconds, thirteen
 * milliseconds. Nobody knows the age of any other form, and a POST of an unknown age could be replayed for ever.
 * @param now wall time, ms since the epoch.
 */
export function isFresh(timestamp: string, now: number, maxAgeSeconds: number): boolean {
  const at = /^\d{10}$/.test(timestamp)
    ? Number(timestamp) * 1000
    : /^\d{13}$/.test(timestamp)
      ? Number(timestamp)
      : null
  return at !== null && Math.abs(now - at) <= maxAgeSeconds * 1000
}

function parameterValues(query: string, name: string): string[] {
  const values: string[] = []
  for (const part of query.split('&')) {
    const equals = part.indexOf('=')
    const key = percentDecode(equals < 0 ? part : part.slice(0, equals))
    if (key === name) values.push(equals < 0 ? '' : part.slice(equals + 1))
    else if (key?.startsWith(`${name}[`) === true) values.push('')
  }
  return values
}

function timestampReadings(raw: string): Iterable<string> {
  // Nearly always there is nothing to decode.
  if (!/[%+]/.test(raw)) return TIMESTAMP.test(raw) ? [raw] : []
  const all = [raw, percentDecode(raw), percentDecode(raw.replaceAll('+', ' '))]
  return new Set(all.filter((each): each is string => each !== null && TIMESTAMP.test(each)))
}

function percentDecode(text: string): string | null {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** Hashes a secret by SHA-256, since the comparison in constant time (timingSafeEqual) takes values of equal length only. */
export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer')
}
