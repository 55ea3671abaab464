import { say } from '../language/sentence.ts'
import { readPostgresUrl } from '../runtime/postgres-url.ts'
import type { ParsedSetting } from './setting.ts'

/** Where the outbox lives. */
export type Database =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string }

const ENCODE = say('write #/?@:% in a user name or password as %23 %2F %3F %40 %3A %25')

function parseUrl(text: string, ...protocols: readonly string[]): URL | null {
  const url = URL.parse(text.trim())
  return url !== null && protocols.includes(url.protocol) ? url : null
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
    ? {
        fault: say('must be the address of a proxy such as http://proxy.example.com:3128; {encode}', {
          encode: ENCODE,
        }),
      }
    : { value: text.trim() }
}

/** Nothing connects before the settings are read: whoever answers for the name would get the password. */
const WITHOUT_TLS =
  'leads over a network without TLS, where others may read and change what the database is told: add sslmode=verify-full (and sslrootcert=FILE for an authority of your own), or sslmode=disable on a network of your own'
/** Targets of a session that can be written in. */
const WRITABLE = ['read-write', 'primary']

export function readDatabase(text: string): ParsedSetting<Database> {
  const file = /^file:(?:\/\/(?=\/))?([^?#]+)$/.exec(text.trim())
  if (file?.[1] !== undefined) return { value: { kind: 'file', path: file[1] } }
  const postgres = readPostgresUrl(text)
  if (postgres !== null) {
    const { hosts, target = 'any' } = postgres
    if (!WRITABLE.includes(target) && (hosts.length > 1 || target !== 'any'))
      return {
        fault:
          'must end in target_session_attrs=read-write when it names several hosts, and can have no other target: the service writes',
      }
    if (!postgres.saysTls && !hosts.every(({ isHere }) => isHere)) return { fault: WITHOUT_TLS }
    return { value: { kind: 'postgres', url: text.trim() } }
  }
  return {
    fault: say('must be file:data/outbox.db or postgres://user:password@host:5432/name; {encode}', {
      encode: ENCODE,
    }),
  }
}

/** Says whether an address can be reached from this machine only. @param host a name or an address, IPv6 without brackets */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1)$/.test(host)
}

/** A mailbox, and the way to its server. */
export interface ImapAddress {
  readonly host: string
  readonly port: number
  /** TLS from the first byte (`imaps://`). */
  readonly secure: boolean
  /** Whether STARTTLS is insisted on where TLS does not come first. */
  readonly startTls: boolean
  readonly user: string
  /** Empty: an access token takes its place. */
  readonly pass: string
  readonly mailbox: string
}

/** `imap[s]://user[:password]@host[:port]/mailbox`; without TLS only on this machine, by `?ignoreTLS=true`. */
export function readImapUrl(text: string): ParsedSetting<ImapAddress> {
  const url = parseUrl(text, 'imaps:', 'imap:')
  const fault = say('must look like imaps://user:password@imap.example.com/INBOX; {encode}', {
    encode: ENCODE,
  })
  if (url === null || url.username === '' || url.hash !== '') return { fault }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (url.search !== '' && (url.search !== '?ignoreTLS=true' || !isLoopback(host)))
    return { fault: 'knows only ?ignoreTLS=true, for a server on this machine' }
  const secure = url.protocol === 'imaps:'
  try {
    const [user, pass, mailbox] = [url.username, url.password, url.pathname.slice(1)].map(decodeURIComponent)
    const port = Number(url.port || (secure ? 993 : 143))
    const startTls = url.search === ''
    return {
      value: {
        host,
        port,
        secure,
        startTls,
        user: user ?? '',
        pass: pass ?? '',
        mailbox: mailbox || 'INBOX',
      },
    }
  } catch {
    return { fault }
  }
}

/** The platform's data subscription service: where it is, and what the platform does not publish of it. */
export interface DdqAddress {
  /** `http://host:80` for HTTP/2 in the clear, by prior knowledge (RFC 9113, 3.3); `https://…` over TLS. */
  readonly origin: string
  readonly authenticatePath: string
  readonly subscribePath: string
  /**
   * What is sent each second to keep the connection alive, and to see that it is:
   *
   * - `ping`      an HTTP/2 PING (RFC 9113, 6.7): what the protocol has for it, answered by any server
   * - `settings`  an empty SETTINGS frame (6.5), which has to be acknowledged too
   * - `post:/…`   a POST of `{}` to that path, for a server that counts requests only
   */
  readonly heartbeat: 'ping' | 'settings' | `post:/${string}`
  /** What stands for any product in a topic. */
  readonly anyProduct: string
}

const DDQ_PARAMETERS = [
  ['auth', /^\/[\x21-\x7e]{0,199}$/, '/auth'],
  ['subscribe', /^\/[\x21-\x7e]{0,199}$/, '/subscribe'],
  ['heartbeat', /^(ping|settings|post:\/[\x21-\x7e]{0,199})$/, 'ping'],
  ['any-product', /^[\x21-\x7e]{1,32}$/, '+'],
] as const

/** `DDQ_URL`: `http[s]://host[:port]`, with `?auth=/path&subscribe=/path&heartbeat=ping&any-product=+` where they are others. */
export function readDdqUrl(text: string): ParsedSetting<DdqAddress> {
  const url = parseUrl(text, 'https:', 'http:')
  const given = new URLSearchParams(url?.search.replaceAll('+', '%2B'))
  const [auth, subscribe, heartbeat, anyProduct] = DDQ_PARAMETERS.map(([name, form, usual]) => {
    const value = given.get(name) ?? usual
    given.delete(name)
    return form.test(value) ? value : undefined
  })
  if (url === null || url.pathname !== '/' || url.username !== '' || url.hash !== '' || given.size > 0)
    return {
      fault: say('must look like http://ddq.example.com, with no path; behind ? it knows {what}', {
        what: DDQ_PARAMETERS.map(([name]) => name).join(', '),
      }),
    }
  if (auth === undefined || subscribe === undefined || heartbeat === undefined || anyProduct === undefined)
    return { fault: 'must name paths such as /subscribe, and as heartbeat ping, settings or post:/path' }
  return {
    value: {
      origin: url.origin,
      authenticatePath: auth,
      subscribePath: subscribe,
      heartbeat: heartbeat as DdqAddress['heartbeat'],
      anyProduct,
    },
  }
}

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
