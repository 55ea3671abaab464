import { setTimeout as sleep } from 'node:timers/promises'
import type { CallbackAnswer } from '../src/commands/callback-client.ts'
import type { ReaderLanguage } from '../src/language/sentence.ts'
import type { Channel } from '../src/messages/message.ts'
import { columnsOf, padColumn } from '../src/runtime/terminal.ts'
import type { SentCallback } from './callback-sender.ts'
import { SMTP_USER } from './carriers/smtp.ts'
import type { ReceivedMail } from './carriers/stand-in.ts'
import { SAMPLE_KINDS, type SampleCallback, type SampleKind } from './sample-callbacks.ts'
import type { Sandbox } from './sandbox.ts'
import { type CarriedSms, ENVELOPE_SENDER, type SmsCarrier, type StandIns } from './stand-ins.ts'
import { speak } from './words.ts'

/** A callback that was sent once, and what became of it. */
export interface KindResult {
  readonly channel: Channel
  /** A kind's name, or `validate`. */
  readonly kind: string
  /** The SMS carrier that it should go by, for people; null for a mail or a validation. */
  readonly carrier: string | null
  readonly callback: SentCallback
  /** How often its message arrived; null for a validation, which sends nothing. */
  readonly arrived: number | null
  /** Its faults, in words; empty when there are none. */
  readonly faults: readonly string[]
  readonly files: ArrivalResult['files']
}

/** A kind to be sent, and to whom. */
interface Play {
  readonly kind: SampleKind
  readonly to: string
  readonly carrier: SmsCarrier | null
}

/** Each kind once, to a recipient of its own, and an SMS once by each carrier that can say it. */
function playsOf(carriers: readonly SmsCarrier[]): readonly Play[] {
  const mails = SAMPLE_KINDS.filter(({ channel }) => channel === 'email')
  const texts = SAMPLE_KINDS.filter(({ channel }) => channel === 'sms')
  return [
    ...mails.map((kind, at) => ({ kind, to: `reader-${at + 1}@example.com`, carrier: null })),
    ...carriers.flatMap(carrier =>
      texts
        .filter(({ kind }) => carrier.templates === undefined || Object.hasOwn(carrier.templates, kind))
        .map((kind, at) => ({ kind, to: carrier.number.slice(0, -2) + String(10 + at), carrier })),
    ),
  ]
}

/** How many results there are when all was sent in time. */
export function countExpected({ carriers }: Pick<StandIns, 'carriers'>): number {
  return 2 + playsOf(carriers).length
}

/** How long nothing more may arrive before "exactly once" is believed, ms. */
const QUIET_MS = 400

/**
 * Validates the URL of both channels and sends each of their kinds once, SMS by each carrier, each to a recipient of its
 * own, and checks whether each message arrived exactly once with the right words.
 *
 * @param withinMs when to stop waiting, from now. What was not sent by then is missing from the results.
 */
export async function sendEachKindOnce(
  { callbackSender, standIns }: Pick<Sandbox, 'callbackSender' | 'standIns'>,
  withinMs: number,
): Promise<readonly KindResult[]> {
  const deadline = performance.now() + withinMs
  const validations: KindResult[] = []
  for (const channel of ['email', 'sms'] as const) {
    const callback = await callbackSender.validate(channel)
    const faults = answerFaults(callback.answer)
    validations.push({
      channel,
      kind: 'validate',
      carrier: null,
      callback,
      arrived: null,
      faults,
      files: null,
    })
  }

  const sent = []
  for (const play of playsOf(standIns.carriers)) {
    if (performance.now() > deadline) break
    sent.push({ ...play, ...(await callbackSender.send(play.kind, play.to)) })
  }
  const countArrived = () => standIns.mails().length + standIns.sms().length
  const expected = sent.filter(({ callback }) => answerFaults(callback.answer).length === 0).length
  while (countArrived() < expected && performance.now() < deadline) await sleep(20)
  // A second copy of a message would come late, so this waits until nothing has arrived for a while.
  for (let before = -1; before !== countArrived() && performance.now() < deadline; await sleep(QUIET_MS))
    before = countArrived()

  return [
    ...validations,
    ...sent.map(({ kind, to, carrier, callback, sample }): KindResult => {
      const result =
        carrier === null
          ? checkMailArrival(standIns.mails(), to, sample)
          : checkSmsArrival(standIns.sms(), to, sample, carrier.title)
      const faults = [...answerFaults(callback.answer), ...result.faults]
      const { channel } = kind
      return { channel, kind: kind.kind, carrier: carrier?.title ?? null, callback, ...result, faults }
    }),
  ]
}

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
  if (answer.is === 'unreachable') return [`no answer: ${String(answer.why)}`]
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

/** Formats results as a table. @param paths for each result the file to look at. */
export function formatResults(
  results: readonly KindResult[],
  paths: readonly string[],
  language: ReaderLanguage = 'en',
): string {
  const say = (text: string) => speak(language, text)
  const head = ['channel', 'kind', 'by', 'err_code', 'ms', 'arrived', 'where to look'].map(say)
  const cells = results.map(({ channel, kind, carrier, callback: { answer }, arrived, faults }, at) => [
    say(channel),
    say(kind),
    carrier === null ? '-' : say(carrier),
    answer.is === 'answered' ? String(answer.errCode ?? '-') : '-',
    String(answer.ms),
    faults.length > 0 ? say('WRONG') : arrived === null ? '-' : say('once'),
    paths[at] ?? '',
  ])
  const widths = head.map((title, column) =>
    Math.max(columnsOf(title), ...cells.map(row => columnsOf(row[column] ?? ''))),
  )
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) =>
        head[column] === 'ms' ? cell.padStart(widths[column] ?? 0) : padColumn(cell, widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd()
  return [line(head), line(widths.map(width => '-'.repeat(width))), ...cells.map(line), ''].join('\n')
}

/** Lists what is wrong, a sentence each; empty when nothing is. @param expected how many results there should be. */
export function listFaults(results: readonly KindResult[], expected: number): readonly string[] {
  const faults = results.flatMap(({ channel, kind, carrier, faults }) =>
    faults.map(fault => `${channel} ${kind}${carrier === null ? '' : ` by ${carrier}`}: ${fault}`),
  )
  const missing = expected - results.length
  return missing > 0 ? [...faults, `${missing} of ${expected} were not sent in time`] : faults
}
