import type { CallbackAnswer } from '../src/platform/callback-client.ts'
import type { Sample } from '../src/platform/sample-callbacks.ts'
import type { ReceivedMail } from './inbox.ts'
import { ENVELOPE_SENDER, SMTP_USER } from './peers.ts'
import type { TwilioMessage } from './twilio-answers.ts'

export interface Judged {
  readonly arrived: number
  /** In words; empty when it arrived exactly once and as it should. */
  readonly faults: readonly string[]
  /** The first that arrived, as files by their ending. */
  readonly kept: Readonly<Record<string, string | Buffer>> | null
}

/** What is wrong with an answer that should be a success; empty when nothing is. */
export function isAnswered(answer: CallbackAnswer): readonly string[] {
  if (answer.is === 'unreachable') return [`no answer: ${answer.why}`]
  if (answer.status === 200 && answer.errCode === 0) return []
  return [`answered HTTP ${answer.status}, err_code ${answer.errCode ?? 'missing'}: ${answer.errMsg}`]
}

/** Whether `to` got exactly one mail, in an envelope of its own, with the words where a reader finds them. */
export function judgeMails(mails: readonly ReceivedMail[], to: string, sample: Sample): Judged {
  const mine = mails.filter(mail => mail.envelope.to.includes(to))
  const [mail] = mine
  if (!mail) return { arrived: 0, faults: ['no mail arrived'], kept: null }
  const wrong: readonly (readonly [boolean, string])[] = [
    [mine.length > 1, `arrived ${mine.length} times`],
    [mail.envelope.to.length > 1, 'shares its envelope with other recipients'],
    [mail.envelope.from !== ENVELOPE_SENDER, `came from <${mail.envelope.from}> by its envelope`],
    [mail.subject !== sample.subject, `has the subject "${mail.subject}"`],
    [!says(mail.text, sample.words), 'lacks its words in the text part'],
    [!says(unescaped(mail.html), sample.words), 'lacks its words in the HTML part'],
    [!mail.tls, 'came without TLS'],
    [mail.user !== SMTP_USER, 'came without a login'],
    [mail.messageId === '', 'has no Message-ID'],
  ]
  return {
    arrived: mine.length,
    faults: wrong.filter(([is]) => is).map(([, words]) => words),
    kept: { eml: mail.raw, html: mail.html, txt: mail.text },
  }
}

/** Whether the number `to` (E.164) got exactly one SMS with the words. */
export function judgeSms(messages: readonly TwilioMessage[], to: string, sample: Sample): Judged {
  const mine = messages.filter(message => message.to === to)
  const [message] = mine
  if (!message) return { arrived: 0, faults: ['no SMS arrived'], kept: null }
  const wrong: readonly (readonly [boolean, string])[] = [
    [mine.length > 1, `arrived ${mine.length} times`],
    [!says(message.body, sample.words), 'lacks its words'],
    [message.validityPeriod === null, 'has no validity period'],
  ]
  return {
    arrived: mine.length,
    faults: wrong.filter(([is]) => is).map(([, words]) => words),
    kept: { txt: message.body },
  }
}

/** Running text may be broken into lines anywhere between its words. */
function says(text: string, words: string): boolean {
  const flat = (given: string) => given.replace(/\s+/g, ' ')
  return flat(text).includes(flat(words))
}

/** The five characters that HTML must escape, in the forms that template engines write. */
function unescaped(html: string): string {
  const characters: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#34': '"', '#39': "'", amp: '&' }
  return html.replace(/&(lt|gt|quot|#34|#39|amp);/g, (whole, name: string) => characters[name] ?? whole)
}
