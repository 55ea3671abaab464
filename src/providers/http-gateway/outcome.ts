import { outcomeOfRefusal } from '../code-verdict.ts'
import type { Outcome } from '../provider.ts'
import { presentableCode, presentableReply, readWord } from '../reply.ts'
import type { CodeMeaning, GatewayAnswer } from './definition.ts'
import { findText, type Received } from './finder.ts'

export interface GatewayReply extends Received {
  readonly status: number
  readonly retryAfter: string | undefined
}

/**
 * The outcome of an answer, by the codes of the operator's file. HTTP 2xx without a code is an accepted message when it
 * has the id that the file names.
 *
 * @param to the number, E.164, which is also taken out of the words.
 * @param secrets must not show up in the reply, such as the code.
 * @param now ms since the epoch.
 */
export function gatewayOutcome(
  answer: GatewayAnswer,
  reply: GatewayReply,
  { to, secrets, now }: { readonly to: string; readonly secrets: readonly string[]; readonly now: number },
): Outcome {
  const code = findText(answer.code, reply)
  if (code === null)
    return {
      is: 'ambiguous',
      code: 'unreadable-answer',
      reply: 'its answer takes the expressions of the file too long',
    }
  const meaning = meaningOf(answer, code, reply.status)
  const named =
    code === '' ? `http-${reply.status}` : (presentableCode(code, to, secrets) ?? 'unreadable-code')
  if (meaning === 'ok') {
    const providerId = readWord(findText(answer.id, reply))
    if (answer.id === undefined) return { is: 'sent', reply: `accepted, ${named}` }
    return providerId !== undefined
      ? { is: 'sent', reply: `accepted, ${named}`, providerId }
      : { is: 'ambiguous', code: 'no-id', reply: 'accepted, but the answer names no message' }
  }
  const said = findText(answer.words, reply) ?? ''
  const words = said === '' ? named : presentableReply(said, to, secrets)
  if (typeof meaning === 'object')
    return {
      is: 'limit',
      scope: meaning.limit,
      code: named,
      reply: words,
      retryAfterMs: meaning.minutes * 60_000,
    }
  return outcomeOfRefusal(meaning, named, words, reply, now)
}

/** The meaning of a code by the file, else of its status by HTTP. @param code empty: the answer has none. */
function meaningOf(
  { codes = {}, otherwise = 'ambiguous' }: GatewayAnswer,
  code: string,
  status: number,
): CodeMeaning {
  const isTaken = status >= 200 && status < 300
  const named = code || `http-${status}`
  const prefix = Object.keys(codes).find(each => each.endsWith('*') && named.startsWith(each.slice(0, -1)))
  const listed = Object.hasOwn(codes, named) ? codes[named] : codes[prefix ?? '']
  if (listed !== undefined && (isTaken || listed !== 'ok')) return listed
  if (isTaken) return code === '' ? 'ok' : otherwise
  if (status === 429) return 'later'
  return status >= 500 ? 'ambiguous' : 'ours'
}
