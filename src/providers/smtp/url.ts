/** An SMTP URL, read: the server, and the way to connect to it. */
export interface SmtpAddress {
  readonly host: string
  readonly port: number
  /** TLS from the first byte (`smtps://`). */
  readonly secure: boolean
  /** STARTTLS: `required`, `offered` (used when the server offers it) or `off`. */
  readonly startTls: 'required' | 'offered' | 'off'
  /** Without a password: an access token takes its place. */
  readonly auth?: { readonly user: string; readonly pass: string }
}

const ENCODE = 'write #/?@:% in user or password as %23 %2F %3F %40 %3A %25'

/**
 * Reads `smtp[s]://[user[:password]@]host[:port][?requireTLS=false|ignoreTLS=true]`; user and password are
 * percent-encoded. `smtp://` (port 587) insists on STARTTLS unless the URL says `requireTLS=false` (use it when the
 * server offers it) or `ignoreTLS=true` (never, for a server on the same machine). `smtps://` (port 465) is TLS
 * from the first byte, RFC 8314.
 *
 * @returns the address, or what is wrong with the URL, in words that do not repeat its password.
 */
export function readSmtpUrl(text: string): SmtpAddress | { readonly wrong: string } {
  const url = URL.parse(text)
  if (!url || (url.protocol !== 'smtp:' && url.protocol !== 'smtps:'))
    return {
      wrong: `must look like smtp://user:password@host:587 or smtps://user:password@host:465; ${ENCODE}`,
    }
  if (!url.hostname) return { wrong: 'names no host' }
  if (url.pathname !== '' && url.pathname !== '/')
    return { wrong: 'has a path; a password with / or # in it must be percent-encoded' }
  if (url.hash) return { wrong: 'has a #; a password with # in it must be percent-encoded' }
  const flags = readFlags(url.searchParams)
  if ('wrong' in flags) return flags
  const auth = readLogin(url)
  if (auth && 'wrong' in auth) return auth
  const secure = url.protocol === 'smtps:'
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port ? Number(url.port) : secure ? 465 : 587,
    secure,
    startTls: flags.ignoreTLS ? 'off' : flags.requireTLS ? 'required' : 'offered',
    ...(auth && { auth }),
  }
}

function readFlags(
  query: URLSearchParams,
): { requireTLS: boolean; ignoreTLS: boolean } | { readonly wrong: string } {
  const flags = { requireTLS: true, ignoreTLS: false }
  for (const [name, value] of query) {
    if (name !== 'requireTLS' && name !== 'ignoreTLS')
      return { wrong: 'knows only ?requireTLS=false and ?ignoreTLS=true' }
    if (value !== 'true' && value !== 'false')
      return { wrong: `has ?${name}= that is neither true nor false` }
    flags[name] = value === 'true'
  }
  return flags
}

function readLogin(url: URL): { user: string; pass: string } | { readonly wrong: string } | undefined {
  if (!url.username && !url.password) return undefined
  try {
    return { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) }
  } catch {
    return { wrong: 'has a user or password with a % that is not percent-encoding; write it as %25' }
  }
}
