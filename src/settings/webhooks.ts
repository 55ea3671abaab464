import { isLoopback } from './loopback.ts'
import type { ParsedSetting } from './parsed-setting.ts'

/** `EVENTS_URL`: a query may hold what the receiver knows us by; a user or a password stands in no URL. */
export function readEventsUrl(text: string): ParsedSetting<string> {
  const url = URL.parse(text.trim())
  const fault =
    'must be an https address such as https://hooks.example.com/courier, without user and password (http only on this machine: localhost, 127.0.0.1)'
  if (url === null || url.username !== '' || url.password !== '' || url.hash !== '') return { fault }
  const here = isLoopback(url.hostname.replace(/^\[|\]$/g, ''))
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && here)) return { fault }
  return { value: url.href }
}

/** `EVENTS_SECRET`: secrets of Standard Webhooks, parted by spaces. */
export function readSigningSecrets(text: string): ParsedSetting<string> {
  const secrets = text.trim().split(/\s+/)
  return secrets.every(isSigningSecret)
    ? { value: secrets.join(' ') }
    : { fault: 'must be whsec_ and 24 to 64 random bytes in base64; two are parted by a space' }
}

function isSigningSecret(secret: string): boolean {
  const base64 = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/.exec(secret)?.[1]
  const bytes = Buffer.from(base64 ?? '', 'base64')
  // Bytes that repeat are nobody's random ones.
  return bytes.length >= 24 && bytes.length <= 64 && new Set(bytes).size > 8
}
