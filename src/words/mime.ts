import * as base64 from 'nodemailer/lib/base64'
import * as mimeFuncs from 'nodemailer/lib/mime-funcs'
import MimeNode from 'nodemailer/lib/mime-node'
import * as qp from 'nodemailer/lib/qp'
import { ID_HEADER } from '../messages/message.ts'

export interface ComposerOptions {
  /** `Name <a@b>` or `a@b`. */
  readonly from: string
  readonly replyTo?: string
  /** The right side of every Message-ID. */
  readonly messageIdDomain: string
}

interface MailParts {
  /** The left side of the Message-ID: 32 hex digits. */
  readonly id: string
  /** One bare address. */
  readonly to: string
  readonly subject: string
  /** The Date, ms since the epoch. */
  readonly arrivedAt: number
  readonly text: Body
  readonly html: Body
}

/** The content of a part, encoded, behind the rest of its header: made by `encodeBody` or `quotedPrintable`. */
export type Body = string & { readonly [encoded]: true }
declare const encoded: unique symbol

/** No line of quoted-printable can hold `=_`, and base64 has no `_`, so no body can end its part early. */
const BOUNDARY = '=_callback-courier'
/** RFC 5322 dot-atom or quoted-string less the finer rules: nothing in it can end a header or begin another recipient. */
const BARE_ADDRESS = /^(?:[\p{L}\p{M}\p{N}_.!#$%&'*+/=?^`{|}~-]+|"[ !#-+\--;=?-[\]-~]*")@[a-z\d.-]+$/iu
const CRLF = '\r\n'
const ALTERNATIVE = `Content-Type: multipart/alternative;${CRLF} boundary="${BOUNDARY}"`
const LINE_END = /\r\n?|\n/g
/** A line that stands for itself in quoted-printable, as most do (RFC 2045, 6.7), where it is not too long. */
const PLAIN_LINE = /^(?:[ -<>-~]*[!-<>-~])?$/
const LINE_MAX = 76
/** What stands before and behind it is one line. */
export const SOFT_BREAK = `=${CRLF}`
const PART_HEAD = `; charset=utf-8${CRLF}Content-Transfer-Encoding: `
const NEXT_PART = `${CRLF}--${BOUNDARY}${CRLF}Content-Type: text/`
const LAST_LINE = `${CRLF}--${BOUNDARY}--${CRLF}`

/**
 * Composes finished mails (RFC 5322, RFC 2046 multipart/alternative, text first). Encodes with nodemailer's own encoders;
 * what it does for every mail anew (fixed headers, boundaries, lines of the layout) is done once here.
 * @throws TypeError at once when `from`, `replyTo` or `messageIdDomain` cannot stand in a header
 */
export function createComposer({
  from,
  replyTo,
  messageIdDomain,
}: ComposerOptions): (mail: MailParts) => Buffer {
  if (!/^[a-z\d](?:[a-z\d.-]*[a-z\d])?$/i.test(messageIdDomain))
    throw new TypeError('messageIdDomain is not a domain')
  const sender = addressHeader('From', from)
  // RFC 3834, 5: tells auto-responders to keep still; Exchange reads only the second.
  const fixed = [
    ...(replyTo === undefined ? [] : [addressHeader('Reply-To', replyTo)]),
    'Auto-Submitted: auto-generated',
    'X-Auto-Response-Suppress: OOF, AutoReply',
    'MIME-Version: 1.0',
    ALTERNATIVE,
    '',
  ].join(CRLF)
  return mail => {
    if (!/^[\da-f]{32}$/.test(mail.id)) throw new TypeError('id is not 32 hex digits')
    // Recipients were parsed strictly long before. A header must not depend on that.
    if (!BARE_ADDRESS.test(mail.to)) throw new TypeError('to is not a bare address')
    const head = [
      sender,
      `To: ${mail.to}`,
      subjectHeader(mail.subject),
      `Date: ${new Date(mail.arrivedAt).toUTCString().replace('GMT', '+0000')}`,
      `Message-ID: <${mail.id}@${messageIdDomain}>`,
      `${ID_HEADER}: ${mail.id}`,
      fixed,
    ].join(CRLF)
    return Buffer.from(
      `${head}${NEXT_PART}plain${mail.text}${NEXT_PART}html${mail.html}${LAST_LINE}`,
      // Only the recipient in the header may be beyond ASCII (RFC 6532); the parts are encoded.
      'utf8',
    )
  }
}

/** Encodes a part: quoted-printable, or base64 where that is shorter. Line ends become CRLF. */
export function encodeBody(text: string): Body {
  const bytes = Buffer.byteLength(text)
  // Quoted-printable takes 3 for each byte that is not ASCII, base64 4 for each 3 of all.
  if ((bytes - text.length) * 2.5 > bytes / 2) {
    const lines = base64.wrap(base64.encode(text.replace(LINE_END, CRLF)), 76)
    return `${PART_HEAD}base64${CRLF}${CRLF}${lines}` as Body
  }
  return quotedPrintable(encodeLines(text, LINE_MAX))
}

/** A part of lines that are encoded. */
export function quotedPrintable(lines: string): Body {
  return `${PART_HEAD}quoted-printable${CRLF}${CRLF}${lines}` as Body
}

/** A piece of a text in quoted-printable: a soft line break may stand before it and behind it, and its lines leave room for that. */
export function encodePiece(text: string): string {
  return encodeLines(text, LINE_MAX - 1)
}

function encodeLines(text: string, most: number): string {
  return text
    .split(LINE_END)
    .map(line => (line.length <= most && PLAIN_LINE.test(line) ? line : qp.wrap(qp.encode(line), most)))
    .join(CRLF)
}

/**
 * RFC 2047 where needed: for what is not printable ASCII, for what would be read as an encoded word, and for a word so
 * long that folding, which needs white space, could leave a line of over 998 octets (RFC 5322, 2.1.1).
 */
function subjectHeader(subject: string): string {
  const asItIs = /^[ -~]*$/.test(subject) && !subject.includes('=?') && !/\S{70}/.test(subject)
  if (asItIs) return mimeFuncs.foldLines(`Subject: ${subject}`, 76)
  const latin = subject.replace(/[^a-z]/gi, '').length
  const encoded = mimeFuncs.encodeWord(subject, latin * 2 > subject.length ? 'Q' : 'B', 52)
  return mimeFuncs.foldLines(`Subject: ${encoded}`, 76)
}

function addressHeader(key: 'From' | 'Reply-To', value: string): string {
  const encoded = MimeNode.encodeHeaderValue(key, value)
  if (/[\r\n]/.test(value) || !/@/.test(encoded)) throw new TypeError(`${key} is not an address`)
  return mimeFuncs.foldLines(`${key}: ${encoded}`, 76)
}
