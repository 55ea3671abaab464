import { runService } from '../service/process.ts'
import { type Command, readArguments } from './command.ts'

export const serve: Command = {
  usage: `callback-courier serve

  Serves the callbacks until SIGTERM or SIGINT. Settings come from the environment and from .env in the working
  directory; .env.example says what each means. A missing or wrong one stops the start, with a list of all of them.
  SIGHUP looks for a renewed certificate at once.
`,
  async run(argv) {
    readArguments(argv, {})
    return await runService()
  },
}
