import { languageOfTerminal } from '../language/choose.ts'
import { say } from '../language/sentence.ts'
import { runService } from '../service/process.ts'
import { type Command, readArguments } from './command.ts'

export const serve: Command = {
  about: [
    say(
      'Serves the callbacks until SIGTERM or SIGINT. Settings come from the environment and from .env in the working directory; “callback-courier settings” says what each means. A missing or wrong one stops the start, with a list of all of them. SIGHUP looks for a renewed certificate at once.',
    ),
  ],
  async run(argv, io) {
    readArguments(argv, {})
    return await runService(languageOfTerminal(io.env))
  },
}
