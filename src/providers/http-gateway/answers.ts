import { quote, say, type Words } from '../../language/sentence.ts'
import type { FaultScope } from '../../messages/message.ts'
import { objectOf, parseJson } from '../../runtime/json-object.ts'
import { unescapePointer } from '../../runtime/yaml-text.ts'
import { type CodeVerdict, faultOfReport, type Judgement, judgeStatus, outcomeOfRefusal } from '../codes.ts'
import type { AnswerHead, HttpAnswer } from '../http-client.ts'
import { textOf } from '../json-answer.ts'
import type { Outcome } from '../provider.ts'
import { type CarrierReport, type ReceiptSource, readOurId, receiptPath, reportCodeOf } from '../receipts.ts'
import { type Redactor, readWord } from '../redact.ts'

// Where something is

/**
 * Where something is in an answer or a report: a JSON pointer (`/messages/0/id`, RFC 6901), or, for an answer that is no
 * JSON, a regular expression whose group it is (`<id>(\d+)</id>`). Of several the first that finds something counts.
 */
export type Finder = string | readonly string[]

/** Where something is in a report, which is a value: pointers alone. */
export type Pointer = string | readonly string[]

/** A body that was received: its text, and its value when it is JSON. */
export interface Received {
  readonly text: string
  readonly json: unknown
}

/** More than any code or id needs. */
const MOST_SEARCHED = 4096
/** @returns why a finder can find nothing; null: it can. */
export function findFinderFault(finder: Finder): Words | null {
  for (const each of [finder].flat())
    if (!each.startsWith('/')) {
      try {
        if (new RegExp(`${each}|`).exec('')?.length === 1) return 'needs a group, as in <id>(.+?)</id>'
        if (!isTame(each))
          return 'repeats more than one thing, or a group, and some answers would take it hours'
      } catch {
        return 'is neither a JSON pointer, which begins with /, nor a regular expression'
      }
    }
  return null
}

/** @returns a text or number as text; empty when there is none. */
export function findText(finder: Finder | undefined, { json, text }: Received): string {
  for (const each of [finder ?? []].flat()) {
    const found = each.startsWith('/')
      ? textOf(findValue(each, json))
      : (new RegExp(each).exec(text.slice(0, MOST_SEARCHED))?.[1] ?? '')
    if (found !== '') return found
  }
  return ''
}

/**
 * Says whether an expression is surely quick: it has one repetition at most, not of a group, and no back reference, so that it takes
 * the square of the length at worst, some milliseconds.
 */
