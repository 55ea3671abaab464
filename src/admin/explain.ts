import type { MessageView } from '../outbox/outbox.ts'
import { clockTime, describeReply, span } from './console/layout.ts'
import type { Refusals, Validation } from './service-health.ts'

/** What became of something, and what to do about it. */
export interface Explanation {
  readonly what: string
  readonly next: string
}

/** What the platform's calls of a channel looked like lately. */
export interface ChannelCalls {
  /** When its newest message to anybody came, ms since the epoch; null: there is none in the store. */
  readonly newestAt: number | null
  readonly refusals: Refusals
  readonly validation: Validation | null
}

/** Answers "why did this person not get it?" from a message. @param now ms since the epoch. */
export function explainMessage(row: MessageView, now: number): Explanation {
  switch (row.state) {
    case 'queued':
      return explainWaiting(row, now)
    case 'sending':
      return {
        what: 'It is being sent at this moment.',
        next: 'Look again in a few seconds. A mail server may take minutes for its last reply.',
      }
    case 'sent':
      return explainSent(row)
    case 'refused':
      return REFUSED[row.answer ?? 'content']
    case 'expired':
      return {
        what: `No provider took it before its life ended at ${clockTime(row.expiresAt)}. ${lastReply(row)}`.trimEnd(),
        next: 'The person has to ask for a new one. What the reply names may need repair first.',
      }
    case 'superseded':
      return row.timeline.at(-1)?.outcome === 'cancelled'
        ? { what: 'An operator cancelled it here.', next: 'The log says who: event “operator”.' }
        : {
            what: 'A newer code for the same person came before this one left; only the newest counts.',
            next: 'Look at the newer message of the same recipient.',
          }
    case 'unknown':
      return {
        what: 'It may have arrived: every copy that may go out was written, and no reply came.',
        next: 'Ask the provider by the id, or the mail server by the Message-ID, which begins with the id.',
      }
  }
}

function explainWaiting(row: MessageView, now: number): Explanation {
  const due = row.dueAt === null || row.dueAt <= now ? 'now' : `in ${span(row.dueAt - now)}`
  if (row.attempts === 0)
    return {
      what: `It waits for its first attempt, due ${due}.`,
      next: 'The first lines of the overview say whether its provider fails, or how many wait before it.',
    }
  return {
    what: `It has not been taken yet, and is tried again ${due}, until ${clockTime(row.expiresAt)}. ${lastReply(row)}`.trimEnd(),
    next: 'Repair what the reply names. Nothing else is to be done: “Try now” only makes it sooner.',
  }
}

function explainSent({ channel, finalAt, arrivedAt, timeline, receipt }: MessageView): Explanation {
  const took = finalAt === null ? '' : ` ${span(finalAt - arrivedAt)} after it came`
  const by = timeline.findLast(({ outcome }) => outcome === 'sent')?.provider ?? 'the provider'
  const taken = `${by} took it${took}${finalAt === null ? '' : `, at ${clockTime(finalAt)}`}.`
  if (channel === 'email')
    return {
      what: taken,
      next: 'From here on it is the mail server’s: find the queue id of its reply in its log, then look into the junk folder.',
    }
  if (receipt === null)
    return {
      what: `${taken} There is no delivery report.`,
      next: '“check” says whether reports come, and why not. Look for the provider’s id in its console.',
    }
  if (receipt.status === 'delivered' || receipt.status === 'read')
    return {
      what: `${taken} The phone has it, since ${clockTime(receipt.at)}.`,
      next: 'Let the person look among blocked and filtered messages, and compare the number.',
    }
  if (receipt.errorCode === null && receipt.status !== 'undelivered' && receipt.status !== 'failed')
    return {
      what: `${taken} Its last report, at ${clockTime(receipt.at)}: ${receipt.status}.`,
      next: 'The carrier has it, and the phone not yet: it may be off or without a network.',
    }
  return {
    what:
      `${taken} The carrier did not deliver it: ${receipt.status} ${receipt.errorCode ?? ''}`.trimEnd() + '.',
    next: 'Look the code up in the provider’s list of errors: an unreachable phone, a wrong number, or a filter.',
  }
}

const REFUSED: Readonly<Record<NonNullable<MessageView['answer']>, Explanation>> = {
  recipient: {
    what: 'The provider refuses this recipient for good, and the platform was told.',
    next: 'Compare address or number with what the person says. The reply in the timeline has the reason.',
  },
  content: {
    what: 'The provider refuses the content for good, and the platform was told.',
    next: 'The reply in the timeline has the reason: reputation, links, SPF or DKIM (“check” looks at them), or a template.',
  },
  country: {
    what: 'The provider does not send to this country, and the platform was told.',
    next: 'Allow the country in the provider’s console, or send it by another carrier (SMS_ROUTES).',
  },
  limit: {
    what: 'The number may have no more messages for now, and the platform was told.',
    next: 'Raise the carrier’s limit for a number, or wait: docs/sms.md has the limits.',
  },
}

function lastReply({ timeline }: MessageView): string {
  const last = timeline.at(-1)
  return last === undefined ? '' : `The last reply, of ${last.provider}: ${describeReply(last).slice(0, 200)}`
}

/** Answers the same question when there is no message to a recipient at all: what is known of the platform's calls. */
export function explainAbsence({ newestAt, refusals, validation }: ChannelCalls): readonly string[] {
  return [
    newestAt === null
      ? 'No message of anybody is stored.'
      : `The newest message to anybody came at ${clockTime(newestAt)}.`,
    refusals.last === null
      ? 'No caller was refused since the start.'
      : `Callers refused since the start: ${refusals.count}, the last at ${clockTime(refusals.last.at)}: ${refusals.last.reason}.`,
    ...(validation === null || validation.ok
      ? []
      : [`The last validation of the URL failed at ${clockTime(validation.at)}: ${validation.reason}.`]),
  ]
}
