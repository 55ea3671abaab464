/** A host that a Postgres URL names. */
export interface PostgresHost {
  /** The URL as the driver reads it, of this host alone. */
  readonly url: string
  /** Whether no network lies between: a Unix socket, or this machine's own addresses. */
  readonly isHere: boolean
}

export interface PostgresUrl {
  readonly hosts: readonly PostgresHost[]
  /** `target_session_attrs`, as libpq has it. */
  readonly target: string | undefined
  /** Whether the URL says how it is about TLS, if only that there is none. */
  readonly saysTls: boolean
}

/**
 * Reads a Postgres URL as libpq does, which may name several hosts: `postgres://user:password@one:5432,two:5432/name`. The driver
 * knows neither those nor `target_session_attrs`.
 * @returns null when it is none.
 */
export function readPostgresUrl(text: string): PostgresUrl | null {
  const [, scheme, login = '', authority, rest = ''] =
    /^(postgres(?:ql)?:\/\/)((?:[^/?#]*@)?)([^/?#@]+)([/?#].*)?$/s.exec(text.trim()) ?? []
  if (authority === undefined) return null
  const urls = authority.split(',').map(host => URL.parse(`${scheme}${login}${host}${rest}`))
  const [first] = urls
  if (!first || urls.some(url => url === null || url.hostname === '')) return null
  const target = first.searchParams.get('target_session_attrs') ?? undefined
  return {
    hosts: urls.flatMap(url => {
      if (url === null) return []
      const at = url.searchParams.get('host') || decodeURIComponent(url.hostname).replace(/^\[|\]$/g, '')
      url.searchParams.delete('target_session_attrs')
      return [{ url: url.href, isHere: /^(\/|localhost$|127(\.\d{1,3}){3}$|::1$)/.test(at) }]
    }),
    target,
    saysTls: [...first.searchParams.keys()].some(name => name.startsWith('ssl')),
  }
}
