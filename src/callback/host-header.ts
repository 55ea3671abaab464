/**
 * Counts the Host headers of a request; Node keeps the first alone. With two, a proxy in front may have gone by the other
 * one; HTTP/1.1 asks for exactly one, and for a 400 otherwise (RFC 9112, 3.2).
 * @param rawHeaders names and values in turn.
 */
export function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  return hosts
}
