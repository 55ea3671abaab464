import { hash, timingSafeEqual } from 'node:crypto'

/** The result of checking the signature in a query string. */
export type SignatureCheck = 'right' | 'wrong' | 'absent'

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
  if (timestamps.length !== 1 || signatures.length !== 1) return { check: 'wrong' }
  if (rawTimestamp === undefined || rawSignature === undefined) return { check: 'wrong' }
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
 * milliseconds. The unit of any other form is not known, so it counts as fresh.
 * @param now wall time, ms since the epoch.
 */
export function isFresh(timestamp: string, now: number, maxAgeSeconds: number): boolean {
  const at = /^\d{10}$/.test(timestamp)
    ? Number(timestamp) * 1000
    : /^\d{13}$/.test(timestamp)
      ? Number(timestamp)
      : null
  return at === null || Math.abs(now - at) <= maxAgeSeconds * 1000
}

function parameterValues(query: string, name: string): string[] {
  const values: string[] = []
  for (const part of query.split('&')) {
    const equals = part.indexOf('=')
    const key = percentDecode((equals < 0 ? part : part.slice(0, equals)).replaceAll('+', ' '))
    if (key === name) values.push(equals < 0 ? '' : part.slice(equals + 1))
    else if (key?.startsWith(`${name}[`) === true) values.push('', '')
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
