import { clockTime, describeReply, span } from '../admin/console/layout.ts'
import { STATE_WORDS } from '../admin/console/state-badge.ts'
import { explainAbsence, explainMessage } from '../admin/explain.ts'
import type { Found } from '../admin/find.ts'
import { adminAddress } from '../config/admin-address.ts'
import { ConfigError, loadSome } from '../config/config.ts'
import { languageOfTerminal } from '../language/choose.ts'
import { type Language, say, translated } from '../language/sentence.ts'
import type { MessageView } from '../outbox/outbox.ts'
import { type Command, type ExitCode, type Io, readArguments } from './command.ts'

export const find: Command = {
  usage: `callback-courier find RECIPIENT

  Says what became of the newest messages to a recipient (a mail address, or a number such as +86…): what the provider
  said at each attempt, what that means, and what to do. Asks the running service, and answers in the language
  of the terminal (LC_ALL, LC_MESSAGES, LANG): English or Chinese. Exit code 1 when there is no message.
`,
  async run(argv, io) {
    const { positionals } = readArguments(argv, {}, { least: 1, most: 1 })
    try {
      return await findMessages(positionals[0] ?? '', io)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      io.stderr.write(`${error.message}\n`)
      return 1
    }
  },
}

async function findMessages(recipient: string, io: Io): Promise<ExitCode> {
  const { ADMIN_TOKEN, ADMIN_TOKENS } = loadSome(io, ['ADMIN_TOKEN', 'ADMIN_TOKENS'])
  const token = ADMIN_TOKEN ?? [...(ADMIN_TOKENS ?? [])][0]?.[1]
  const url = `${adminAddress(io)}/find`
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ recipient }),
  }).catch(() => null)
  if (response?.status !== 200) {
    const why =
      response === null
        ? `nobody answers at ${url}: start the service`
        : `${url} says ${response.status}: ${(await response.text()).trim()}`
    io.stderr.write(`${why}\n`)
    return 1
  }
  const found = (await response.json()) as Found
  io.stdout.write(formatFound(found, Date.now(), languageOfTerminal(io.env)))
  return found.messages.length === 0 ? 1 : 0
}

/** @param now ms since the epoch. */
function formatFound({ messages, calls }: Found, now: number, language: Language): string {
  if (messages.length > 0) return messages.map(row => formatMessage(row, now, language)).join('\n')
  const lines = Object.entries(calls).flatMap(([channel, seen]) => [
    `  ${channel}`,
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

function formatMessage(row: MessageView, now: number, language: Language): string {
  const { what, next } = explainMessage(row, now)
  const attempts = row.timeline.map(
    each =>
      `    ${clockTime(each.at)}  ${each.provider}  ${translated(each.outcome).in(language)}  ${translated(describeReply(each)).in(language)}  (${span(each.tookMs).in(language)})\n`,
  )
  const { arrivedAt, channel, kind, maskedRecipient, state, id } = row
  return `${clockTime(arrivedAt)} UTC  ${channel} ${kind}  ${maskedRecipient}  ${STATE_WORDS[state].in(language)}
  ${what.in(language)}
  → ${next.in(language)}
  id ${id}
${attempts.join('')}`
}
