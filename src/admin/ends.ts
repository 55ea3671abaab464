import { quote, term, unpackWords, type Words } from '../language/sentence.ts'
import type { AttemptRecord, EndedMessage } from '../outbox/outbox.ts'
import { isUndelivered } from '../outbox/rules.ts'

/** So many people in a row who got nothing are more than chance. */
const PEOPLE = 5
/** For so long a message that was taken may still be reported undelivered, where reports come, ms. */
export const REPORTED_WITHIN_MS = 10 * 60_000
/** What a carrier answers that took the message, or surely did not. */
const DECIDED: ReadonlySet<string> = new Set(['sent', 'rejected', 'retry', 'limit'])

/** A message that nobody got. */
interface Failure extends Pick<EndedMessage, 'recipient' | 'finalAt'> {
  readonly code: string
  readonly reply: Words
  /** It says nothing of others: anybody can invent numbers and addresses. */
  readonly isOfRecipient: boolean
}

/**
 * Finds whether the last messages to five different people all failed, with none sent between them, one of them at least for more than
 * its recipient. It looks at what ended last, whenever that was: at twenty messages a day a time window would see nothing.
 * @param ended of one channel. @param provider of whose attempts it is asked; undefined: of all.
 * @returns since when, how many, and why the latest failed that did so for more than its recipient.
 */
export function findNoneArrives(ended: readonly EndedMessage[], provider: string | undefined, now: number) {
  const isReported = ended.some(({ receipt }) => receipt !== null)
  const failures: Failure[] = []
  for (const message of ended.toSorted((a, b) => b.finalAt - a.finalAt)) {
    const { state, timeline, receipt, finalAt } = message
    const decided = timeline.filter(({ outcome }) => DECIDED.has(outcome))
    const own = decided.findLast(each => provider === undefined || each.provider === provider)
    if (provider !== undefined && own === undefined) continue
    const isLast = own === decided.at(-1)
    if (isLast && state === 'sent' && (receipt === null || !isUndelivered(receipt))) {
      if (receipt === null && isReported && now - finalAt < REPORTED_WITHIN_MS) continue
      break
    }
    if (!isLast || ['sent', 'refused', 'expired'].includes(state))
      failures.push(failureOf(message, own ?? timeline.at(-1), isLast))
  }
  const people = new Set<string>()
  const latest = failures.filter(({ recipient }) => people.size < PEOPLE && people.add(recipient))
  const told = latest.find(({ isOfRecipient }) => !isOfRecipient)
  if (people.size < PEOPLE || told === undefined) return null
  return { since: failures.at(-1)?.finalAt ?? now, count: failures.length, told }
}

/** @param line of the timeline, which says why; undefined: nobody was asked, since no route leads to its country. */
function failureOf(
  { recipient, finalAt, answer, state, receipt }: EndedMessage,
  line: AttemptRecord | undefined,
  isLast: boolean,
): Failure {
  if (isLast && state === 'sent' && receipt !== null) {
    const { status, errorCode, fault, reply = '' } = receipt
    const isOfRecipient = fault?.verdict !== 'ours' && /^(recipient|country)$/.test(fault?.scope ?? '')
    return {
      recipient,
      finalAt,
      code: errorCode ?? status,
      reply: fault?.reason == null ? quote(reply) : term(fault.reason),
      isOfRecipient,
    }
  }
  // What ended before its timeline had it tells by its answer alone.
  const isOfRecipient =
    line === undefined || line.ofRecipient === true || !/^(null|content)$/.test(`${answer}`)
  return {
    recipient,
    finalAt,
    code: line?.code ?? state,
    reply: unpackWords(line?.reply ?? ''),
    isOfRecipient,
  }
}
