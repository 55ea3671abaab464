import { listeners } from './settings/listeners.ts'
import { mergeSources, type SettingSources } from './sources.ts'

/**
 * Says where this machine reaches the private listener of a running service: `http://127.0.0.1:9090`. Reads only the two
 * settings that say so, because a health check runs every few seconds and says nothing about the others.
 */
export function adminAddress(sources: SettingSources): string {
  const { given } = mergeSources(sources)
  const { ADMIN_HOST, ADMIN_PORT } = listeners.settings
  const host = given.ADMIN_HOST ?? String(ADMIN_HOST.default)
  return `http://${reachableHost(host)}:${given.ADMIN_PORT ?? ADMIN_PORT.default}`
}

/** The host to connect to, on this machine, for a listener on `host`: "every address" includes the loopback one. */
export function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
