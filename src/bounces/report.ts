import { ID_HEADER } from '../messages/message.ts'

/** A mail of ours that came back, or was complained of, as somebody's mail server reports it. */
export interface BouncedMail {
  /** Our id of it. */
  readonly id: string
  /** Whom it was for, by the addresses that the report has for that; any of them may be right. */
  readonly recipients: readonly string[]
  /** An enhanced status code (RFC 3463) such as `5.1.1`, `complaint`, or `arrived`. */
  readonly code: string
  /** What the server that did not take it said of that; empty: nothing. A stranger wrote it. */
  readonly said: string
}

/** So much of a report is read: what it says stands before the mail that it gives back, or at its head. */
export const REPORT_OCTETS = 128 * 1024
/** So much of its head is read, and of each part: what they say stands at their beginning. */
const PART_LENGTH = 64 * 1024
/** The most parts of one report that are looked at. A report of a mail server has two or three. */
const MOST_PARTS = 20
/** The most recipients of one report that are read. Each of our mails has one. */
const MOST_RECIPIENTS = 100
/** So much of a field is read, and so much of a part that is encoded. */
const FIELD_LENGTH = 1000
const ENCODED_LENGTH = 16 * 1024

/** The fields that count. Strangers write all others, in forms that take long to read. */
const FIELD = new RegExp(
  `^(${[
    ID_HEADER,
    'content-type|content-transfer-encoding|message-id|in-reply-to|to|original-envelope-id|original-recipient',
    'final-recipient|action|status|diagnostic-code|feedback-type|original-rcpt-to',
  ].join('|')})[ \\t]*:([^\\n]*)`,
  'gim',
)
/** The look behind is for carriage returns alone: without it each of them would be a place to begin from, which takes the square of the time. */
const FOLD = /(?<!\r)\r*\n[ \t]+/g
const EMPTY_LINES = /\n(?:[ \t\r]*\n)+/
/** Fields by their names in lower case; the first of a name counts. */
type Fields = ReadonlyMap<string, string>

/**
 * Reads the mails of ours that a message reports on: delivery status notifications (RFC 3464) and complaints (RFC 5965). Only what has
 * failed for good counts. A mail of ours itself has arrived. Any other message reports on none, whatever it says: nothing is guessed by words.
 *
 * Anybody may write such a message, so its octets are gone through a few times at most: once for its parts, then for their fields.
 * @param message as it came, whole or its beginning.
 */
export function readBounces(message: Uint8Array): readonly BouncedMail[] {
  const text = new TextDecoder().decode(message.subarray(0, REPORT_OCTETS))
  const [first = ''] = groupsOf(text)
  const head = readFields(first)
  const boundary = BOUNDARY.exec(head.get('content-type') ?? '')
  if (boundary === null) return readArrived(head)
  const parts = partsOf(text, boundary[1] ?? boundary[2] ?? '')
  const find = (type: RegExp) => parts.find(part => type.test(part.type))?.groups.map(readFields)
  const [returned] = find(RETURNED) ?? []
  const ids = [returned?.get(ID_HEADER.toLowerCase()), returned?.get('message-id'), head.get('in-reply-to')]
  const original = { ids, to: returned?.get('to') }
  const status = find(STATUS)
  if (status !== undefined) return readStatus(status, original)
  return readComplaint(find(COMPLAINT)?.[0] ?? new Map(), original)
}

const BOUNDARY = /^multipart\/report\b.*?;\s*boundary\s*=\s*(?:"([^"]+)"|([^\s";]+))/is
const STATUS = /^message\/(?:global-)?delivery-status$/
const COMPLAINT = /^message\/feedback-report$/
const RETURNED = /^(?:message\/(?:rfc822|global)(?:-headers)?|text\/rfc822-headers)$/

/** The mail that a report is about, as far as the report gives it back. */
interface Original {
  /** Our id may be in any of these, the first ones first. */
  readonly ids: readonly (string | undefined)[]
  readonly to: string | undefined
}

interface Part {
  /** In lower case. */
  readonly type: string
  readonly groups: readonly string[]
}

/** Lists the parts of a report. What parts of these have is not looked at: a report says nothing there. */
function partsOf(text: string, boundary: string): readonly Part[] {
  const delimiter = new RegExp(`\\n--${RegExp.escape(boundary)}(--)?[ \\t]*(?=\\r?\\n|$)`)
  const pieces = text.split(delimiter, 1 + 2 * MOST_PARTS)
  const parts: Part[] = []
  // Each part stands behind the end of its delimiter; what is behind the last delimiter is none.
  for (let at = 1; at < pieces.length && pieces[at] !== '--'; at += 2)
    parts.push(readPart(pieces[at + 1] ?? ''))
  return parts
}

