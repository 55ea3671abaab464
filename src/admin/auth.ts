import { timingSafeEqual } from 'node:crypto'
import { isIP, type Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { hashSecret } from '../callback/authenticate.ts'
import { countHosts } from '../callback/listener.ts'
import { type NetworkSize, networkOf } from '../callback/unauthenticated-connections.ts'
import { type AdminRole, isLoopback, roleOf, UNNAMED } from '../config/config.ts'
import type { AdminRefusal } from '../events/events.ts'
import { type Sentence, say, tell, tellAll } from '../language/sentence.ts'
import { isApiPath, sendFailure } from './failure.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller of the private listener. */
    operator: string
  }
}

interface Refusal {
  readonly reason: AdminRefusal
  /** The time after which the caller may come again, ms. */
  readonly waitMs?: number
}

export interface AdminAuthOptions {
  /** The address that the listener binds to, as configured. */
  readonly host: string
  /** ADMIN_TOKENS, by name. Without an operator's no token is asked for, which only a loopback listener may do. */
  readonly tokens: ReadonlyMap<string, string>
  /** ADMIN_NAMES: names beside localhost and plain addresses; `*.example.com` for everything below it. */
  readonly names: readonly string[]
  /** ms; only differences count. */
  readonly now: () => number
  /** Called when a request over a connection had a right token. */
  readonly onAuthenticated?: (socket: Socket) => void
  /** Called for each refused request; never with anything that it brought. */
  readonly onRefused?: (reason: AdminRefusal) => void
}

/**
 * The console's pages may use this listener's own files, nothing inline and nothing from elsewhere, and stand in
 * nobody's frame. A page with other needs (the preview of a mail) sends its own policy.
 */
export const CONSOLE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/**
 * On every answer of the private listener. `same-origin` rather than `no-referrer`: with the latter a browser sends
 * `Origin: null` with a page's own forms, and the listener could not tell the page from a stranger's.
 */
export const ADMIN_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': CONSOLE_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
}

/** The paths that a token opens which does not open everything. */
const OPENED: Readonly<Record<Exclude<AdminRole, 'operator'>, (request: FastifyRequest) => boolean>> = {
  metrics: request => request.routeOptions.url === '/metrics',
  status: isApiPath,
}

/** Open to everybody who reaches the listener, by whatever name: probes send none, and these say nothing. */
const OPEN: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

/**
 * Guards every route of the private listener, also those that are registered later and those that do not exist.
 *
 * - Host: localhost, a plain address, ADMIN_HOST or one of ADMIN_NAMES. A page that has its own name point at this
 *   machine (DNS rebinding) comes with its own name. The port is not compared: published ports and tunnels change it.
 * - Origin and Sec-Fetch-Site: a request that may change something comes from a page of this listener, or from no
 *   browser at all. Others' pages may link here, but not load anything into themselves.
 * - A token: `Authorization: Bearer …` (Prometheus), or as the password of Basic with any user name (browsers). Whose it
 *   is says who the operator is. Compared in constant time with each. A source that has shown some wrong ones in a minute is not
 *   listened to for the rest of it. Behind a published port or a NAT everybody is one source; so that a guesser there does not
 *   lock the others out, a right token that was used from there within a day is heard all the same. A wrong token that comes
 *   again, as from a scraper with an old one, is one guess.
 *   There is no cookie: the browser keeps Basic itself, and a request that a browser sends by itself must have the right Origin.
 */
