import { domainToUnicode } from 'node:url'
import { LinkifyIt } from 'linkify-it'
import tlds from 'tlds' with { type: 'json' }
import { findLinkFault } from './characters.ts'

/** Longest link that is passed on. Mail clients and browsers get unreliable beyond. */
const MAX_LENGTH = 4096

export interface LinkPolicy {
  /** Says why a link must not be sent, never containing the link; null when it may. */
  (url: string): string | null
  /** The same for one that a mail client or a phone finds in running text, where nobody may have meant one. */
  inText(link: FoundLink): string | null
}

interface LinkRules {
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
  const judgeRead = (read: URL, hasScheme: boolean): string | null => {
    if (read.username !== '' || read.password !== '') return 'carries user information'
    // Without a scheme the reader's client chooses one.
    if (httpsOnly && hasScheme && read.protocol !== 'https:') return 'is not an https link (LINKS_HTTPS_ONLY)'
    return isAllowed(read) ? null : NOT_ALLOWED
  }
  const judge = (url: string): string | null => {
    if (url.length > MAX_LENGTH) return `is longer than ${MAX_LENGTH} characters`
    const fault = findLinkFault(url)
    if (fault !== null) return fault
    const authority = /^https?:\/\/([^/?#]+)/i.exec(url)?.[1]
    const read = URL.parse(url)
    if (authority === undefined || read === null) return 'is not an absolute http or https link'
    if (authority.includes('@')) return 'carries user information'
    return authority.includes('%') ? 'has an encoded host' : judgeRead(read, true)
  }
  const inText = ({ url, hasScheme }: FoundLink): string | null => {
    const read = URL.parse(url)
    const isRestricted = httpsOnly || allowed.length > 0
    if (read === null) return isRestricted ? NOT_ALLOWED : null
    if (!/^https?:$/.test(read.protocol)) return isRestricted ? 'is not an http or https link' : null
    return judgeRead(read, hasScheme)
  }
  return Object.assign(judge, { inText })
}

const NOT_ALLOWED = 'leads to a host that is not allowed (LINK_HOSTS)'

/** The host a link leads to, as a browser would go there (IDNs as A-labels), with its port if it names one. */
export function hostOf(url: string): string {
  return URL.parse(url)?.host ?? ''
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

/** A link that a mail client or a phone would make of a part of a text, whether or not it was meant for one. */
interface FoundLink {
  /** Where it stands in the text, UTF-16. */
  readonly from: number
  readonly to: number
  /** The link as a browser would open it: with a scheme, its letters mapped; one that is not http or https keeps its own. */
  readonly url: string
  /** It says whether the scheme stands in the text. */
  readonly hasScheme: boolean
}

/** Without one of these there is no link, and most texts have none of them: looking for links takes a hundred times as long. */
const PERHAPS = /[.\u3002\uff0e\uff61\u2024][^\s]|\/\//
/** Longest that is looked at as one; what is left may be another. It bounds the time that a hostile text takes. */
const LONGEST = 512
/** Reserved names (RFC 2606, RFC 6761) that no registry has, but a network may. */
const RESERVED = ['example', 'test', 'invalid', 'local', 'internal', 'onion']
const TOP_LEVELS = new Set([...tlds, ...RESERVED])
/** Links that linkify-it does not know: `www.` in front of anything, and an app's own scheme. */
const WWW_OR_SCHEME =
  /(?<![a-z\d])(?:www\.[^\s<>"/.]{1,63}\.|([a-z][a-z\d+.-]{1,30}:\/\/))[^\s<>"\u3000-\u303f\uff00-\uff20]{1,512}/giu
/** What stands between names of hosts, where it is no part of a person's address: `lin.me+news@example.com` is one. */
const BETWEEN_NAMES = new RegExp(
  [
    /[^\p{L}\p{M}\p{N}.+%@-]/u,
    /[+%](?![\w.+%-]{0,64}@)/u,
    /(?<![\w.+%-])@|@(?![\p{L}\p{N}])/u,
    /(?<![\p{L}\p{N}-])-+|(?<!-)-+(?![\p{L}\p{N}@-])/u,
    // linkify-it reads no name of more labels.
    /(?<![\p{L}\p{N}])\.|\.(?=(?:[\p{L}\p{N}-]{1,63}\.){5})/u,
  ]
    .map(({ source }) => source)
    .join('|'),
  'gu',
)
/** A label that is too long for a name (RFC 1035), up to its last dash: what stands behind that may be one. */
const LABEL_TOO_LONG = /(?=[^\s.]{64})(?:[^\s.]*-|[^\s.]*)/gu
const IDEOGRAPHIC_DOT = /[\u3002\uff61]/
/** Scripts that are written without blanks, or whose particles follow a word at once: a name of another script may stand in them. */
const UNSPACED =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u
const ALL_UNSPACED = new RegExp(UNSPACED, 'gu')
const WORDS_BEFORE_WWW = new RegExp(`${UNSPACED.source}www\\.`, 'iu')

let linkify: LinkifyIt | undefined

/** Makes the finder with the first text that may hold a link, since its expressions take some milliseconds. */
function openLinkify(): LinkifyIt {
  return (linkify ??= new LinkifyIt({
    fuzzyLink: true,
    fuzzyIP: true,
    fuzzyEmail: true,
    urlAuth: true,
    maxLength: LONGEST,
    tlds: [...TOP_LEVELS],
  }))
}

/**
 * Finds what mail clients and phones turn into links: with a scheme, with `www.`, and bare names under a top-level domain
 * that there is, in any script, with the characters mapped as browsers do (UTS 46: full-width letters, ideographic full
 * stops, characters that nobody sees). Addresses of people are none.
 *
 * A text that is written without blanks is also read as if its other script stood alone: `请登录www.example.com查看`.
 */
export function findLinksInText(text: string): readonly FoundLink[] {
  if (!PERHAPS.test(text)) return []
  const mapped = mapCharacters(text)
  const found = read(mapped)
  if (!UNSPACED.test(mapped.text)) return found
  const others = mapped.text.replace(ALL_UNSPACED, letter => ' '.repeat(letter.length))
  const alone = read({ ...mapped, text: others }).filter(({ url }) => /^[a-z]+:\/\/[^/?#]*\./i.test(url))
  const starts = new Set(alone.map(({ from }) => from))
  const begun = alone.filter(({ url }) => /^http:\/\/www\./i.test(url))
  /** Nobody would take the words for a part of it: in front of `www.`, or behind a top-level domain, where none is left with them. */
  const hasWordsAround = ({ from, to, url }: FoundLink) =>
    (starts.has(from) && endsInWords(url)) ||
    (WORDS_BEFORE_WWW.test(url) && begun.some(www => from < www.from && www.from < to))
  const left = found.filter(link => !hasWordsAround(link))
  const known = new Set(left.map(({ from, to }) => `${from}-${to}`))
  return [...left, ...alone.filter(({ from, to }) => !known.has(`${from}-${to}`))]
}

function endsInWords(url: string): boolean {
  const host = URL.parse(url)?.hostname ?? ''
  const last = host.slice(host.lastIndexOf('.') + 1)
  return last.startsWith('xn--') && !TOP_LEVELS.has(domainToUnicode(last))
}

const DOT_OR_SCHEME = /[.\u3002\uff0e\uff61\u2024](?=\S)|:(?=\/\/)/gu
/** It finds what is a link without a dot: an IPv6 address behind two slashes. */
const DOT_OR_SLASH = /[.\u3002\uff0e\uff61\u2024](?=\S)|[:/](?=\/)/gu
/** A link can be left of what stood around another one; texts in which that happens often are made for it. */
const MOST_ROUNDS = 5

/**
 * A text in which no mail client and no phone finds a link: a blank stands behind each dot of one, and behind the colon of its
 * scheme. It reads the same, and nothing can be clicked.
 */
export function defuseLinks(text: string): string {
  let defused = text
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const links = findLinksInText(defused)
    if (links.length === 0) return defused
    defused = withBlanks(defused, links, round === 0 ? DOT_OR_SCHEME : DOT_OR_SLASH)
  }
  return defused.replace(DOT_OR_SLASH, '$& ')
}

function withBlanks(text: string, links: readonly FoundLink[], before: RegExp): string {
  const isInLink = new Uint8Array(text.length)
  for (const { from, to } of links) isInLink.fill(1, from, to)
  return text.replace(before, (sign, at: number) => (isInLink[at] === 1 ? `${sign} ` : sign))
}

interface Mapped {
  readonly text: string
  /** The place at which each character of `text` stood, and one more for the end. */
  readonly places: readonly number[] | null
}

/** What never stays as it is: what nobody sees, and the dots of other scripts. */
const NEVER_PLAIN = /[\p{Default_Ignorable_Code_Point}\u3002\uff61]/u

/** The text with each character as UTS 46 maps it, where that is one of a host's name. */
function mapCharacters(text: string): Mapped {
  if (!NEVER_PLAIN.test(text) && text.normalize('NFKC') === text) return { text, places: null }
  let mapped = ''
  const places: number[] = []
  let at = 0
  const known = new Map<string, string>()
  for (const character of text) {
    let plain = character <= '~' ? character : known.get(character)
    if (plain === undefined && IDEOGRAPHIC_DOT.test(character)) {
      const next = String.fromCodePoint(text.codePointAt(at + 1) ?? 0x20)
      // It ends a sentence as well, and then the next one begins.
      plain = /[\p{L}\p{N}]/u.test(next) && !UNSPACED.test(next) ? '.' : character
    } else if (plain === undefined) {
      plain = mapCharacter(character)
      known.set(character, plain)
    }
    mapped += plain
    for (let unit = 0; unit < plain.length; unit += 1) places.push(at)
    at += character.length
  }
  places.push(at)
  return { text: mapped, places }
}

function mapCharacter(character: string): string {
  if (UNSPACED.test(character)) return character
  if (/\p{Default_Ignorable_Code_Point}/u.test(character)) return ''
  const compatible = character.normalize('NFKC')
  return /^[\p{L}\p{N}.-]$/u.test(compatible) ? compatible : character
}

interface Found {
  readonly index: number
  readonly raw: string
  readonly url: string
  readonly hasScheme: boolean
}

/** Reads a text three times, each time without what was found before: as it is, for what linkify-it does not know, and for bare names. */
function read({ text, places }: Mapped): readonly FoundLink[] {
  const place = (at: number) => (places === null ? at : (places[at] ?? at))
  const links: FoundLink[] = []
  let rest = text
  for (const find of [findPlain, findUnknown, findNames]) {
    let left = ''
    let done = 0
    for (const { index, raw, url, hasScheme } of find(rest)) {
      const end = index + raw.length
      links.push({ from: place(index), to: place(end), url, hasScheme })
      left += rest.slice(done, index) + ' '.repeat(raw.length)
      done = end
    }
    rest = left + rest.slice(done)
  }
  return links
}

function* findPlain(text: string): Iterable<Found> {
  // No registry has names with an underscore, but many a network, and clients do not mind it.
  const readable = withFewSigns(text.replaceAll('_', '-'))
  for (const { schema, index, lastIndex, raw } of openLinkify().match(readable) ?? []) {
    // An address of a person, unless a path follows it. What stands in it may be a link by itself.
    if (schema === 'mailto:' && !/^[/:?#]\S/.test(text.slice(lastIndex, lastIndex + 2))) continue
    const hasScheme = schema !== '' && schema !== '//' && schema !== 'mailto:'
    yield { index, raw, url: hasScheme ? raw : `http://${raw.replace(/^\/\/|^mailto:/i, '')}`, hasScheme }
  }
}

function* findUnknown(text: string): Iterable<Found> {
  for (const { 0: raw, 1: scheme, index } of text.matchAll(WWW_OR_SCHEME)) {
    const hasScheme = scheme !== undefined
    yield { index, raw, url: hasScheme ? raw : `http://${raw}`, hasScheme }
  }
}

/** Finds bare names with anything around them: a port, a sign (`Site:evil.com`, `evil.com|`), a part of an address in front of its @. */
function* findNames(text: string): Iterable<Found> {
  const names = text
    .replace(BETWEEN_NAMES, between => ' '.repeat(between.length))
    .replace(LABEL_TOO_LONG, label => ' '.repeat(label.length))
  // Mostly nothing is left that may be one.
  if (!/\S\.\S/.test(names)) return
  for (const { schema, index, raw } of openLinkify().match(names) ?? [])
    if (schema === '') yield { index, raw, url: `http://${raw}`, hasScheme: false }
}

/** Signs at which linkify-it begins to look for a name, and which it reads over within one. */
const SIGNS = /[$+<=>^`|\uff5c]/g
const SIGNS_BEFORE_TEXT = /[$+<=>^`|\uff5c](?![\s$+<=>^`|\uff5c])/g
const MOST_SIGNS = 1000

/**
 * A text in which so many signs stand within words that linkify-it, which reads 64 characters behind each, would take a quarter
 * of a second gets blanks for them. What a sign separates is still found here and by `findOthers`, which reads the text itself.
 */
function withFewSigns(text: string): string {
  let count = 0
  for (const _ of text.matchAll(SIGNS_BEFORE_TEXT)) {
    count += 1
    if (count > MOST_SIGNS) return text.replace(SIGNS, ' ')
  }
  return text
}