function readPart(text: string): Part {
  const [first = '', ...groups] = groupsOf(text)
  const head = readFields(first)
  const type = /^[^\s;(]*/.exec(head.get('content-type')?.toLowerCase() ?? '')?.[0] ?? ''
  const encoding = head.get('content-transfer-encoding')?.toLowerCase() ?? ''
  const decoded = decode(groups.join('\n\n').slice(0, ENCODED_LENGTH), encoding)
  return { type, groups: decoded === null ? groups : groupsOf(decoded) }
}

/** The groups of lines of a text, which empty lines end. */
function groupsOf(text: string): readonly string[] {
  return text
    .slice(0, PART_LENGTH)
    .replace(/^\s+/, '')
    .split(EMPTY_LINES, 1 + MOST_RECIPIENTS)
}

/** Reads the fields of a group that count: names, colons, and values that may go on in the next line. */
function readFields(group: string): Fields {
  const fields = new Map<string, string>()
  for (const [, name = '', value = ''] of group.replace(FOLD, ' ').matchAll(FIELD)) {
    const key = name.toLowerCase()
    if (!fields.has(key)) fields.set(key, value.slice(0, FIELD_LENGTH).trim())
  }
  return fields
}

/** @returns null: it is not encoded. */
function decode(text: string, encoding: string): string | null {
  if (encoding === 'base64') return Buffer.from(text, 'base64').toString('utf8')
  return encoding === 'quoted-printable' ? bytesOf(text.replace(/=\r?\n/g, '')).toString('utf8') : null
}

/** Reads the groups of fields of a delivery status: one about the mail, and one for each recipient. */
function readStatus(groups: readonly Fields[], { ids }: Original): readonly BouncedMail[] {
  const envelopeId = groups.find(each => each.has('original-envelope-id'))?.get('original-envelope-id')
  const id = findId([envelopeId, ...ids])
  if (id === undefined) return []
  const failed = groups.filter(group => group.get('action')?.toLowerCase() === 'failed')
  return failed.flatMap((group, at) => {
    const code = codeOf(group)
    const recipients = [group.get('original-recipient'), group.get('final-recipient')].flatMap(addressOf)
    // Each of our mails has one recipient: a hundred replies, made to take long to decode, cost no more than one.
    const reply = at === 0 ? (group.get('diagnostic-code')?.replace(/^[\w-]+;\s*/, '') ?? '') : ''
    // In a reply of several lines a hyphen follows the number.
    const said = decodeWords(reply).replace(/\b(\d{3})-(?=[45]\.)/g, '$1 ')
    return code === null || recipients.length === 0 ? [] : [{ id, recipients, code, said }]
  })
}

function readComplaint(report: Fields, { ids, to }: Original): readonly BouncedMail[] {
  const id = findId([report.get('original-envelope-id'), ...ids])
  const recipients = addressOf(report.get('original-rcpt-to') ?? to)
  const isAbuse = report.get('feedback-type')?.toLowerCase() === 'abuse'
  return id === undefined || recipients.length === 0 || !isAbuse
    ? []
    : [{ id, recipients, code: 'complaint', said: '' }]
}

function readArrived(head: Fields): readonly BouncedMail[] {
  const id = findId([head.get(ID_HEADER.toLowerCase())])
  return id === undefined ? [] : [{ id, recipients: addressOf(head.get('to')), code: 'arrived', said: '' }]
}

/** Finds our id: in the envelope id, our own header, the Message-ID, or what the report is an answer to. */
function findId(ids: readonly (string | undefined)[]): string | undefined {
  for (const each of ids) {
    const id = /^<?([0-9a-f]{32})(?:@|$)/.exec(each ?? '')?.[1]
    if (id !== undefined) return id
  }
  return undefined
}

/**
 * The code of what failed for good, which may be of the class that speaks of a fault for now: then the queue gave up. The server's own
 * is taken where the status says nothing more. @returns null: it has none, or one of success
 */
function codeOf(group: Fields): string | null {
  const status = /^([245])\.(\d{1,3})\.(\d{1,3})\b/.exec(group.get('status') ?? '')
  const said = /\b[45]\d\d[- ]([45]\.\d{1,3}\.\d{1,3})\b/.exec(group.get('diagnostic-code') ?? '')?.[1]
  if (status === null) return said ?? null
  if (status[1] === '2') return null
  return status[2] === '0' && said !== undefined ? said : status[0]
}

/** Decodes the words of a text that are encoded (RFC 2047), of any charset that Node knows. */
function decodeWords(text: string): string {
  return text.replace(/=\?([\w-]{1,40})\?([bq])\?([^?\s]*)\?=/gi, (whole, charset, form, data) => {
    const bytes =
      form.toLowerCase() === 'b' ? Buffer.from(data, 'base64') : bytesOf(data.replaceAll('_', ' '))
    try {
      return new TextDecoder(charset).decode(bytes)
    } catch {
      return whole
    }
  })
}

/** The bytes of a text in which =3D and the like stand for one. */
function bytesOf(text: string): Buffer {
  const byte = (_: string, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))
  return Buffer.from(text.replace(/=([\da-f]{2})/gi, byte), 'latin1')
}

/** The address of a field such as `rfc822; <ann@example.com>`, or none. */
function addressOf(field: string | undefined): readonly string[] {
  const text = (field ?? '').replace(/^[\w-]+;/, '').trim()
  const address = /<([^<>]*)>$/.exec(text)?.[1] ?? text
  return address.includes('@') ? [address] : []
}
