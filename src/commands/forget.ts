import { languageOfTerminal } from '../language/choose.ts'
import { say } from '../language/sentence.ts'
import { askService } from './ask-service.ts'
import { type Command, failWith, readArguments, writeLine } from './command.ts'

export const forget: Command = async (argv, io) => {
  const [recipient] = readArguments(argv, {}, { least: 1, most: 1 }).positionals
  const asked = await askService(io, languageOfTerminal(io.env), '/forget', { recipient })
  if ('why' in asked) return failWith(io, asked.why)
  const { messages, live } = asked.answer as { readonly messages: number; readonly live: number }
  writeLine(io, 'stdout', say('{messages} messages are forgotten; what waited is not sent.', { messages }))
  writeLine(
    io,
    'stdout',
    say('Backups from before still have them: repeat this after you restore one (docs/privacy.md).'),
  )
  if (live > 0)
    writeLine(io, 'stderr', say('{live} are being sent and were left: repeat this in a minute.', { live }))
  return live > 0 ? 1 : 0
}
