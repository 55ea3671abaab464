/**
 * Whether a request has more than one Host header, of which Node keeps the first. A proxy in front may have gone by
 * another one, so such a request is answered 400 (RFC 9112, 3.2).
 * @param rawHeaders names and values in turn.
 */
export function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  return hosts > 1
}
