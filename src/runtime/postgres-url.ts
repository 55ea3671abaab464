/**
 * Reads a Postgres URL as libpq does, which may name several hosts: `postgres://user:password@one:5432,two:5432/name`. The driver
 * knows neither those nor `target_session_attrs`.
 * @returns null when it is none.
 */
export function readPostgresUrl(text: string) {
  const [, scheme, login = '', authority, rest = ''] =
    /^(postgres(?:ql)?:\/\/)((?:[^/?#]*@)?)([^/?#@]+)([/?#].*)?$/s.exec(text.trim()) ?? []
  if (authority === undefined) return null
  const urls = authority.split(',').map(host => URL.parse(`${scheme}${login}${host}${rest}`))
  const [first] = urls
  if (!first || urls.some(url => url === null || url.hostname === '')) return null
  // Of a parameter that stands twice the driver takes the last, too.
  const given = Object.fromEntries(first.searchParams)
  return {
    hosts: urls.flatMap(url => {
      if (url === null) return []
      const at = given['host'] || decodeURIComponent(url.hostname).replace(/^\[|\]$/g, '')
      url.searchParams.delete('target_session_attrs')
      // No network lies between: a Unix socket, or this machine's own addresses.
      const isHere = /^(\/|localhost$|127(\.\d{1,3}){3}$|::1$)/.test(at)
      /** The URL as the driver reads it, of this host alone. */
      return [{ url: url.href, isHere }]
    }),
    /** `target_session_attrs`, as libpq has it. */
    target: given['target_session_attrs'],
    /** Whether the URL says how it is about TLS, if only that there is none, in words that the driver goes by. */
    saysTls: ['ssl', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'].some(name => given[name]),
  }
}
