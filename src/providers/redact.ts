import { Buffer } from 'node:buffer'
import type { Content } from '../messages/message.ts'

/** A message, as far as a foreign text may repeat it; both forms of an outgoing message are one. */
export interface RepeatedMessage {
  /** The address or number that it goes to. */
  readonly to: string
  readonly content?: Pick<Content, 'params' | 'subject' | 'plain'>
  /** The finished text of an SMS. A mail's adds only words of ours, which are no secret. @throws Error there is none */
  readonly text?: () => string
}

/** There is no message: a login, or a question about a template. */
export const NO_MESSAGE: RepeatedMessage = { to: '' }

/**
 * Makes what somebody else said fit to be logged, stored and shown. All that a provider says comes through here as soon as it
 * is read, so whatever an outcome holds is redacted.
 */
export interface Redactor {
  /**
   * A provider's words: one line, at most 200 characters, without the recipient, any address, link or anything that could be a
   * code, and without anything that the message says. Servers repeat the address they refuse and some quote the message, so
   * whatever looks like one of these goes, even when it was harmless (a host's name with a digit in it).
   */
  reply(text: string): string
  /**
   * A provider's code: a short word that repeats neither the recipient's number nor a secret; undefined: it is none. A word
   * without digits, or a shorter one, may stand in a code by chance.
   */
  code(code: string): string | undefined
}

/** @param secrets passwords and the like that the provider knows of us. */
export function createRedactor(message: RepeatedMessage, secrets: readonly string[] = []): Redactor {
  return {
    reply: text => hideMessage(presentLine(text, message.to, secrets), message).toWellFormed(),
    code(code) {
      // Carriers write a number in several ways, which have its end in common.
      const hidden = [message.to.slice(-8), ...secrets].filter(each => each.length >= 4)
      const repeats = hidden.some(each => each === code || (/\d/.test(each) && code.includes(each)))
      return repeats || !/^[\x21-\x7e]{1,80}$/.test(code) ? undefined : code
    },
  }
}

/** A provider's id or status as it may be stored, logged and shown: a short word of printable ASCII; undefined: it is none. */
export function readWord(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\x21-\x7e]{1,64}$/.test(value) ? value : undefined
}

const MAX_LENGTH = 200
/**
 * So much of a reply is looked at, in which the recipient and secrets are hidden, and then so much of that, in which addresses and
 * codes are looked for: that takes the square of its length, and with 2,000 letters in front of an @ cost 8 ms.
 */
const READ_LENGTH = 2_000
const LOOKED_AT_LENGTH = 600

