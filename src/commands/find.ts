import { STATE_WORDS } from '../admin/console/figures.ts'
import { clockTime, describeRecord, formatDuration } from '../admin/console/html.ts'
import { type Explanation, explainAbsence, explainMessage } from '../admin/explain.ts'
import type { ChannelCalls, ProviderView } from '../admin/status/status.ts'
import { languageOfTerminal } from '../language/choose.ts'
import { type ReaderLanguage, say, term } from '../language/sentence.ts'
import type { MessageView } from '../outbox/outbox.ts'
import { askService } from './ask-service.ts'
import { type Command, failWith, type Io, readArguments, UsageError } from './command.ts'
import { requestHealth } from './health.ts'

export const find: Command = async (argv, io) => {
  const { positionals, values } = readArguments(
    argv,
    { since: { type: 'string' }, until: { type: 'string' }, json: { type: 'boolean' } },
    { least: 1, most: 1 },
  )
  const since = readDay('since', values.since)
  const until = readDay('until', values.until)
  const search = { recipient: positionals[0] ?? '', since: since?.getTime(), before: dayAfter(until) }
  return findMessages(search, values.json === true, io)
}

/** Reads a day of this process's zone (TZ). */
function readDay(option: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const day = new Date(`${text}T00:00:00`)
  if (/^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(day.getTime())) return day
  throw new UsageError(say('--{option} must be a day such as 2026-11-21', { option }))
}

/** A day has 23 or 25 hours where the clocks change. */
function dayAfter(day: Date | undefined): number | undefined {
  return day === undefined ? undefined : new Date(day).setDate(day.getDate() + 1)
}

/** A screen has as many lines. */
const MOST = 10
const UNREADY = say(
  'The service accepts no callbacks now: they are answered 503, and not stored. “callback-courier check” says why.',
)

async function findMessages(search: object, asJson: boolean, io: Io): Promise<number> {
  const language = asJson ? 'en' : languageOfTerminal(io.env)
  // The store has no trace of callbacks that it could not take, so the service is asked whether it can store.
  if ((await requestHealth(io, '/readyz')).is === 503)
    io[asJson ? 'stderr' : 'stdout'].write(`${UNREADY.in(language)}\n\n`)
  const found = await askService(io, language, '/messages/search', search)
  if ('why' in found) return failWith(io, found.why)
  const { messages } = found.answer as { readonly messages: readonly MessageView[] }
  const asked = await askService(io, language, messages.length > 0 ? '/providers' : '/calls')
  if ('why' in asked) return failWith(io, asked.why)
  const now = Date.now()
  const { providers = [], channels = [] } = asked.answer as {
    readonly providers?: readonly ProviderView[]
    readonly channels?: readonly ChannelCalls[]
  }
  const explained = messages.map(row => ({ ...row, ...explainMessage(row, providers, now) }))
  if (asJson) io.stdout.write(`${formatAsJson({ messages: explained, calls: channels })}\n`)
  else if (messages.length === 0) io.stdout.write(formatAbsence(channels, language))
  else {
    const texts = explained.slice(0, MOST).map(row => formatMessage(row, row, language))
    io.stdout.write(texts.join('\n'))
  }
  return messages.length === 0 ? 1 : 0
}

/** Formats what was found for a program: moments are ISO 8601 in UTC. */
function formatAsJson(found: object): string {
  const write = (name: string, value: unknown) =>
    /^at$|At$/.test(name) && typeof value === 'number' ? new Date(value).toISOString() : value
  return JSON.stringify(found, write, 2)
}

function formatAbsence(calls: readonly ChannelCalls[], language: ReaderLanguage): string {
  const lines = calls.flatMap(seen => [
    `  ${say(seen.channel).in(language)}`,
    ...explainAbsence(seen).map(line => `    ${line.in(language)}`),
  ])
  const none = say(
    'No message to this recipient: the platform did not ask for one, or the callback was refused.',
  )
  const next = say(
    'The log has each callback that was refused, with its reason: events callback, stray, over-quota.',
  )
  return `${none.in(language)}\n${lines.join('\n')}\n  → ${next.in(language)}\n`
}

function formatMessage(row: MessageView, { what, next }: Explanation, language: ReaderLanguage): string {
  const attempts = row.timeline.map(
    each =>
      `    ${clockTime(each.at)}  ${each.provider}  ${term(each.outcome).in(language)}  ${describeRecord(each).in(language)}  (${formatDuration(each.tookMs).in(language)})\n`,
  )
  const { arrivedAt, channel, kind, maskedRecipient, state, id } = row
  return `${clockTime(arrivedAt)}  ${say(channel).in(language)} ${term(kind).in(language)}  ${maskedRecipient}  ${STATE_WORDS[state].in(language)}
  ${what.in(language)}
  → ${next.in(language)}
  id ${id}
${attempts.join('')}`
}