function isTame(expression: string): boolean {
  return !/[*+{].*[*+{]|\)[*+{]|\\[1-9k]/s.test(expression)
}

/** Finds the value that a JSON pointer points at. */
function findValue(pointer: string, json: unknown): unknown {
  let value = json
  for (const step of pointer.split('/').slice(1).map(unescapePointer)) {
    if (Array.isArray(value))
      value = /^\d{1,4}$/.test(step) ? (value as readonly unknown[])[Number(step)] : undefined
    else {
      const object = objectOf(value)
      value = object !== null && Object.hasOwn(object, step) ? object[step] : undefined
    }
  }
  return value
}

// What an answer means

/** The meaning of a gateway's code as the file has it: what else it concerns where that is said, and how long a limit lasts. */
type CodeMeaning =
  | Exclude<CodeVerdict, 'limit'>
  /** Not sent: this carrier does not reach the number, and the next one may. */
  | 'unreachable-here'
  | { readonly is: Exclude<CodeVerdict, 'limit' | 'ok'>; readonly scope: FaultScope }
  /** `number` is the recipient's. */
  | { readonly limit: 'number' | FaultScope; readonly minutes: number }

/** The rules by which an answer to a request is read. */
export interface GatewayAnswer {
  /** Where the gateway's id of the message is. */
  readonly id?: Finder
  /** Where the code is; without one the HTTP status is it, as `http-402`. */
  readonly code?: Finder
  /** Where its words for people are. */
  readonly words?: Finder
  /** The meanings of the codes; `REJECTED_*` is all that begin so. */
  readonly codes?: Readonly<Record<string, CodeMeaning>>
  /** The meaning of any other code of an answer with HTTP 2xx. */
  readonly otherwise?: CodeMeaning
}

export type GatewayReply = Received & AnswerHead

export function readReply({ body: text, ...head }: HttpAnswer): GatewayReply {
  return { ...head, text, json: parseJson(text) }
}

/**
 * The outcome of an answer, by the codes of the operator's file. HTTP 2xx without a code is an accepted message when it
 * has the id that the file names.
 *
 * @param now ms since the epoch.
 */
export function gatewayOutcome(
  answer: GatewayAnswer,
  reply: GatewayReply,
  redactor: Redactor,
  now: number,
): Outcome {
  const code = findText(answer.code, reply)
  const { verdict, scope, minutes = 0, incapable } = meaningOf(answer, code, reply.status)
  const named = code === '' ? `http-${reply.status}` : (redactor.code(code) ?? 'unreadable-code')
  if (verdict === 'ok') {
    // The answer to a repetition names no message.
    const id = isTaken(reply.status) ? answer.id : undefined
    const providerId = readWord(findText(id, reply))
    return id !== undefined && providerId === undefined
      ? { is: 'ambiguous', code: 'no-id', reply: 'accepted, but the answer names no message' }
      : { is: 'sent', reply: say('accepted, {named}', { named }), providerId }
  }
  const said = findText(answer.words, reply)
  const words = quote(said === '' ? named : redactor.reply(said))
  const outcome = outcomeOfRefusal({ verdict, scope }, named, words, reply, now, () => minutes * 60_000)
  return outcome.is === 'rejected' && incapable ? { ...outcome, incapable } : outcome
}

/** `minutes`: how long a limit lasts; `incapable`: see Outcome. */
interface GatewayJudgement extends Judgement {
  readonly minutes?: number
  readonly incapable?: true
}

const isTaken = (status: number): boolean => status >= 200 && status < 300

/** The meaning of a code by the file, else of its status by HTTP. @param code empty: the answer has none. */
function meaningOf(
  { codes = {}, otherwise = 'ambiguous' }: GatewayAnswer,
  code: string,
  status: number,
): GatewayJudgement {
  const named = code || `http-${status}`
  const listed = entryOf(codes, named)
  // A status that the file itself calls ok is.
  if (listed !== undefined && (isTaken(status) || listed !== 'ok' || code === '')) return readMeaning(listed)
  if (!isTaken(status)) return judgeStatus(status)
  return code === '' ? { verdict: 'ok' } : readMeaning(otherwise)
}

/** The entry for a word: its own, or the first whose beginning it has. */
function entryOf<T>(entries: Readonly<Record<string, T>>, word: string): T | undefined {
  if (Object.hasOwn(entries, word)) return entries[word]
  const prefix = Object.keys(entries).find(each => each.endsWith('*') && word.startsWith(each.slice(0, -1)))
  return prefix === undefined ? undefined : entries[prefix]
}

/** The JSON in a form's field; some encode it twice, as Yunpian says of itself. */
function readField(value: unknown): unknown {
  const text = textOf(value)
  if (!text.startsWith('%')) return parseJson(text)
  try {
    return parseJson(decodeURIComponent(text))
  } catch {
    return undefined
  }
}

function readMeaning(meaning: CodeMeaning): GatewayJudgement {
  if (meaning === 'unreachable-here') return { verdict: 'recipient', incapable: true }
  if (typeof meaning === 'string') return { verdict: meaning }
  if ('is' in meaning) return { verdict: meaning.is, scope: meaning.scope }
  const { limit, minutes } = meaning
  return { verdict: 'limit', scope: limit === 'number' ? 'recipient' : limit, minutes }
}

// Delivery reports

/** The rules by which its delivery reports are read. */
export interface GatewayReports {
  readonly format?: 'json' | 'form' | 'query'
  /** The field of a form whose text is the JSON that the pointers point into. */
  readonly field?: string
  /** The text that the gateway wants to read when its reports were taken. */
  readonly reply?: string
  /** Where the list of reports is: a JSON pointer, in which `*` is each of a list; absent: the body is one report, or a list of them. */
  readonly list?: string
  /** See ReceiptSource. */
  readonly challenge?: string
  readonly id: Pointer
  /** Where our id is, when the request told it. */
  readonly ref?: Pointer
  readonly state: Pointer
  /** The gateway's words for states, to ours; `REJECTED_*` is all that begin so, `*` every other one. */
  readonly states: Readonly<Record<string, 'sent' | 'delivered' | 'undelivered'>>
  readonly code?: Pointer
  /** What its codes mean, as in an answer. */
  readonly codes?: GatewayAnswer['codes']
}

/** Reads a gateway's delivery reports as the operator's file describes them. They are not signed. */
export function createGatewayReceipts(
  name: string,
  reports: GatewayReports,
  keys: readonly string[],
): ReceiptSource {
  const { format = 'json', list = '', field, reply, challenge } = reports
  return {
    path: receiptPath(name),
    keys,
    format,
    ...(reply !== undefined && { taken: reply }),
    ...(challenge !== undefined && { challenge }),
    parseReports({ body, query }, onUnknownState) {
      const named = /(?:^|&)id=([0-9a-f]{32})(?:&|$)/.exec(query)?.[1]
      const value = field === undefined ? body : readField(objectOf(body)?.[field])
      let found = [value]
      for (const part of list.split('/*')) found = found.flatMap(each => findValue(part, each))
      return found.flatMap(each => readReport(reports, each, named, onUnknownState) ?? [])
    },
  }
}

/**
 * @param named our id in the URL that was called.
 * @returns null when the report names no message, or says nothing that the file knows
 */
function readReport(
  { id, ref, state, states, code, codes = {} }: GatewayReports,
  json: unknown,
  named: string | undefined,
  onUnknownState?: (state: string) => void,
): CarrierReport | null {
  const find = (pointer: Pointer | undefined): string => findText(pointer, { text: '', json })
  const providerId = find(id)
  const word = find(state)
  if (providerId === '' || word === '') return null
  const status = entryOf(states, word)
  if (status === undefined) {
    onUnknownState?.(word)
    return null
  }
  const ours = readOurId(find(ref) || (named ?? ''))
  if (status !== 'undelivered') return { providerId, id: ours, status, errorCode: null }
  const errorCode = reportCodeOf(find(code))
  const listed = entryOf(codes, errorCode ?? '')
  const fault = faultOfReport(listed === undefined ? {} : readMeaning(listed))
  return { providerId, id: ours, status, errorCode, fault }
}
