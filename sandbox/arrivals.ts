import type { CallbackAnswer } from '../src/platform/callback-client.ts'
import type { SampleCallback } from '../src/platform/sample-callbacks.ts'
import { SMTP_USER } from './carriers/smtp.ts'
import type { ReceivedMail } from './carriers/stand-in.ts'
import { type CarriedSms, ENVELOPE_SENDER } from './stand-ins.ts'

/** How a message arrived. */
export interface ArrivalResult {
  /** How often. */
  readonly arrived: number
  /** Its faults, in words; empty when it arrived exactly once and as it should. */
  readonly faults: readonly string[]
  /** The first copy, as contents of files by their extension; null when none arrived. */
  readonly files: Readonly<Record<string, string | Buffer>> | null
}

/** The faults of an answer that should be a success; empty when there are none. */
export function answerFaults(answer: CallbackAnswer): readonly string[] {
  if (answer.is === 'unreachable') return [`no answer: ${answer.why}`]
  if (answer.status === 200 && answer.errCode === 0) return []
  return [`answered HTTP ${answer.status}, err_code ${answer.errCode ?? 'missing'}: ${answer.errMsg}`]
}

/** Checks that `to` got exactly one mail, in an envelope of its own, with the sample's words in both parts. */
export function checkMailArrival(
  mails: readonly ReceivedMail[],
  to: string,
  sample: SampleCallback,
): ArrivalResult {
  const mine = mails.filter(mail => mail.envelope.to.includes(to))
  const [mail] = mine
  if (!mail) return { arrived: 0, faults: ['no mail arrived'], files: null }
  const wrong: readonly (readonly [boolean, string])[] = [
    [mine.length > 1, `arrived ${mine.length} times`],
    [mail.envelope.to.length > 1, 'shares its envelope with other recipients'],
    [mail.envelope.from !== ENVELOPE_SENDER, `came from <${mail.envelope.from}> by its envelope`],
    [mail.subject !== sample.subject, `has the subject "${mail.subject}"`],
    [!includesWords(mail.text, sample.words), 'lacks its words in the text part'],
    [!includesWords(unescapeHtml(mail.html), sample.words), 'lacks its words in the HTML part'],
    [!mail.tls, 'came without TLS'],
    [mail.user !== SMTP_USER, 'came without a login'],
    [mail.messageId === '', 'has no Message-ID'],
  ]
  return {
    arrived: mine.length,
    faults: wrong.filter(([is]) => is).map(([, words]) => words),
    files: { eml: mail.raw, html: mail.html, txt: mail.text },
  }
}

/** Checks that the number `to` (E.164) got exactly one SMS, with the sample's words, by the carrier with this title. */
export function checkSmsArrival(
  messages: readonly Pick<CarriedSms, 'to' | 'body' | 'validityPeriod' | 'carrier'>[],
  to: string,
  sample: SampleCallback,
  carrier: string,
): ArrivalResult {
  const mine = messages.filter(message => message.to === to)
  const [message] = mine
  if (!message) return { arrived: 0, faults: ['no SMS arrived'], files: null }
  const wrong: readonly (readonly [boolean, string])[] = [
    [mine.length > 1, `arrived ${mine.length} times`],
    [!includesWords(message.body, sample.words), 'lacks its words'],
    [message.carrier !== carrier, `went by ${message.carrier}`],
    [message.validityPeriod === null, 'has no validity period'],
  ]
  return {
    arrived: mine.length,
    faults: wrong.filter(([is]) => is).map(([, words]) => words),
    files: { txt: message.body },
  }
}

/** Compares without regard to line breaks, which may stand between any two words. */
function includesWords(text: string, words: string): boolean {
  const flat = (lines: string) => lines.replace(/\s+/g, ' ')
  return flat(text).includes(flat(words))
}

/** Reads the five characters that HTML must escape, in the forms that template engines write. */
function unescapeHtml(html: string): string {
  const characters: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#34': '"', '#39': "'", amp: '&' }
  return html.replace(/&(lt|gt|quot|#34|#39|amp);/g, (whole, name: string) => characters[name] ?? whole)
}
