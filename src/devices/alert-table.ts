import { say, tell, type Words } from '../language/sentence.ts'
import type { Channel } from '../messages/message.ts'
import { type KnownTopic, topicFor } from './message.ts'
import { type Occurrence, SOURCES, type Source } from './occurrence.ts'

export interface AlertRecipient {
  readonly channel: Channel
  /** A bare address, or E.164. */
  readonly to: string
  readonly masked: string
  /** ISO 3166, SMS only. */
  readonly country?: string
}

/** A row of the alert table: which alerts go to whom, how often, in which language. */
export interface AlertRow {
  readonly source: Source
  /** The row is about this product's devices alone; null: about every product's. */
  readonly product: string | null
  /** The shortest time between two alarms of a device and rule, ms; 0: each is sent. */
  readonly everyMs: number
  /** Language of the words; null: the service's, or that of the number's country. */
  readonly locale: string | null
  readonly recipients: readonly AlertRecipient[]
}

/** A fault in a line. Never holds a recipient. */
export interface AlertTableFault {
  /** Lines count from 1. */
  readonly line: number
  /** Rows of a line that has several count from 1. */
  readonly row?: number
  readonly problem: Words
}

export interface AlertTableDeps {
  /** Parses a bare address or an international number; for one that is none the end of a sentence: `is not an address`. */
  readonly parseRecipient: (channel: Channel, text: string) => AlertRecipient | Words
  /** Channels that are switched on. */
  readonly channels: readonly Channel[]
  /** The canonical tag of a language that there are words for; null for any other. */
  readonly canonicalLocale: (tag: string) => string | null
}

const MINUTE = 60_000
const MAX_MINUTES = 7 * 24 * 60
const ANY = new Set(['*', '-'])
const COLUMNS = 'TOPIC PRODUCT MINUTES LANGUAGE RECIPIENT, RECIPIENT …'

/**
 * Parses the alert table: a line for each of `TOPIC PRODUCT MINUTES LANGUAGE RECIPIENTS`, parted by blanks, recipients by
 * commas. `#` begins a comment; `;` ends a line as well, for a table in one setting.
 */
export function parseAlertTable(
  text: string,
  deps: AlertTableDeps,
): { readonly rows: readonly AlertRow[]; readonly faults: readonly AlertTableFault[] } {
  const rows: AlertRow[] = []
  const faults: AlertTableFault[] = []
  text.split(/\r?\n/).forEach((whole, at) => {
    const parts = whole.replace(/(?:^|\s)#.*$/, '').split(';')
    parts.forEach((part, before) => {
      if (part.trim() === '') return
      const parsed = parseRow(part.trim(), deps)
      const place = { line: at + 1, ...(parts.length > 1 && { row: before + 1 }) }
      if ('row' in parsed) rows.push(parsed.row)
      else faults.push(...parsed.problems.map(problem => ({ ...place, problem })))
    })
  })
  if (rows.length === 0 && faults.length === 0)
    faults.push({ line: 1, problem: say('there is no row; one is: {columns}', { columns: COLUMNS }) })
  return { rows, faults }
}

type ParsedRow = { readonly row: AlertRow } | { readonly problems: readonly Words[] }

function parseRow(text: string, deps: AlertTableDeps): ParsedRow {
  const [source = '', product = '', minutes = '', language = '', ...recipientWords] = text.split(/\s+/)
  if (recipientWords.length === 0)
    return { problems: [say('something is missing; a row is: {columns}', { columns: COLUMNS })] }
  const problems: Words[] = []

  const topic = SOURCES.find(each => each === source)
  if (topic === undefined)
    problems.push(say('the topic must be one of {topics}', { topics: SOURCES.join(', ') }))
  if (!ANY.has(product) && !/^[\w.~-]{1,128}$/.test(product))
    problems.push('the product must be its identifier, or * for any')
  const every = /^\d{1,5}$/.test(minutes) ? Number(minutes) : Number.NaN
  if (!(every <= MAX_MINUTES))
    problems.push(
      say('the minutes must be a whole number from 0 (each time) to {most} (a week)', { most: MAX_MINUTES }),
    )
  const locale = ANY.has(language) ? null : deps.canonicalLocale(language)
  if (locale === null && !ANY.has(language))
    problems.push('there are no words in that language; - means the usual one')

  const recipients: AlertRecipient[] = []
  const names = recipientWords.join(' ').split(/[,，]/)
  names.forEach((name, at) => {
    const recipient = parseRecipientOf(name.trim(), deps)
    if (typeof recipient === 'object' && 'channel' in recipient) recipients.push(recipient)
    else problems.push(say('recipient {n} {problem}', { n: at + 1, problem: tell(recipient) }))
  })
  if (problems.length > 0 || topic === undefined) return { problems }
  const everyMs = every * MINUTE
  return { row: { source: topic, product: ANY.has(product) ? null : product, everyMs, locale, recipients } }
}

function parseRecipientOf(
  text: string,
  { parseRecipient, channels }: AlertTableDeps,
): AlertRecipient | Words {
  if (text === '') return 'is empty'
  const channel: Channel = text.includes('@') ? 'email' : 'sms'
  if (!channels.includes(channel))
    return channel === 'email'
      ? 'is an address, but e-mail is off: set EMAIL_TOKEN'
      : 'is a number, but SMS is off: set SMS_TOKEN'
  if (channel === 'sms' && !text.startsWith('+'))
    return 'must be an address, or a number such as +8613800138000'
  return parseRecipient(channel, text)
}

/** The topic of DDQ that tells of each. */
const TOPICS: Readonly<Record<Source, KnownTopic>> = { state: 'online-state', event: 'event', alert: 'alert' }

/** The topics to subscribe to: each once. */
export function topicsOf(rows: readonly AlertRow[], anyProduct = '+'): readonly string[] {
  return [...new Set(rows.map(({ source, product }) => topicFor(TOPICS[source], product ?? anyProduct)))]
}

/** One occurrence to one recipient. */
export interface Notification {
  readonly occurrence: Occurrence
  readonly recipient: AlertRecipient
  readonly row: AlertRow
  /** Names the memo of what the recipient got about this device and rule. */
  readonly memoName: string
}

/**
 * Decides who is told of an occurrence. The first row that names a recipient counts: two rows must not send the same thing twice.
 * @param memoName HMAC that names the memo about a recipient, device and rule.
 */
export function notificationsFor(
  occurrence: Occurrence,
  rows: readonly AlertRow[],
  memoName: (fields: readonly string[]) => string,
): readonly Notification[] {
  const { source, product, device, rule } = occurrence
  const found = new Map<string, Notification>()
  for (const row of rows) {
    if (row.source !== source || (row.product !== null && row.product !== product)) continue
    for (const recipient of row.recipients) {
      const { channel, to } = recipient
      const key = `${channel} ${to}`
      if (found.has(key)) continue
      const fields = [channel, to, source, product, device, rule]
      found.set(key, { occurrence, recipient, row, memoName: memoName(fields) })
    }
  }
  return [...found.values()]
}