export function requireAdminAuth(app: FastifyInstance, options: AdminAuthOptions): void {
  const { host, tokens, names, now, onRefused, onAuthenticated } = options
  const operators = [...tokens.keys()].filter(name => roleOf(name) === 'operator')
  if (operators.length === 0 && !isLoopback(host)) {
    throw new Error('the private listener can be reached from other machines: ADMIN_TOKENS is needed')
  }
  const isOurs = nameCheck(host, names)
  const holderOf = createTokenCheck(tokens)
  const tries = createLoginThrottle(now)

  /** Notes who asks. @returns null when the token is right, or none is needed. */
  function credentialFault(request: FastifyRequest): Refusal | null {
    request.operator = UNNAMED.nobody
    if (operators.length === 0) return null
    const given = tokenIn(request.headers.authorization)
    if (given === null) return { reason: 'no-token' }
    const source = networkOf(request.socket.remoteAddress ?? '', SUBSCRIBER)
    const holder = holderOf(given)
    const waitMs = holder !== null && tries.wasUsed(source, holder) ? 0 : tries.waitOf(source)
    if (waitMs > 0) return { reason: 'too-many-tries', waitMs }
    if (holder === null) {
      tries.recordFailure(source, given)
      return { reason: 'wrong-token' }
    }
    tries.recordUse(source, holder)
    const role = roleOf(holder)
    if (role === 'operator') request.operator = `${holder}${userIn(request.headers['x-forwarded-user'])}`
    else if (!OPENED[role](request)) return { reason: `${role}-token` }
    onAuthenticated?.(request.raw.socket)
    return null
  }

  function refuse(request: FastifyRequest, reply: FastifyReply, { reason, waitMs = 0 }: Refusal): void {
    onRefused?.(reason)
    const isApi = isApiPath(request)
    const { status, text, inApi = status } = REFUSALS[reason]
    if (status === 401) reply.header('www-authenticate', 'Basic realm="callback-courier", charset="UTF-8"')
    if (status === 429) reply.header('retry-after', String(Math.ceil(waitMs / 1000)))
    // The rest of the request is not read.
    if (request.method !== 'GET' || status === 429) reply.header('connection', 'close')
    sendFailure(reply, {
      status: isApi ? inApi : status,
      error: reason,
      message: tellAll([
        text && tell(text),
        status === 401 || status === 429 ? (isApi ? API_TOKEN : PASSWORD) : null,
      ]),
    })
  }

  app.decorateRequest('operator', '')
  app.addHook('onRequest', (request, reply, next) => {
    reply.headers(ADMIN_HEADERS)
    if (OPEN.has(request.routeOptions.url ?? '')) return next()
    const refusal: Refusal | null =
      countHosts(request.raw.rawHeaders) > 1
        ? { reason: 'two-hosts' }
        : !isOurs(request.headers.host)
          ? { reason: 'host' }
          : isForeign(request)
            ? { reason: 'cross-site' }
            : credentialFault(request)
    if (refusal === null) return next()
    refuse(request, reply, refusal)
  })
}

const PASSWORD = 'The password is the one of ADMIN_TOKENS, or your own there; any user name will do.'
const API_TOKEN = 'The bearer token is one of ADMIN_TOKENS: with status/, or an operator’s.'
/** `inApi`: the status of a program's request, when it is another one: a browser is to ask for the right password. */
const REFUSALS: Readonly<
  Record<AdminRefusal, { readonly status: number; readonly text: Sentence | null; readonly inApi?: number }>
> = {
  host: { status: 421, text: say('This name is not served here. ADMIN_NAMES says which are.') },
  'two-hosts': { status: 400, text: say('The request names two hosts.') },
  'cross-site': { status: 403, text: say('Only pages of this service may ask for this.') },
  'no-token': { status: 401, text: null },
  'wrong-token': { status: 401, text: null },
  'metrics-token': { status: 401, text: say('This token of ADMIN_TOKENS opens /metrics alone.'), inApi: 403 },
  'status-token': { status: 401, text: say('This token of ADMIN_TOKENS opens /api alone.') },
  'too-many-tries': { status: 429, text: say('Too many wrong tries.') },
}

/** Says whether a Host header names us. */
function nameCheck(host: string, names: readonly string[]): (header: string | undefined) => boolean {
  const exact = new Set(['localhost', host.toLowerCase()])
  const below: string[] = []
  for (const name of names) {
    if (name.startsWith('*.')) below.push(name.slice(1).toLowerCase())
    else exact.add(name.toLowerCase())
  }
  return header => {
    const name = nameIn(header)
    if (name === null) return false
    return isIP(name) !== 0 || exact.has(name) || below.some(suffix => name.endsWith(suffix))
  }
}

/** The host of `host`, `host:port` or `[v6]:port`, in lower case and without a root dot; null when it is neither. */
function nameIn(header: string | undefined): string | null {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(header ?? '')
  return (match?.[1] ?? match?.[2])?.toLowerCase().replace(/\.$/, '') ?? null
}

