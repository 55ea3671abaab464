import { Buffer } from 'node:buffer'
import type { Content } from '../messages/message.ts'

/** The parts of a sent message that must not come back from the provider into the log. */
export interface SentMessage extends Pick<Content, 'params' | 'subject' | 'plain'> {
  readonly recipient?: string
  /** The finished text, where there is one. */
  readonly text?: string
}

/** Shorter values, and shorter words of a longer one, are words of every reply. */
const SHORTEST_VALUE = 3
const SHORTEST_WORD = 4
/** Pieces of the finished text: shorter ones may be the provider's own words. */
const SHORTEST_PIECE = 12
/** Providers cut what they hand on at 200 characters. */
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
 * Removes from a provider's reply everything that the message says: whole parameters, subject and plain text, their words, the
 * pieces of the finished text, and tokens that hold any of it in percent encoding, quoted-printable, HTML entities or base64.
 * Each provider's module has removed what looks like a code, a link or an address. But a code may be a plain word, and a name
 * always is one; only here the message is known, and so which words those are.
 */
export function redactReply(reply: string, sent: SentMessage): string {
  const { params, subject = '', plain = '', recipient = '', text = '' } = sent
  const values: string[] = []
  for (const value of [...Object.values(params), subject, plain, recipient])
    if (value.length >= SHORTEST_VALUE) values.push(value)
  // Whoever handed a long reply on has cut it, so its last word may be half of a word of the message.
  let redacted = reply.length < CUT_LENGTH ? reply : reply.replace(/\S+$/, '…')
  const wholes: string[] = []
  const lowerReply = redacted.toLowerCase()
  const sentences = reply.length < SHORTEST_PIECE ? [] : `${plain}\n${text}`.split(/[\n.!?。！？]+/)
  const pieces = [...values]
  for (const sentence of sentences) if (sentence.trim().length >= SHORTEST_PIECE) pieces.push(sentence.trim())
  for (const piece of pieces)
    if (piece.length <= redacted.length && lowerReply.includes(piece.toLowerCase())) wholes.push(piece)
  for (const whole of wholes.toSorted((one, other) => other.length - one.length))
    redacted = replaceAll(redacted, whole)
  if (hasOnlyUsualWords(redacted)) return redacted
  const messageText = values.join('\n').toLowerCase()
  const lower = values.map(value => value.toLowerCase())
  return redacted
    .replace(ENCODABLE, token => (holdsEncodedMessage(token, lower, messageText, MOST_LAYERS) ? '…' : token))
    .replace(/[\p{L}\p{N}]+/gu, word => (isWordOfMessage(word, messageText) ? '…' : word))
}

/**
 * Says whether a reply has nothing but usual words, and pieces too short to be a word or an encoding of one. Nearly every
 * reply to a message that was sent is like that, and to search it for encodings would take longer than everything else.
 */
function hasOnlyUsualWords(reply: string): boolean {
  if (/[%=&]|[^\x20-\x7e…]/.test(reply)) return false
  for (const word of reply.match(/[\w+/-]{4,}/g) ?? []) if (!VOCABULARY.has(word.toLowerCase())) return false
  return true
}

function replaceAll(text: string, value: string): string {
  return text.replace(new RegExp(value.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`), 'gi'), '…')
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

/** Tokens that may be encoded: in any encoding three characters become four or more. */
const ENCODABLE = /\S{4,}/g

/** Says whether a token says something of the message once it is decoded. @param values in lower case. */
function holdsEncodedMessage(
  token: string,
  values: readonly string[],
  messageText: string,
  depth: number,
): boolean {
  if (depth === 0) return false
  for (const decoded of decodeToken(token)) {
    const lower = decoded.toLowerCase()
    for (const value of values) if (lower.includes(value)) return true
    if (decoded.length < SHORTEST_WORD) continue
    for (const word of lower.match(/[\p{L}\p{N}]+/gu) ?? [])
      if (isWordOfMessage(word, messageText)) return true
    // Bytes that are no text hold nothing that could be decoded once more.
    const isText = !/[\ufffd\p{Cc}]/u.test(decoded.replace(/[\r\n\t]/g, ''))
    if (isText && holdsEncodedMessage(decoded, values, messageText, depth - 1)) return true
  }
  return false
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
}

/** Decodes a token in every encoding that it may be in. */
function decodeToken(token: string): readonly string[] {
  const found: string[] = []
  if (/%[\da-f]{2}/i.test(token)) found.push(decodeHex(token.replaceAll('+', ' '), /(?:%[\da-f]{2})+/gi))
  if (/=[\da-f]{2}/i.test(token)) found.push(decodeHex(token.replaceAll('_', ' '), /(?:=[\da-f]{2})+/gi))
  if (/&[#\w]+;/.test(token))
    found.push(
      token.replace(/&(?:#x([\da-f]{1,6})|#(\d{1,7})|(\w{2,6}));/gi, (whole, hex, decimal, name) => {
        const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
        if (name !== undefined) return ENTITIES[String(name).toLowerCase()] ?? whole
        return code <= 0x10ffff ? String.fromCodePoint(code) : whole
      }),
    )
  for (const [run] of token.matchAll(/[a-z\d+/_-]{4,}={0,2}/gi)) {
    // A piece of it may begin anywhere in a group of four.
    for (let from = 0; from < 4; from += 1) {
      const decoded = Buffer.from(run.slice(from), 'base64').toString('utf8')
      if (decoded.length >= SHORTEST_VALUE) found.push(decoded)
    }
  }
  return found
}

function decodeHex(text: string, runs: RegExp): string {
  return text.replace(runs, run => Buffer.from(run.replace(/[%=]/g, ''), 'hex').toString('utf8'))
}