/** One line without recipient, secrets, addresses, links and what may be a code. */
function presentLine(text: string, recipient: string, secrets: readonly string[]): string {
  let line = text.slice(0, READ_LENGTH).replace(/[\p{C}\p{Z}]+/gu, ' ')
  for (const secret of secrets) line = replaceAll(line, secret, '…')
  line = replaceAll(line, recipient, '<recipient>')
  if (line.length > LOOKED_AT_LENGTH) {
    // It ends before a word: half an address would not be known for one.
    const end = line.lastIndexOf(' ', LOOKED_AT_LENGTH)
    line = line.slice(0, end < MAX_LENGTH ? LOOKED_AT_LENGTH : end)
  }
  // Nearly no reply to a message that was sent has anything to take out, so it is looked for first.
  if (/:\/\/|www\./i.test(line)) line = line.replace(/(?:\b[a-z][a-z0-9+.-]*:\/\/|\bwww\.)\S+/gi, '<link>')
  if (line.includes('@'))
    line = line.replace(/<?(?:"[^\s"]{1,64}"|[^\s<>()[\]"',;]+)@[^\s<>()[\]"',;]+>?/g, '<address>')
  return line
    .replace(/[^\s<>()[\]"',;:]*\d[^\s<>()[\]"',;:]*/g, hideCode)
    .trim()
    .slice(0, MAX_LENGTH)
}

/** Hides a word that may be a code: four digits in a row, or letters and digits mixed; `550` and `5.7.26` are neither. */
function hideCode(word: string): string {
  const mayBeCode = /\d(?:[-. ]?\d){3}/.test(word)
    ? !/^\d\.\d{1,3}\.\d{1,3}\.?$/.test(word)
    : /\d/.test(word) && /\p{L}/u.test(word) && word.length >= 4
  return mayBeCode ? '…' : word
}

function replaceAll(text: string, found: string, by: string): string {
  const bare = found.replace(/^\+/, '')
  if (bare.length < 3 || !text.toLowerCase().includes(bare.toLowerCase())) return text
  return text.replace(new RegExp(String.raw`<?\+?${RegExp.escape(bare)}>?`, 'gi'), by)
}

/** Shorter values, and shorter words of a longer one, are words of every reply. */
const SHORTEST_VALUE = 3
const SHORTEST_WORD = 4
/** Pieces of the finished text: shorter ones may be the provider's own words. */
const SHORTEST_PIECE = 12
/** What is so long was cut at 200 characters. */
const CUT_LENGTH = 199
/** Words that replies are made of. A message that consists of them alone has nothing to hide. */
const VOCABULARY: ReadonlySet<string> = new Set(
  `accepted account address again authentication blocked cannot code connection content delivery denied email error
  failed invalid length limit long mail mailbox message messages number policy queued quota recipient refused rejected
  relay request sender sending sent server service spam status temporary text that this time timeout unknown user with
  your from have been`.split(/\s+/),
)
/** The most layers of encodings within encodings that are decoded. */
const MOST_LAYERS = 3

/**
 * Removes from a line everything that the message says: whole parameters, subject and plain text, their words, the pieces of the
 * finished text, and tokens that hold any of it in base64 or may hold it in another encoding. A code may be a
 * plain word, and a name always is one.
 */
function hideMessage(line: string, message: RepeatedMessage): string {
  if (message.content === undefined) return line
  const { params, subject = '', plain = '' } = message.content
  const said = [...Object.values(params), subject, plain, message.to]
  const values = said.filter(value => value.length >= SHORTEST_VALUE)
  // What was cut may end with half of a word of the message.
  let redacted = line.length < CUT_LENGTH ? line : line.replace(/\S+$/, '…')
  const lowerLine = redacted.toLowerCase()
  const sentences = line.length < SHORTEST_PIECE ? [] : `${plain}\n${textOf(message)}`.split(/[\n.!?。！？]+/)
  const pieces = sentences.map(sentence => sentence.trim()).filter(({ length }) => length >= SHORTEST_PIECE)
  // The text of a mail is mostly longer than any reply.
  const short = [...values, ...pieces].filter(({ length }) => length <= redacted.length)
  const wholes = short.filter(piece => lowerLine.includes(piece.toLowerCase()))
  for (const whole of wholes.toSorted((one, other) => other.length - one.length))
    redacted = redacted.replace(new RegExp(RegExp.escape(whole), 'gi'), '…')
  if (hasOnlyUsualWords(redacted)) return redacted
  const messageText = values.join('\n').toLowerCase()
  const lower = values.map(value => value.toLowerCase())
  return redacted
    .replace(ENCODABLE, token => (holdsEncodedMessage(token, lower, messageText, MOST_LAYERS) ? '…' : token))
    .replace(/[\p{L}\p{N}]+/gu, word => (isWordOfMessage(word, messageText) ? '…' : word))
}

function textOf({ text }: RepeatedMessage): string {
  try {
    return text?.() ?? ''
  } catch {
    // It was sent as a template, and was never put into words.
    return ''
  }
}

/**
 * Says whether a reply has nothing but usual words, and pieces too short to be a word or an encoding of one. Nearly every
 * reply to a message that was sent is like that, and to search it for encodings would take longer than everything else.
 */
function hasOnlyUsualWords(reply: string): boolean {
  if (/[%=&]|[^\x20-\x7e…]/.test(reply)) return false
  return (reply.match(/[\w+/-]{4,}/g) ?? []).every(word => VOCABULARY.has(word.toLowerCase()))
}

/** @param messageText everything that the message says, in lower case. */
function isWordOfMessage(word: string, messageText: string): boolean {
  const lower = word.toLowerCase()
  if (lower.length < SHORTEST_WORD || VOCABULARY.has(lower)) return false
  for (let at = messageText.indexOf(lower); at >= 0; at = messageText.indexOf(lower, at + 1))
    if (!isPartOfWord(messageText[at - 1]) && !isPartOfWord(messageText[at + lower.length])) return true
  return false
}

function isPartOfWord(character: string | undefined): boolean {
  return character !== undefined && /[\p{L}\p{N}]/u.test(character)
}

/**
 * Percent encoding, quoted-printable (in capitals, or two of it in a row) and HTML entities: what may have them goes, whatever it
 * says. A single one in small letters is also in `spf=fail` and `key=default`.
 */
const ENCODED = /%[\da-fA-F]{2}|=[\dA-F]{2}|(?:=[\da-fA-F]{2}){2}|&#\w+;/
const SINGLE_QUOTED = /[\p{L}\p{N}]*=[\da-fA-F]{2}[\p{L}\p{N}]*/gu

/** Says whether a token may be a word of the message with one character in quoted-printable, which may be any: nobody says of which charset. */
function mayQuoteWord(token: string, messageText: string): boolean {
  return (token.match(SINGLE_QUOTED) ?? []).some(word => {
    const pattern = word.toLowerCase().replace(/=../, '.')
    const isWord = new RegExp(`(?<![\\p{L}\\p{N}])${pattern}(?![\\p{L}\\p{N}])`, 'u')
    return pattern.length >= SHORTEST_VALUE && isWord.test(messageText)
  })
}

/** Tokens that may be base64: in it three characters become four. */
const ENCODABLE = /\S{4,}/g

/** Says whether a token may say something of the message once it is decoded. @param values in lower case. */
function holdsEncodedMessage(
  token: string,
  values: readonly string[],
  messageText: string,
  depth: number,
): boolean {
  if (ENCODED.test(token) || mayQuoteWord(token, messageText)) return true
  if (depth === 0) return false
  return decodeBase64(token).some(decoded => {
    const lower = decoded.toLowerCase()
    if (values.some(value => lower.includes(value))) return true
    if (decoded.length < SHORTEST_WORD) return false
    const words = lower.match(/[\p{L}\p{N}]+/gu) ?? []
    if (words.some(word => isWordOfMessage(word, messageText))) return true
    // Bytes that are no text hold nothing that could be decoded once more.
    const isText = !/[\ufffd\p{Cc}]/u.test(decoded.replace(/[\r\n\t]/g, ''))
    return isText && holdsEncodedMessage(decoded, values, messageText, depth - 1)
  })
}

/** Decodes what may be base64 in a token. */
function decodeBase64(token: string): readonly string[] {
  const found: string[] = []
  for (const [run] of token.matchAll(/[a-z\d+/_-]{4,}={0,2}/gi)) {
    // A piece of it may begin anywhere in a group of four.
    for (let from = 0; from < 4; from += 1) {
      const decoded = Buffer.from(run.slice(from), 'base64').toString('utf8')
      if (decoded.length >= SHORTEST_VALUE) found.push(decoded)
    }
  }
  return found
}