/** Says whether another site's page made the browser send the request. */
function isForeign({ method, headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  if (method === 'GET' || method === 'HEAD') {
    const loads = headers['sec-fetch-mode'] !== 'navigate' || headers['sec-fetch-dest'] !== 'document'
    return (site === 'cross-site' || site === 'same-site') && loads
  }
  if (site !== undefined && site !== 'same-origin') return true
  const { origin } = headers
  return (
    origin !== undefined && origin.replace(/^https?:\/\//, '').toLowerCase() !== headers.host?.toLowerCase()
  )
}

/** The token of an Authorization header: Bearer's, or Basic's password; null when there is none of either. */
function tokenIn(header: string | undefined): string | null {
  const [, scheme, credential] = /^(bearer|basic) +(\S+)$/i.exec(header ?? '') ?? []
  if (scheme === undefined || credential === undefined) return null
  if (scheme.toLowerCase() === 'bearer') return credential
  const pair = Buffer.from(credential, 'base64').toString('utf8')
  const colon = pair.indexOf(':')
  return colon < 0 ? null : pair.slice(colon + 1)
}

/**
 * The user for whom a proxy with a token of its own asks, as single sign-on has it: `/ann@example.com`. It stands behind the name of
 * the token, so whoever has another token cannot claim to be that proxy's user.
 */
function userIn(header: string | string[] | undefined): string {
  return typeof header === 'string' && /^[\w.@+-]{1,100}$/.test(header) ? `/${header}` : ''
}

/** Makes a function that says whose a token is, by name; null: nobody's. */
function createTokenCheck(tokens: ReadonlyMap<string, string>): (given: string) => string | null {
  const known = [...tokens].map(([holder, token]) => ({ holder, digest: hashSecret(token) }))
  return given => {
    const digest = hashSecret(given)
    // No early exit: the time must not tell whose token was nearly right.
    const matches = known.filter(each => timingSafeEqual(each.digest, digest))
    return matches[0]?.holder ?? null
  }
}

/** One IPv4 address, and what one subscriber has of IPv6. */
const SUBSCRIBER: NetworkSize = { octets: 4, groups: 4 }

/**
 * Different wrong tokens of a source in a window, after which it is not listened to for the rest of it: ten tries a minute are
 * plenty for a person, and take a guesser 19 years for a hundred million. Of more sources the oldest is forgotten.
 */
const LOGIN_THROTTLE_LIMITS = { windowMs: 60_000, perSource: 10, sources: 1000 }
/** For so long after its last use by a source a right token of it is heard, ms, whatever is guessed beside it. */
const KNOWN_MS = 24 * 3_600_000

/**
 * Slows guesses down: counts each source's different wrong tokens, in fixed windows.
 * @param now ms; only differences count.
 */
export function createLoginThrottle(now: () => number) {
  const { windowMs, perSource, sources } = LOGIN_THROTTLE_LIMITS
  /** When a right token was last used by a source, by both, the latest last. */
  const uses = new Map<string, number>()
  /** Digests of the wrong tokens, by source, the oldest source first. */
  const tries = new Map<string, Set<string>>()
  let windowEnds = now() + windowMs

  return {
    recordUse(source: string, holder: string): void {
      const key = `${holder} ${source}`
      uses.delete(key)
      uses.set(key, now())
      const [oldest = ''] = uses.keys()
      if (uses.size > sources) uses.delete(oldest)
    },
    wasUsed: (source: string, holder: string): boolean =>
      now() - (uses.get(`${holder} ${source}`) ?? Number.NEGATIVE_INFINITY) < KNOWN_MS,
    /** Says how long a source is not listened to, ms; 0: it is. */
    waitOf(source: string): number {
      if (now() >= windowEnds) {
        tries.clear()
        windowEnds = now() + windowMs
      }
      return (tries.get(source)?.size ?? 0) >= perSource ? windowEnds - now() : 0
    },
    recordFailure(source: string, token: string): void {
      const tried = tries.get(source) ?? new Set()
      tries.set(source, tried.add(hashSecret(token).toString('base64')))
      const [oldest = ''] = tries.keys()
      if (tries.size > sources) tries.delete(oldest)
    },
  }
}
