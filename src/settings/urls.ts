import type { ParsedSetting } from './parsed-setting.ts'

/** Where the outbox lives. */
export type Database =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string }

const ENCODE = 'write #/?@:% in a user name or password as %23 %2F %3F %40 %3A %25'

function parseUrl(text: string, ...protocols: readonly string[]): URL | null {
  const url = URL.parse(text.trim())
  return url !== null && protocols.includes(url.protocol) && url.hostname !== '' ? url : null
}

/** The service as the platform reaches it: https, perhaps a path in front of ours; without the last slash. */
export function readPublicUrl(text: string): ParsedSetting<string> {
  const url = parseUrl(text, 'https:')
  if (url === null || url.search !== '' || url.hash !== '' || url.username !== '')
    return {
      fault:
        'must be the https address of this service as the platform reaches it, such as https://courier.example.com',
    }
  return { value: url.href.replace(/\/+$/, '') }
}

export function readBrandUrl(text: string): ParsedSetting<string> {
  const url = parseUrl(text, 'https:', 'http:')
  return url === null || url.username !== ''
    ? { fault: 'must be a web address such as https://www.example.com' }
    : { value: url.href }
}

/** Base of a provider's API; plain http only on this machine, because the account's secret goes there. */
export function readApiUrl(text: string): ParsedSetting<string> {
  const url = parseUrl(text, 'https:', 'http:')
  const loopback = url !== null && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)
  if (url === null || (url.protocol === 'http:' && !loopback))
    return { fault: 'must be an https address (http only on this machine: localhost, 127.0.0.1)' }
  return { value: url.href.replace(/\/+$/, '') }
}

/** An HTTP proxy; user and password percent-encoded. */
export function readProxyUrl(text: string): ParsedSetting<string> {
  const url = parseUrl(text, 'http:', 'https:')
  return url === null || url.pathname !== '/' || url.search !== ''
    ? { fault: `must be the address of a proxy such as http://proxy.example.com:3128; ${ENCODE}` }
    : { value: text.trim() }
}

export function readDatabase(text: string): ParsedSetting<Database> {
  const file = /^file:(?:\/\/(?=\/))?([^?#]+)$/.exec(text.trim())
  if (file?.[1] !== undefined) return { value: { kind: 'file', path: file[1] } }
  const url = parseUrl(text, 'postgres:', 'postgresql:')
  if (url !== null) return { value: { kind: 'postgres', url: text.trim() } }
  return { fault: `must be file:data/outbox.db or postgres://user:password@host:5432/name; ${ENCODE}` }
}
