import { findLinkFault } from './characters.ts'
import type { FoundLink } from './find-links.ts'

/** Longest link that is passed on. Mail clients and browsers get unreliable beyond. */
const MAX_LENGTH = 4096

export interface LinkPolicy {
  /** Says why a link must not be sent, never containing the link; null when it may. */
  (url: string): string | null
  /** The same for one that a mail client or a phone finds in running text, where nobody may have meant one. */
  inText(link: FoundLink): string | null
}

export interface LinkRules {
  /** Refuse `http:`. */
  readonly httpsOnly: boolean
  /** `example.com` (exactly that host) or `*.example.com` (any host below it, not itself); empty: any host. */
  readonly hosts: readonly string[]
}

/**
 * Makes the policy that says for which links an enterprise vouches with its name. A link is never changed: a reader gets it byte for
 * byte. It is judged twice, as written and as a browser reads it (WHATWG URL), because the two disagree about `https:/\host`.
 * @throws TypeError for an entry of `hosts` that is no host.
 */
export function createLinkPolicy({ httpsOnly, hosts }: LinkRules): LinkPolicy {
  const allowed = hosts.map(hostRule)
  const isAllowed = (read: URL) => {
    const host = read.hostname.replace(/\.$/, '')
    return allowed.length === 0 || allowed.some(matches => matches(host))
  }
  const judge = (url: string): string | null => {
    if (url.length > MAX_LENGTH) return `is longer than ${MAX_LENGTH} characters`
    const fault = findLinkFault(url)
    if (fault !== null) return fault
    const written = /^(https?):\/\/([^/?#]+)/i.exec(url)
    const authority = written?.[2]
    if (!written || authority === undefined || !URL.canParse(url))
      return 'is not an absolute http or https link'
    if (authority.includes('@')) return 'carries user information'
    if (authority.includes('%')) return 'has an encoded host'
    const read = new URL(url)
    if (read.username !== '' || read.password !== '') return 'carries user information'
    if (httpsOnly && read.protocol !== 'https:') return 'is not an https link (LINKS_HTTPS_ONLY)'
    return isAllowed(read) ? null : NOT_ALLOWED
  }
  const inText = ({ url, hasScheme }: FoundLink): string | null => {
    const read = URL.parse(url)
    const isRestricted = httpsOnly || allowed.length > 0
    if (read === null) return isRestricted ? NOT_ALLOWED : null
    if (!/^https?:$/.test(read.protocol)) return isRestricted ? 'is not an http or https link' : null
    if (read.username !== '' || read.password !== '') return 'carries user information'
    // Without a scheme the reader's client chooses one.
    if (httpsOnly && hasScheme && read.protocol !== 'https:') return 'is not an https link (LINKS_HTTPS_ONLY)'
    return isAllowed(read) ? null : NOT_ALLOWED
  }
  return Object.assign(judge, { inText })
}

const NOT_ALLOWED = 'leads to a host that is not allowed (LINK_HOSTS)'

/** The host a link leads to, as a browser would go there (IDNs as A-labels), with its port if it names one. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : ''
}

/** The links in a running text, without the punctuation that ends a sentence after them. */
export function findLinks(text: string): readonly string[] {
  return [...text.matchAll(LINK_IN_TEXT)].map(match => match[0])
}

/** A link as it stands in running text. One that ends in a full stop or a bracket is taken to end before it. */
export const LINK_IN_TEXT = /https?:\/\/[\w\-.~:/?#[\]@!$&'()*+,;=%]*[\w\-~/#@$&*+=%]/gi

function hostRule(entry: string): (host: string) => boolean {
  const below = entry.startsWith('*.')
  const bare = below ? entry.slice(2) : entry
  const url = `http://${bare}`
  if (!/^[^\s/?#@:*\\]+$/.test(bare) || !URL.canParse(url)) {
    throw new TypeError(`not a host: ${entry} (write example.com or *.example.com)`)
  }
  const name = new URL(url).hostname.replace(/\.$/, '')
  return below ? host => host.endsWith(`.${name}`) : host => host === name
}
