import PostalMime from 'postal-mime'
import { ID_HEADER } from '../messages/message.ts'

/** A mail of ours that came back, or was complained of, as somebody's mail server reports it. */
export interface BouncedMail {
  /** Our id of it. */
  readonly id: string
  /** Whom it was for, by the addresses that the report has for that; any of them may be right. */
  readonly recipients: readonly string[]
  /** An enhanced status code (RFC 3463) such as `5.1.1`, or `complaint`. */
  readonly code: string
}

/** So much of a report is read: what it says stands before the mail that it gives back, or at its head. */
export const REPORT_OCTETS = 128 * 1024
/** The most lines of it: the parser takes some µs for each. A report of a mail server has some hundreds. */
const REPORT_LINES = 3000
/** The most recipients of one report that are read. Each of our mails has one. */
const MOST_RECIPIENTS = 100

/** Fields by their names in lower case; the first of a name counts. */
type Fields = ReadonlyMap<string, string>

/**
 * Reads the mails of ours that a message reports on: delivery status notifications (RFC 3464) and complaints (RFC 5965). Only what has
 * failed for good counts. Any other message reports on none, whatever it says: nothing is guessed by words.
 * @param message as it came, whole or its beginning.
 */
export async function readBounces(message: Uint8Array): Promise<readonly BouncedMail[]> {
  const mail = await parseMail(beginningOf(message))
  if (mail === null || !/^multipart\/report\b/i.test(mail.type)) return []
  const returned = fieldsOf(mail.parts.find(({ type }) => RETURNED.has(type))?.text ?? '')
  const ids = [returned.get(ID_HEADER.toLowerCase()), returned.get('message-id'), mail.inReplyTo]
  const original = { ids, to: returned.get('to') }
  const status = mail.parts.find(({ type }) => STATUS.has(type))
  if (status !== undefined) return readStatus(status.text, original)
  const feedback = mail.parts.find(({ type }) => type === 'message/feedback-report')
  return feedback === undefined ? [] : readComplaint(fieldsOf(feedback.text), original)
}

function beginningOf(message: Uint8Array): Uint8Array {
  let end = 0
  for (let lines = 0; lines < REPORT_LINES; lines += 1) {
    const next = message.indexOf(10, end)
    if (next < 0 || next >= REPORT_OCTETS) return message.subarray(0, REPORT_OCTETS)
    end = next + 1
  }
  return message.subarray(0, end)
}

const STATUS: ReadonlySet<string> = new Set(['message/delivery-status', 'message/global-delivery-status'])
const RETURNED: ReadonlySet<string> = new Set([
  'message/rfc822',
  'message/global',
  'text/rfc822-headers',
  'message/rfc822-headers',
  'message/global-headers',
])

/** The mail that a report is about, as far as the report gives it back. */
interface Original {
  /** Our id may be in any of these, the first ones first. */
  readonly ids: readonly (string | undefined)[]
  readonly to: string | undefined
}

interface Part {
  readonly type: string
  readonly text: string
}

/** @returns null: it cannot be read. */
async function parseMail(message: Uint8Array): Promise<{
  readonly type: string
  readonly inReplyTo: string | undefined
  readonly parts: readonly Part[]
} | null> {
  try {
    const { headers, inReplyTo, attachments } = await PostalMime.parse(message, {
      forceRfc822Attachments: true,
      maxNestingDepth: 10,
      maxHeadersSize: REPORT_OCTETS,
    })
    return {
      type: headers.find(({ key }) => key === 'content-type')?.value.trim() ?? '',
      inReplyTo,
      parts: attachments.map(({ mimeType, content }) => ({
        type: mimeType.toLowerCase(),
        text: Buffer.from(content as ArrayBuffer).toString('utf8'),
      })),
    }
  } catch {
    // It passes the limits, which no report of a mail server does.
    return null
  }
}

/** Reads the groups of fields of a delivery status: one about the mail, and one for each recipient. */
function readStatus(text: string, { ids }: Original): readonly BouncedMail[] {
  const groups = text
    .split(/\r?\n[ \t]*\r?\n/)
    .filter(group => group.trim() !== '')
    .slice(0, MOST_RECIPIENTS)
    .map(fieldsOf)
  const envelopeId = groups.find(each => each.has('original-envelope-id'))?.get('original-envelope-id')
  const id = findId([envelopeId, ...ids])
  if (id === undefined) return []
  return groups.flatMap(group => {
    if (group.get('action')?.toLowerCase() !== 'failed') return []
    const code = codeOf(group)
    const recipients = [group.get('original-recipient'), group.get('final-recipient')].flatMap(addressOf)
    // A full mailbox is one again that takes mail, as what failed for now is.
    return code === null || code === '5.2.2' || recipients.length === 0 ? [] : [{ id, recipients, code }]
  })
}

function readComplaint(report: Fields, { ids, to }: Original): readonly BouncedMail[] {
  const id = findId([report.get('original-envelope-id'), ...ids])
  const recipients = addressOf(report.get('original-rcpt-to') ?? to)
  if (id === undefined || recipients.length === 0) return []
  return report.get('feedback-type')?.toLowerCase() === 'abuse' ? [{ id, recipients, code: 'complaint' }] : []
}

/** Finds our id: in the envelope id, our own header, the Message-ID, or what the report is an answer to. */
function findId(ids: readonly (string | undefined)[]): string | undefined {
  for (const each of ids) {
    const id = /^<?([0-9a-f]{32})(?:@|$)/.exec(each ?? '')?.[1]
    if (id !== undefined) return id
  }
  return undefined
}

/** The code of what failed for good; null: it may work later, or nobody says. The server's own is taken where the status says nothing more. */
function codeOf(group: Fields): string | null {
  const status = /^([245])\.(\d{1,3})\.(\d{1,3})\b/.exec(group.get('status') ?? '')
  const said = /\b5\d\d[- ](5\.\d{1,3}\.\d{1,3})\b/.exec(
    group.get('diagnostic-code')?.slice(0, 1000) ?? '',
  )?.[1]
  if (status === null) return said ?? null
  if (status[1] !== '5') return null
  return status[2] === '0' && said !== undefined ? said : status[0]
}

/** The address of a field such as `rfc822; <ann@example.com>`, or none. */
function addressOf(field: string | undefined): readonly string[] {
  const text = (field ?? '')
    .slice(0, 1000)
    .replace(/^[\w-]+;/, '')
    .trim()
  const address = /<([^<>]*)>$/.exec(text)?.[1] ?? text
  return address.includes('@') ? [address] : []
}

/** Reads fields up to the first empty line: names, colons and values that may go on in the next line. */
function fieldsOf(text: string): Fields {
  const fields = new Map<string, string>()
  const [head = ''] = text.replace(/^(?:[ \t]*\r?\n)+/, '').split(/\r?\n[ \t]*\r?\n/, 1)
  for (const line of head.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)) {
    const at = line.indexOf(':')
    const name = line.slice(0, Math.max(at, 0)).trim().toLowerCase()
    if (name !== '' && !fields.has(name)) fields.set(name, line.slice(at + 1).trim())
  }
  return fields
}
