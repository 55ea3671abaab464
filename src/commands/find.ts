import { STATE_WORDS } from '../admin/console/figures.ts'
import { clockTime, describeReply, formatDuration } from '../admin/console/html.ts'
import { type AttemptGate, type Explanation, explainAbsence, explainMessage } from '../admin/explain.ts'
import type { ChannelCalls } from '../admin/status/status.ts'
import { adminAddress } from '../config/sources.ts'
import { languageOfTerminal } from '../language/choose.ts'
import { type ReaderLanguage, say, translateText } from '../language/sentence.ts'
import type { MessageView } from '../outbox/outbox.ts'
import { askService } from './ask-service.ts'
import { type Command, type ExitCode, type Io, readArguments } from './command.ts'
import { requestHealth } from './health.ts'

export const find: Command = {
  async run(argv, io) {
    const { positionals } = readArguments(argv, {}, { least: 1, most: 1 })
    return findMessages(positionals[0] ?? '', io)
  },
}

/** A screen has as many lines. */
const MOST = 10
const UNREADY = say(
  'The service accepts no callbacks now: they are answered 503, and not stored. “callback-courier check” says why.',
)

const NO_RECIPIENT = say('That is neither a mail address nor a phone number in full (+86…).')

async function findMessages(recipient: string, io: Io): Promise<ExitCode> {
  const language = languageOfTerminal(io.env)
  const ask = askService(io, language)
  // The store has no trace of callbacks that it could not take, so the service is asked whether it can store.
  const unready = await requestHealth(`${adminAddress(io)}/readyz`)
  if (unready?.startsWith('HTTP 503') === true) io.stdout.write(`${UNREADY.in(language)}\n\n`)
  const found = await ask('/messages/search', { recipient })
  if ('why' in found) return fail((found.status === 400 ? NO_RECIPIENT : found.why).in(language), io)
  const { messages } = found.answer as { readonly messages: readonly MessageView[] }
  if (messages.length > 0) {
    const asked = await ask('/providers')
    if ('why' in asked) return fail(asked.why.in(language), io)
    const { providers } = asked.answer as { readonly providers: readonly AttemptGate[] }
    const now = Date.now()
    const texts = messages
      .slice(0, MOST)
      .map(row => formatMessage(row, explainMessage(row, providers, now), language))
    io.stdout.write(texts.join('\n'))
    return 0
  }
  const calls = await ask('/calls')
  if ('why' in calls) return fail(calls.why.in(language), io)
  const { channels } = calls.answer as { readonly channels: readonly ChannelCalls[] }
  io.stdout.write(formatAbsence(channels, language))
  return 1
}

function fail(why: string, io: Io): ExitCode {
  io.stderr.write(`${why}\n`)
  return 1
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
      `    ${clockTime(each.at)}  ${each.provider}  ${translateText(each.outcome).in(language)}  ${describeReply(each).in(language)}  (${formatDuration(each.tookMs).in(language)})\n`,
  )
  const { arrivedAt, channel, kind, maskedRecipient, state, id } = row
  return `${clockTime(arrivedAt)} UTC  ${say(channel).in(language)} ${kind}  ${maskedRecipient}  ${STATE_WORDS[state].in(language)}
  ${what.in(language)}
  → ${next.in(language)}
  id ${id}
${attempts.join('')}`
}
